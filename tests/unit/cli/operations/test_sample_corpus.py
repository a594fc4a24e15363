"""The documents that a first start takes in."""

from pathlib import Path

from cli.operations.up import sample_corpus

ROOT = Path(__file__).parents[4]


def test_the_project_s_own_pages_are_taken_in_without_the_one_that_says_the_readme_again() -> None:
    uris = {file.uri for file in sample_corpus(ROOT)}
    assert {"README.md", "docs/architecture.md"} <= uris
    assert "docs/index.md" not in uris


def test_a_folder_without_pages_gives_nothing(tmp_path: Path) -> None:
    assert sample_corpus(tmp_path) == []

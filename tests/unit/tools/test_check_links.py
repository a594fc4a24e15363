from pathlib import Path

from check_links import anchors, faults


def test_files_headings_and_fences(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# A `thing` 🚀, and 中文\n\n```\n# not a heading\n```\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#a-thing--and-中文) [web](https://example.org/x) [here](#top)\n\n# Top\n\n"
        "```\n[in a fence](nowhere.md)\n```\n[gone](gone.md)\n![picture](gone.png) [heading](other.md#not-a-heading)\n",
        encoding="utf-8",
    )
    found = list(faults(page))
    assert [line.split(": ")[1] for line in found] == ["gone.md", "gone.png", "other.md#not-a-heading"]
    assert found[0].startswith(f"{page}:8: ")
    assert anchors(tmp_path / "other.md") == {"a-thing--and-中文"}

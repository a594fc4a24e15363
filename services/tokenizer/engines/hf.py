"""Hugging Face tokenizers, from a prepared model's directory."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from citemesh.errors import InvalidInput, NotSupported
from citemesh.models.tokens.digest import chat_template, definition, digest_of, read_json
from services.tokenizer.chat import ChatTemplate
from services.tokenizer.cutter import TokenCutter
from services.tokenizer.engine import ChatPrompt, ChatTurn, TokenizedText, TokenizerFacts

# The pool's threads are the parallelism; a second pool inside the library would take the cores from the other services.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from services.tokenizer.engines.literal import LiteralTokenizer, load

UNLIMITED = 1_000_000
"""Limit from which a model has none: its files name an absurd one then."""


class HuggingFaceTokenizer:
    """One tokenizer; see TokenizerEngine."""

    def __init__(self, name: str, directory: Path, max_tokens: int = 0) -> None:
        """Reads a prepared model's tokenizer.

        Args:
            name: its name in requests.
            directory: the prepared model.
            max_tokens: longest sequence of the model; 0 takes the limit of its files.

        Raises:
            PreconditionFailed: the directory's files can't be read.
        """
        defined, template = definition(directory), chat_template(directory)
        self._literal = LiteralTokenizer(directory, defined)
        self._chat = ChatTemplate(template, _special_tokens(directory)) if template else None
        self._whole = load(directory) if self._chat else None
        self._cutter = TokenCutter(lambda texts: [coded.ids for coded in self._literal.encode(texts, with_spans=False)])
        vocabulary = self._literal.vocabulary
        self._ids = frozenset(vocabulary.values())
        self._unknown_id = _unknown_id(defined["model"], vocabulary)
        prefix, suffix = self._literal.frame()
        self._facts = TokenizerFacts(
            name=name,
            digest=digest_of(defined, template),
            vocabulary_size=max(self._ids) + 1,
            max_tokens=max_tokens or _max_tokens(directory),
            has_chat_template=self._chat is not None,
            prefix=prefix,
            suffix=suffix,
        )

    @property
    def facts(self) -> TokenizerFacts:
        """Its description."""
        return self._facts

    def encode(self, texts: Sequence[str], with_spans: bool) -> list[TokenizedText]:
        """Returns the tokens of each text, without start and end tokens."""
        unknown = self._unknown_id
        return [
            TokenizedText(
                coded.ids, coded.offsets if with_spans else [], 0 if unknown is None else coded.ids.count(unknown)
            )
            for coded in self._literal.encode(texts, with_spans)
        ]

    def cut(self, text: str, start: int, size: int) -> int:
        """Returns where a text may be cut so that its parts give the same tokens."""
        return self._cutter.cut(text, start, size)

    def decode(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool) -> list[str]:
        """Returns the text of each sequence. Raises InvalidInput for an id outside the vocabulary."""
        for number, ids in enumerate(sequences):
            if not self._ids.issuperset(ids):
                raise _outside(number, ids, self._ids, self._facts.vocabulary_size)
        return self._literal.decode(sequences, skip_special_tokens)

    def render(self, turns: Sequence[ChatTurn], add_generation_prompt: bool) -> ChatPrompt:
        """Returns a conversation as a prompt. Raises NotSupported without a template, InvalidInput if it refuses."""
        if self._chat is None or self._whole is None:
            raise NotSupported(
                f"a conversation with tokenizer {self._facts.name!r}, which has no chat template,",
                "name the tokenizer of a chat model",
            )
        ids: list[int] = []
        parts = self._chat.render(turns, add_generation_prompt, list(self._literal.control))
        for part in parts:
            if part.spoken:
                ids.extend(self._literal.encode([part.text], with_spans=False)[0].ids)
            else:
                ids.extend(self._whole.encode_batch_fast([part.text], add_special_tokens=False)[0].ids)
        return ChatPrompt("".join(part.text for part in parts), ids)


def _special_tokens(directory: Path) -> dict[str, str]:
    config = read_json(directory / "tokenizer_config.json")
    return {key: _content(value) for key, value in config.items() if key.endswith("_token") and value}


def _content(token: object) -> str:
    return str(token["content"]) if isinstance(token, dict) and "content" in token else str(token)


def _unknown_id(model: Mapping[str, Any], vocabulary: Mapping[str, int]) -> int | None:
    if isinstance(model.get("unk_id"), int):
        return int(model["unk_id"])
    return vocabulary.get(str(model.get("unk_token")))


def _max_tokens(directory: Path) -> int:
    limits = (
        read_json(directory / "tokenizer_config.json").get("model_max_length"),
        read_json(directory / "config.json").get("max_position_embeddings"),
    )
    return min((int(limit) for limit in limits if isinstance(limit, int) and limit < UNLIMITED), default=0)


def _outside(number: int, ids: Sequence[int], vocabulary: frozenset[int], size: int) -> InvalidInput:
    place = next(index for index, token in enumerate(ids) if token not in vocabulary)
    return InvalidInput(
        f"sequences[{number}].ids[{place}]",
        f"{ids[place]} is not in the vocabulary",
        f"send ids from 0 to {size - 1} of this tokenizer",
    )

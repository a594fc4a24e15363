"""A tokenizer without files: a token is a byte of UTF-8, control tokens frame the turns of a conversation."""

from collections.abc import Sequence

from citemesh.errors import InvalidInput
from citemesh.models.tokens import byte_vocabulary as vocabulary
from services.tokenizer.engine import ChatPrompt, ChatTurn, TokenizedText, TokenizerFacts


class FakeTokenizer:
    """The byte vocabulary as a TokenizerEngine; shares it with the fake generation engine."""

    def __init__(self, name: str = vocabulary.NAME) -> None:
        self._facts = TokenizerFacts(
            name=name,
            digest=vocabulary.DIGEST,
            vocabulary_size=vocabulary.SIZE,
            max_tokens=vocabulary.MAX_TOKENS,
            has_chat_template=True,
            prefix=(vocabulary.BEGIN,),
            suffix=(vocabulary.END,),
        )

    @property
    def facts(self) -> TokenizerFacts:
        """Its description."""
        return self._facts

    def encode(self, texts: Sequence[str], with_spans: bool) -> list[TokenizedText]:
        """Returns the bytes of each text as ids; a token's span is its whole character."""
        return [TokenizedText(vocabulary.encode(text), _spans(text) if with_spans else [], 0) for text in texts]

    def cut(self, text: str, start: int, size: int) -> int:
        """Returns the end of a part of at most size characters: bytes may be cut between any two characters."""
        return min(len(text), start + size)

    def decode(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool) -> list[str]:
        """Returns the text of each sequence. Raises InvalidInput for an id outside the vocabulary."""
        for number, ids in enumerate(sequences):
            for place, token in enumerate(ids):
                if not 0 <= token < vocabulary.SIZE:
                    raise InvalidInput(
                        f"sequences[{number}].ids[{place}]",
                        f"{token} is not in the vocabulary",
                        f"send ids from 0 to {vocabulary.SIZE - 1} of this tokenizer",
                    )
        return [vocabulary.decode(ids, skip_special_tokens) for ids in sequences]

    def render(self, turns: Sequence[ChatTurn], add_generation_prompt: bool) -> ChatPrompt:
        """Returns each turn between control tokens, its role and its content parted by a line feed."""
        ids: list[int] = []
        for turn in turns:
            ids += [vocabulary.TURN, *vocabulary.encode(f"{turn.role}\n{turn.content}"), vocabulary.END]
        if add_generation_prompt:
            ids += [vocabulary.TURN, *vocabulary.encode("assistant\n")]
        return ChatPrompt(vocabulary.decode(ids, skip_special_tokens=False), ids)


def _spans(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for place, character in enumerate(text):
        spans += [(place, place + 1)] * len(character.encode("utf-8"))
    return spans

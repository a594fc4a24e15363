"""Prompts: their length, and those that come as text."""

from pathlib import Path

from citemesh.errors import InvalidInput, PreconditionFailed


def check_length(tokens: int, max_tokens: int) -> None:
    """Checks that a prompt leaves at least one token for an answer. Raises InvalidInput, the same for every engine."""
    if tokens == 0:
        raise InvalidInput("prompt", "it has no tokens", "send at least one")
    if tokens >= max_tokens:
        raise InvalidInput(
            "prompt",
            f"{tokens} tokens fill the {max_tokens} that the model holds, and leave none for an answer",
            f"send at most {max_tokens - 1} tokens",
        )


class TextPrompt:
    """The tokenizer of a prepared model, for prompts that the caller has formatted. Control tokens are included."""

    def __init__(self, directory: Path) -> None:
        """Reads the tokenizer. Raises PreconditionFailed where there is none."""
        from tokenizers import Tokenizer

        file = directory / "tokenizer.json"
        if not file.is_file():
            raise PreconditionFailed("MODEL_BROKEN", f"{directory} has no tokenizer.json", "prepare the model again")
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def ids(self, text: str) -> list[int]:
        """Returns the ids of a text; the batch call lets other threads run meanwhile."""
        return list(self._tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids)

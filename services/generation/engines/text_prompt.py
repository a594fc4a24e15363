"""Prompts that come as text: the model's own tokenizer turns them into ids, control tokens included."""

from pathlib import Path

from citemesh.errors import PreconditionFailed


class TextPrompt:
    """The tokenizer of a prepared model, for prompts whose caller has written the whole of them."""

    def __init__(self, directory: Path) -> None:
        """Read the tokenizer. Raises PreconditionFailed where there is none."""
        from tokenizers import Tokenizer

        file = directory / "tokenizer.json"
        if not file.is_file():
            raise PreconditionFailed("MODEL_BROKEN", f"{directory} has no tokenizer.json", "prepare the model again")
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text; the batch call lets other threads run meanwhile."""
        return list(self._tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids)

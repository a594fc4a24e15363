"""An embedding model's tokenizer: what the model sees of a text, counts, cuts, and what it can't read."""

from collections.abc import Sequence

from tokenizers import Encoding

from citemesh.models import PreparedModel
from citemesh.models.tokens.digest import definition, read_json
from citemesh.models.tokens.literal import frame, hidden_names, literal, unknown_id
from services.retrieval.embedding.encoder import CONTEXT_TOKENS, ChunkTokens, Ids, Role


class ModelTokens:
    """The tokenizer of a prepared embedding model; control tokens in a text are text.

    capacity: most tokens of a chunk that are read whole under the longest title and headings.
    pad: id that fills a batch; models that number places by it need their own.

    Only the batch calls are used: they let other Python threads run, which `encode` does not.
    """

    def __init__(self, model: PreparedModel) -> None:
        self._prefixes = {"query": model.query_prefix, "passage": model.passage_prefix}
        defined = definition(model.directory)
        self._tokenizer = literal(model.directory, defined, hidden_names(defined))
        self._before, self._after = frame(self._tokenizer)
        self._capacity = model.max_tokens - len(self._before) - len(self._after)
        self.capacity = max(32, self._capacity - self.count([model.passage_prefix])[0] - CONTEXT_TOKENS)
        self._unknown = unknown_id(defined)
        self.pad = int(read_json(model.directory / "config.json").get("pad_token_id") or 0)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens without special ones."""
        return [len(encoding) for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def ends(self, text: str) -> list[int]:
        """Where each token ends."""
        return [end for _, end in self._encoded([text])[0].offsets if end > 0]

    def ids(self, texts: Sequence[str], role: Role) -> list[Ids]:
        """Token ids with the role's prefix, cut at the model's limit."""
        prefixed = [self._prefixes[role] + text for text in texts]
        encodings = self._tokenizer.encode_batch_fast(prefixed, add_special_tokens=False)
        return [self._framed(encoding.ids) for encoding in encodings]

    def tokens(self, texts: Sequence[str], lengths: Sequence[int]) -> list[ChunkTokens]:
        """Chunks in their context, with the places of the tokens in the last so many characters of each."""
        prefixed = [self._prefixes["passage"] + text for text in texts]
        return [
            self._chunk_tokens(encoding, len(text) - length, length)
            for encoding, text, length in zip(self._encoded(prefixed), prefixed, lengths, strict=True)
        ]

    def unknown_rate(self, texts: Sequence[str]) -> list[float]:
        """Share of each text's characters, spaces aside, in tokens that mean "unknown"."""
        if self._unknown is None:
            return [0.0] * len(texts)
        return [self._rate(encoding, text) for encoding, text in zip(self._encoded(texts), texts, strict=True)]

    def _rate(self, encoding: Encoding, text: str) -> float:
        readable = sum(not character.isspace() for character in text)
        spans = (span for token, span in zip(encoding.ids, encoding.offsets, strict=True) if token == self._unknown)
        unknown = sum(not character.isspace() for start, end in spans for character in text[start:end])
        return min(1.0, unknown / readable) if readable else 0.0

    def _chunk_tokens(self, encoding: Encoding, start: int, length: int) -> ChunkTokens:
        ends = [end for _, end in encoding.offsets]
        first = next((at for at, end in enumerate(ends) if end > start), len(ends))
        fits = len(ends) <= self._capacity
        places = [end - 1 - start for end in ends[first:]] if fits else []
        return ChunkTokens(self._framed(encoding.ids), len(self._before) + first, places, length)

    def _framed(self, ids: list[int]) -> list[int]:
        return [*self._before, *ids[: self._capacity], *self._after]

    def _encoded(self, texts: Sequence[str]) -> list[Encoding]:
        return list(self._tokenizer.encode_batch(list(texts), add_special_tokens=False))

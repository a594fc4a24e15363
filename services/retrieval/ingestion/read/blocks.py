"""Puts a document's text together from blocks that a parser finds one after another."""

from services.retrieval.ingestion.read.parsed import Block, IngestFault, Kind, clean

MOST_CHARACTERS = 64 * 1024 * 1024
_BETWEEN = "\n\n"


class BlockWriter:
    """Takes blocks in order; an empty line sets them apart."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.blocks: list[Block] = []

    def add(self, text: str, kind: Kind = "paragraph", level: int = 0) -> None:
        """Adds a block, where it holds anything. Raises IngestFault TOO_LARGE."""
        text = clean(text).strip("\n")
        if not text.strip():
            return
        if self._parts:
            self._parts.append(_BETWEEN)
            self._length += len(_BETWEEN)
        self.blocks.append(Block(self._length, self._length + len(text), kind, level))
        self._parts.append(text)
        self._length += len(text)
        if self._length > MOST_CHARACTERS:
            raise IngestFault("TOO_LARGE", f"its text has over {MOST_CHARACTERS} characters", "split it")

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

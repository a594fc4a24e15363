"""Cuts a document into chunks: by structure first, then by size, counted in the embedding model's own tokens.

Blocks become pieces (a heading, a code fence or table that fits, a sentence), pieces are counted in batches, and are
then packed one after another. All of it runs once over the text, so the time is linear in its length. A sliding window
is the same with other ends: only a full window ends, whatever heading or page comes.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from citemesh.text.characters import whole_character
from citemesh.text.sentence_marks import rough_sentences
from services.retrieval.embedding.encoder import TokenCounter
from services.retrieval.ingestion.chunk.cutting import by_size, lines
from services.retrieval.ingestion.read.markdown import heading_text
from services.retrieval.ingestion.read.parsed import Block, Parsed
from services.retrieval.types.chunk import Place

_COUNTED_AT_ONCE = 1024
_LONGEST_TOKEN = 8
_MOST_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """Most tokens of a chunk, and how many of them it shares with the one before. tokens is over the overlap.

    sliding: the chunks are windows over the whole text, which headings and pages don't end.
    read_at_once: tokens of a window that are embedded together; a longer one's vector is the mean of its pieces'.
    """

    tokens: int = 256
    overlap: int = 32
    sliding: bool = False
    read_at_once: int = 256

    def within(self, capacity: int) -> "ChunkSize":
        """The same, but for what is embedded together: no more than a model has room for."""
        if self.sliding:
            return replace(self, read_at_once=min(self.read_at_once, capacity))
        tokens = min(self.tokens, capacity)
        return replace(self, tokens=tokens, overlap=min(self.overlap, tokens // 2))

    @property
    def piece(self) -> int:
        """Most tokens that stay together. Those of a window are so small that it can share some with the next."""
        return max(1, min(self.overlap or self.tokens, self.tokens // 8)) if self.sliding else self.tokens


@dataclass(slots=True)
class _Piece:
    """Not frozen: there is one for each sentence, and copies cost more than all else."""

    start: int
    end: int
    tokens: int
    page: int
    headings: tuple[str, ...]
    heading: bool
    apart: bool


def chunk(parsed: Parsed, counter: TokenCounter, size: ChunkSize) -> list[Place]:
    """Places of the chunks in their order. Each holds some text, and no more tokens than it may."""
    pieces = _counted(parsed.text, _pieces(parsed, size), counter, size)
    places: list[Place] = []
    for group in _pack(pieces, size):
        place = _place(parsed.text, group)
        if place is not None and (not places or place.end > places[-1].end):  # more than space is new in it
            places.append(place)
    return places


def _pieces(parsed: Parsed, size: ChunkSize) -> Iterator[_Piece]:
    """What is never cut unless it is too large by itself, in the order of the text."""
    headings: list[tuple[int, str]] = []
    page, separate = 0, False
    for block in parsed.blocks:
        if block.kind == "comment":
            separate = True
            continue
        if block.kind == "heading":
            title = heading_text(parsed.text[block.start : block.end])
            headings = [*((level, words) for level, words in headings if level < block.level), (block.level, title)]
        path = tuple(words for _, words in headings if words)
        on_page = bisect_right(parsed.pages, block.start)
        separate, page = separate or (on_page != page and not size.sliding), on_page
        for start, end in _cut(parsed.text, block, size):
            yield _Piece(start, end, 0, page, path, block.kind == "heading", separate)
            separate = False


def _cut(text: str, block: Block, size: ChunkSize) -> Iterator[tuple[int, int]]:
    most = size.piece * _LONGEST_TOKEN
    if block.kind == "paragraph":
        spans: Iterable[tuple[int, int]] = rough_sentences(text, block.start, block.end)
    elif block.kind == "heading" or block.end - block.start <= most:
        spans = [(block.start, block.end)]
    else:
        spans = lines(text, block.start, block.end)
    for start, end in spans:
        yield from by_size(text, start, end, most)


def _counted(text: str, pieces: Iterator[_Piece], counter: TokenCounter, size: ChunkSize) -> Iterator[_Piece]:
    """Pieces with their tokens; one with too many is cut at its lines, then by its tokens."""
    while batch := list(islice(pieces, _COUNTED_AT_ONCE)):
        counts = counter.count([text[piece.start : piece.end] for piece in batch])
        for piece, tokens in zip(batch, counts, strict=True):
            if tokens <= size.piece:
                piece.tokens = _weight(piece.end - piece.start, tokens)
                yield piece
            else:
                yield from _finer(text, piece, counter, size)


def _weight(characters: int, tokens: int) -> int:
    """Tokens of a piece, or more where it is longer than they tell: a vocabulary may know a long word as none."""
    return max(tokens, characters // _MOST_CHARACTERS)


def _finer(text: str, piece: _Piece, counter: TokenCounter, size: ChunkSize) -> Iterator[_Piece]:
    spans = list(lines(text, piece.start, piece.end))
    counts = counter.count([text[start:end] for start, end in spans])
    for (start, end), tokens in zip(spans, counts, strict=True):
        if tokens <= size.piece:
            weight = _weight(end - start, tokens)
            yield replace(piece, start=start, end=end, tokens=weight, apart=piece.apart and start == piece.start)
        else:
            yield from _by_tokens(text, replace(piece, start=start, end=end), counter, size)


def _by_tokens(text: str, piece: _Piece, counter: TokenCounter, size: ChunkSize) -> Iterator[_Piece]:
    ends = [piece.start + end for end in counter.ends(text[piece.start : piece.end])]
    start, separate = piece.start, piece.apart
    while start < piece.end:
        last = bisect_right(ends, start) + size.piece
        cut = whole_character(text, start, ends[last - 1]) if last <= len(ends) else piece.end
        yield replace(piece, start=start, end=cut, tokens=size.piece, apart=separate)
        start, separate = cut, False


def _pack(pieces: Iterable[_Piece], size: ChunkSize) -> Iterator[list[_Piece]]:
    """Groups of pieces that make a chunk. Each group has a piece that none before it had, so it always advances."""
    group: list[_Piece] = []
    tokens = fresh = 0
    for piece in pieces:
        if group and _ends(piece, tokens, size):
            yield group
            group = _shared(group, piece, size)
            tokens, fresh = sum(each_piece.tokens for each_piece in group), 0
        group.append(piece)
        tokens, fresh = tokens + piece.tokens, fresh + 1
    if fresh:
        yield group


def _ends(piece: _Piece, tokens: int, size: ChunkSize) -> bool:
    """Whether the chunk ends here: it is full, the page ends, or a heading comes and it is no mere stub."""
    if piece.apart or tokens + piece.tokens > size.tokens:
        return True
    return piece.heading and not size.sliding and tokens >= size.tokens // 4


def _shared(group: list[_Piece], piece: _Piece, size: ChunkSize) -> list[_Piece]:
    """Last pieces of a chunk that the next one repeats; none across a heading or a page."""
    if piece.apart or (piece.heading and not size.sliding):
        return []
    left = min(size.overlap, size.tokens - piece.tokens)
    shared: list[_Piece] = []
    for last in reversed(group):
        left -= last.tokens
        if left < 0 or (last.heading and not size.sliding):
            break
        shared.append(last)
    return shared[::-1] if len(shared) < len(group) else []


def _place(text: str, group: Sequence[_Piece]) -> Place | None:
    """The group's stretch of text without space around it; None where it is nothing but space."""
    start, end = group[0].start, group[-1].end
    part = text[start:end]
    start, end = end - len(part.lstrip()), start + len(part.rstrip())
    return Place(start, end, group[0].page, group[0].headings) if start < end else None

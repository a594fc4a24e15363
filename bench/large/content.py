"""What is taken in: texts of words drawn by Zipf's law, so that no two passages are alike."""

import csv
import io
from collections.abc import Iterator

import numpy as np

from citemesh.client.types import Upload

_VOCABULARY = 50_000
_SENTENCE = 14
_AT_ONCE = 4096


class Words:
    """An endless text. seed: of everything that is drawn."""

    def __init__(self, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        self._drawn: list[int] = []

    def text(self, words: int) -> str:
        """So many words, in sentences."""
        while len(self._drawn) < words:
            self._drawn += (self._chance.zipf(1.2, _AT_ONCE) % _VOCABULARY).tolist()
        taken, self._drawn = self._drawn[:words], self._drawn[words:]
        spelt = [f"word{number}" for number in taken]
        spelt[_SENTENCE - 1 :: _SENTENCE] = [f"{word}." for word in spelt[_SENTENCE - 1 :: _SENTENCE]]
        return " ".join(spelt)


def stream(count: int, words: int, seed: int) -> Iterator[Upload]:
    """Small plain texts, made as they are asked for."""
    source = Words(seed)
    for number in range(count):
        text = f"Note {number}. {source.text(words)}"
        yield Upload(str(number), text.encode(), document_id=f"note-{number}", media_type="text/plain")


def table(size_bytes: int, words: int, seed: int) -> tuple[Upload, int]:
    """A CSV table just under so many bytes, and its rows."""
    source, out, rows = Words(seed), io.StringIO(), 0
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("id", "title", "text", "year"))
    while out.tell() < size_bytes - 32 * words:
        writer.writerow((f"r{rows}", f"Row {rows}", source.text(words), 1990 + rows % 35))
        rows += 1
    data = out.getvalue().encode()
    return Upload("table", data, document_id="table", media_type="text/csv", title="A table"), rows


def text(size_bytes: int, seed: int) -> Upload:
    """One plain text of about so many bytes, in paragraphs."""
    source, parts, size = Words(seed), [], 0
    while size < size_bytes:
        parts.append(source.text(120))
        size += len(parts[-1]) + 2
    data = "\n\n".join(parts).encode()[:size_bytes]
    return Upload("text", data, document_id="text", media_type="text/plain", title="A long text")

"""Citation precision and recall of many sentences, with intervals by resampling them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bench.citing.answers import Line
from bench.citing.sentences import Judged
from bench.citing.ways import WAYS
from bench.common.report import Cell
from bench.common.stats import Estimate, estimate

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class One:
    """A sentence with a known right citation: how many documents a way cites, how many of them are right."""

    cited: int
    right: int


def of_sentence(judged: Judged, way: str) -> One:
    """Counts at a labelled sentence."""
    documents = judged.ways[way].documents
    return One(len(documents), sum(one in judged.said.documents for one in documents))


def of_line(line: Line, way: str) -> One:
    """Counts at a sentence of an answer."""
    documents = line.ways[way].documents
    return One(len(documents), sum(one == line.asked.document for one in documents))


def precision(ones: Sequence[One]) -> float:
    """Share of the citations that are right; 0 where there are none."""
    return sum(one.right for one in ones) / max(1, sum(one.cited for one in ones))


def recall(ones: Sequence[One]) -> float:
    """Share of the sentences at which a right document is cited."""
    return sum(one.right > 0 for one in ones) / max(1, len(ones))


def supported(ones: Sequence[One]) -> float:
    """Share of the sentences at which anything is cited."""
    return sum(one.cited > 0 for one in ones) / max(1, len(ones))


def figure(ones: Sequence[One], measure: Callable[[Sequence[One]], float], seed: int) -> Estimate:
    """A measure and its interval."""
    return estimate(range(len(ones)), seed, lambda drawn: measure([ones[int(at)] for at in drawn]))


def apart(
    first: Sequence[One], second: Sequence[One], measure: Callable[[Sequence[One]], float], seed: int
) -> Estimate:
    """The first less the second, of the same sentences."""
    return estimate(
        range(len(first)),
        seed,
        lambda drawn: measure([first[int(at)] for at in drawn]) - measure([second[int(at)] for at in drawn]),
    )


def apart_by(pairs: Sequence[T], measure: Callable[[Sequence[T]], float], seed: int) -> Estimate:
    """A measure of what both sides did with the same questions, whole questions resampled."""
    return estimate(range(len(pairs)), seed, lambda drawn: measure([pairs[int(at)] for at in drawn]))


def spread(one: Estimate) -> str:
    """A figure with its interval, for a table."""
    return f"{one.value:.3f} ({one.low:.3f} … {one.high:.3f})"


def sentence_rows(name: str, judged: Sequence[Judged], seed: int) -> list[list[Cell]]:
    """Each way's row for a set of labelled sentences."""
    true = [one for one in judged if one.said.true]
    false = [one for one in judged if one.said.true is False]
    against = [one for one in judged if one.said.true is None]
    rows: list[list[Cell]] = []
    for way in WAYS:
        ones = [of_sentence(one, way) for one in true]
        wrong = [of_sentence(one, way) for one in false]
        right = [one for one in true if any(document in one.said.documents for document in one.ways[way].documents)]
        place = f"{sum(one.well_placed(way) for one in right) / max(1, len(right)):.2f}" if way != "markers" else ""
        counts = f"{supported([of_sentence(one, way) for one in against]):.2f}" if against else ""
        row = [spread(figure(ones, measure, seed)) for measure in (precision, recall)]
        rows.append([name, way, len(ones), *row, supported(ones), place, len(wrong), supported(wrong), counts])
    return rows


def line_rows(name: str, lines: Sequence[Line], seed: int) -> list[list[Cell]]:
    """Each way's row for answers written with one prompt."""
    stating = [line for line in lines if line.states and line.packed]
    rows: list[list[Cell]] = []
    for way in WAYS:
        every = [of_line(line, way) for line in lines]
        ones = [of_line(line, way) for line in stating]
        invented = sum(line.ways[way].documents.count("") for line in lines)
        row = [spread(figure(ones, measure, seed)) for measure in (precision, recall)] if ones else ["", ""]
        rows.append([name, way, len(lines), supported(every), len(ones), *row, invented])
    return rows

"""A bench's report: predictions before figures, figures with their spread, tables; on a terminal and as JSON.

The JSON of `--json FILE`, an object (version 1 of this form):

    schema        1
    bench         name of the bench, such as "hop"
    quick         true for a run with fewer rounds
    seed          of orders and resampling
    started       ISO 8601 in UTC
    seconds       how long the run took, starting and stopping included
    machine       {processor, cores, memory_gib, python, packages: {name: version}}
    load_before   mean running tasks over 1, 5 and 15 minutes before the bench began its own work
    load_after    the same, after it
    busy          true where load_before says that others worked on the machine too
    setting       object: what was run with (rounds, tokens, models …)
    figures       list of {name, unit, value, low, high, samples, prediction, as_predicted, aim, aim_met}
                  low and high: 95 % bootstrap interval; samples: rounds behind it
                  prediction: {low, high, why} or null; as_predicted: whether value lies in it, or null
                  aim: {at_least, at_most} (either may be null) or null; aim_met: whether value keeps it, or null
    tables        list of {title, columns: [text], rows: [[text or number]]}
    notes         list of text
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.common.args import Options
from bench.common.machine import Machine, is_busy, load, machine
from bench.common.stats import Estimate

SCHEMA = 1
Cell = str | int | float


@dataclass(frozen=True, slots=True)
class Prediction:
    """Where a figure is expected to lie, and why; written before it was measured."""

    low: float
    high: float
    why: str


@dataclass(frozen=True, slots=True)
class Aim:
    """What a figure should keep to."""

    at_least: float | None = None
    at_most: float | None = None

    def met(self, value: float) -> bool:
        """Whether a value keeps to it."""
        above = self.at_least is None or value >= self.at_least
        return above and (self.at_most is None or value <= self.at_most)

    def __str__(self) -> str:
        parts = [f"≥ {self.at_least:g}" if self.at_least is not None else ""]
        parts.append(f"≤ {self.at_most:g}" if self.at_most is not None else "")
        return " and ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Question:
    """What a bench is going to tell: a figure's name and unit, its prediction and its aim."""

    name: str
    unit: str
    prediction: Prediction | None = None
    aim: Aim | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A question with its answer."""

    question: Question
    answer: Estimate

    @property
    def as_predicted(self) -> bool | None:
        """Whether the value lies where it was expected."""
        prediction = self.question.prediction
        return None if prediction is None else prediction.low <= self.answer.value <= prediction.high

    @property
    def aim_met(self) -> bool | None:
        """Whether the value keeps to the aim."""
        return None if self.question.aim is None else self.question.aim.met(self.answer.value)

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        told = {"as_predicted": self.as_predicted, "aim_met": self.aim_met}
        return asdict(self.question) | asdict(self.answer) | told


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title; numbers are shown with the digits that they need."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}


@dataclass(slots=True)
class Report:
    """What a run found. Made before the bench begins its own work, so that the load is that of others."""

    bench: str
    options: Options
    setting: dict[str, Any] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    machine: Machine = field(default_factory=machine)
    load_before: tuple[float, float, float] = field(default_factory=load)
    busy: bool = field(default_factory=is_busy)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.monotonic)

    def answer(self, question: Question, estimate: Estimate) -> None:
        """Adds a figure."""
        self.figures.append(Figure(question, estimate))

    def as_json(self) -> dict[str, Any]:
        """As plain values, in the form that this module's text tells."""
        return {
            "schema": SCHEMA,
            "bench": self.bench,
            "quick": self.options.quick,
            "seed": self.options.seed,
            "started": self.started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self.clock, 1),
            "machine": self.machine.as_json(),
            "load_before": self.load_before,
            "load_after": load(),
            "busy": self.busy,
            "setting": self.setting,
            "figures": [figure.as_json() for figure in self.figures],
            "tables": [table.as_json() for table in self.tables],
            "notes": self.notes,
        }

    def write(self, path: Path) -> None:
        """Writes the JSON. Raises OSError where the file can't be written."""
        path.write_text(json.dumps(self.as_json(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

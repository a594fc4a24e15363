"""What is known of one question on its way."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from citemesh.client.types import Model, Question, Source, Usage
from gateway.query.answers.notices import Key, notice
from gateway.query.answers.transcript import Transcript
from gateway.query.deadline import Deadline
from gateway.query.pack.packing import Packed
from gateway.query.pack.token_vectors import TokenVectors
from gateway.query.plan.plan import Plan
from gateway.query.plan.standalone import Exchange
from gateway.query.retrieve.search import Sequences
from gateway.query.telemetry import Steps
from gateway.query.wording import speaks_chinese
from gateway.threads.owner import NOBODY, Owner


@dataclass(slots=True)
class Run:
    """One question on its way.

    Attributes:
        notices: what the gateway itself has to say at the end.
        told: what other services said that a reader should know.
        sequences: by collection, the last change that its searches saw; None where they saw different ones.
        cached: whether the answer was kept from an earlier question, and what was said of that one.
        searches: how many were made.
        cites: whether sentences are going to be checked against what is found.
        sources: what was packed.
        past: what was said before.
    """

    question: Question
    plan: Plan
    deadline: Deadline
    transcript: Transcript
    steps: Steps
    owner: Owner = NOBODY
    past: Sequence[Exchange] = ()
    sources: tuple[Source, ...] = ()
    notices: list[Key] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    sequences: Sequences | None = None
    searches: int = 0
    cites: bool = True
    usage: Usage = field(default_factory=Usage)
    finish: str = "complete"
    mode: str = "generated"
    model: str = ""
    cached: bool = False
    kept_notice: str = ""

    def saw(self, sequences: Sequences) -> None:
        """Notes a search and the changes that it saw."""
        same = self.searches == 0 or self.sequences == sequences
        self.sequences = sequences if same else None
        self.searches += 1

    def say(self, key: Key) -> str:
        """A notice in the language of the answer."""
        return notice(key, speaks_chinese(self.question))

    @property
    def notice(self) -> str:
        """All that a reader should know, each once."""
        return " ".join(dict.fromkeys([self.kept_notice, *map(self.say, self.notices), *self.told])).strip()


@dataclass(frozen=True, slots=True)
class Draft:
    """What an answer is made of: numbered sources, their token vectors and, where a model can write, its prompt."""

    sources: tuple[Source, ...]
    model: Model | None = None
    packed: Packed | None = None
    vectors: TokenVectors = field(default_factory=TokenVectors)

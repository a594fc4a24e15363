"""Answers that were given, for the same question over the same documents.

An answer is given again only while every collection that it searched is at the change that it was searched at. The key
holds all that decides an answer: who may see what, the question made stand-alone, and each of its fields. Questions
that differ only in case, closing punctuation or politeness are one.
"""

import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from citemesh.client.types import (
    AskEvent,
    CitationEvent,
    DeltaEvent,
    DoneEvent,
    FollowUpsEvent,
    Question,
    SearchFilter,
    SourcesEvent,
)
from citemesh.text.scripts import script_of
from gateway.query.plan.plan import Plan
from gateway.query.retrieve.search import Sequences
from gateway.query.wording import speaks_chinese

EVENT_BYTES = 200
_END = re.compile(r"^[\"“”‘(]+|[\"“”’)?.!,;:…]+$")
_HAN_PUNCTUATION = re.compile(r"[。？！，、；：]")
_LEAD = re.compile(
    r"^(?:(?:hi|hello|hey|please|tell me|(?:could|can|would|will) you(?: please)? (?:tell me|explain)|do you know|"
    r"i would like to know|i'd like to know|i want to know|请问|请告诉我|你好)\s*)+"
)
_LONG_FORMS = {f"{word}'s": f"{word} is" for word in ("what", "who", "where", "when", "how")}


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """An answer: its events between plan and done, how it ended, and the changes that its searches saw."""

    events: tuple[AskEvent, ...]
    done: DoneEvent
    sequences: Sequences
    kept_at: float

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        return sum(EVENT_BYTES + _text(event) for event in self.events)


class AnswerCache:
    """Keeps the answers that were used last, within bounds.

    Args:
        entries: most answers; 0 keeps none.
        most_bytes: most bytes of all together, about.
        keep_s: seconds after which an answer is made anew whatever its collections say.
        clock: seconds, of any beginning.
    """

    def __init__(self, entries: int, most_bytes: int, keep_s: float, clock: Callable[[], float]) -> None:
        self._entries, self._most_bytes, self._keep_s, self._clock = entries, most_bytes, keep_s, clock
        self._kept: OrderedDict[Hashable, CachedAnswer] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> CachedAnswer | None:
        """An answer that is not too old."""
        answer = self._kept.get(key)
        if answer is None:
            return None
        if self._clock() - answer.kept_at > self._keep_s:
            self.drop(key)
            return None
        self._kept.move_to_end(key)
        return answer

    def put(self, key: Hashable, events: Sequence[AskEvent], done: DoneEvent, sequences: Sequences) -> None:
        """Keeps an answer; those used longest ago give way."""
        answer = CachedAnswer(tuple(events), done, sequences, self._clock())
        self.drop(key)
        if answer.size > self._most_bytes:
            return
        self._kept[key] = answer
        self.bytes += answer.size
        while len(self._kept) > self._entries or self.bytes > self._most_bytes:
            self.drop(next(iter(self._kept)))

    def drop(self, key: Hashable) -> None:
        """Forgets an answer."""
        answer = self._kept.pop(key, None)
        self.bytes -= answer.size if answer else 0


def key_of(question: Question, plan: Plan, tenant: str, earlier: Sequence[str]) -> Hashable:
    """What decides an answer; ``earlier`` is what was asked before, which related questions leave out."""
    search_filter = question.filter
    plain = replace(question, question="", history=(), thread_id="", start_thread=False, skip_cache=False)
    plain = replace(plain, filter=SearchFilter())
    return (
        tenant,
        normal(plan.question),
        normal(plan.hops[0]),
        # The gateway's own words, and which model may write, follow the script that the question was written in.
        script_of(question.question),
        speaks_chinese(question),
        repr(plain),
        repr(replace(search_filter, metadata=dict(sorted(search_filter.metadata.items())))),
        tuple(map(normal, earlier)) if question.related_questions else (),
    )


def normal(question: str) -> str:
    """A question without what makes no difference: case, but for words of capitals; closing punctuation; politeness."""
    text = unicodedata.normalize("NFKC", question).replace("\u2019", "'")
    words = (_END.sub("", word) for word in _HAN_PUNCTUATION.sub(" ", text).split())
    text = " ".join(word if word.isupper() and len(word) > 1 else word.casefold() for word in words if word)
    text = _LEAD.sub("", text)
    return " ".join(_LONG_FORMS.get(word, word) for word in text.split() if word not in ("the", "please"))


def _text(event: AskEvent) -> int:
    """Bytes of an event's texts."""
    match event:
        case SourcesEvent():
            return sum(4 * len(source.text) + EVENT_BYTES for source in event.sources)
        case CitationEvent():
            return sum(4 * len(citation.quote) + EVENT_BYTES for citation in event.citations)
        case DeltaEvent():
            return 4 * len(event.text)
        case FollowUpsEvent():
            return sum(4 * len(citation) for citation in event.questions)
        case _:
            return 0

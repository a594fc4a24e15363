"""Gives a kept answer again, and keeps those that may be given again."""

from collections.abc import Hashable
from dataclasses import replace

from citemesh.client.types import AskEvent, DoneEvent, Source, SourcesEvent
from citemesh.errors import CiteMeshError
from gateway.query.answers.answered import Answered, Written
from gateway.query.answers.cache import AnswerCache, CachedAnswer, key_of
from gateway.query.answers.notices import Key
from gateway.query.answers.record import Record
from gateway.query.answers.transcript import Emit
from gateway.query.history.conversation import questions_of
from gateway.query.limits import Limits
from gateway.query.model.catalog import Models
from gateway.query.request import Request
from gateway.query.retrieve.search import Searcher

PASSING: frozenset[Key] = frozenset(
    (
        "generation_down",
        "generation_busy",
        "wrote_nothing",
        "late",
        "interrupted",
        "interrupted_late",
        "looped",
        "not_ranked",
        "not_checked",
        "fewer_hops",
    )
)
"""Notices of what may be otherwise the next time."""


class Recorder:
    """Sends events on and remembers them."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self.events: list[AskEvent] = []

    async def __call__(self, event: AskEvent) -> None:
        """Sends one."""
        self.events.append(event)
        await self._emit(event)


class Replay:
    """Looks for a kept answer and checks that it still holds."""

    def __init__(self, cache: AnswerCache, searcher: Searcher, models: Models, limits: Limits) -> None:
        self._cache, self._searcher, self._models, self._limits = cache, searcher, models, limits

    async def find(self, request: Request) -> CachedAnswer | None:
        """A kept answer to the same question over unchanged collections; the check costs one small search each."""
        if request.question.skip_cache or not self._repeatable(request):
            return None
        key = self._key(request)
        answer = self._cache.get(key)
        if answer is None:
            return None
        if await self._holds(request, answer):
            return answer
        self._cache.drop(key)
        return None

    async def send(self, record: Record, answer: CachedAnswer) -> Answered:
        """Sends a kept answer's events as this question's own."""
        sources: tuple[Source, ...] = ()
        for event in answer.events:
            if isinstance(event, SourcesEvent):
                sources = event.sources
            await record.transcript.replay(event)
        done = answer.done
        return Answered(Written(done.finish, done.mode, done.model), sources, cached=True, earlier_notice=done.notice)

    def keep(
        self, request: Request, record: Record, answered: Answered, events: list[AskEvent], done: DoneEvent
    ) -> None:
        """Keeps an answer if the next one would be the same."""
        passing = record.search_notices or PASSING & set(record.notices)
        if answered.cached or answered.sequences is None or passing or not self._repeatable(request):
            return
        between = [event for event in events[1:] if not isinstance(event, DoneEvent)]
        notice = done.notice if "not_kept" not in record.notices else ""
        self._cache.put(self._key(request), between, replace(done, thread_id="", notice=notice), answered.sequences)

    def _key(self, request: Request) -> Hashable:
        return key_of(request.question, request.plan, request.owner.tenant, questions_of(request.history))

    def _repeatable(self, request: Request) -> bool:
        """Whether the same question is meant to have the same answer: a softly chosen one isn't."""
        temperature = request.question.temperature
        chosen = self._limits.temperature if temperature is None else temperature
        return chosen == 0 or request.question.mode == "extractive"

    async def _holds(self, request: Request, answer: CachedAnswer) -> bool:
        """Whether the collections are as they were, may still be searched, and the same model writes."""
        try:
            if await self._searcher.sequences(request.question) != answer.sequences:
                return False
            return not answer.done.model or (await self._models.get()).name == answer.done.model
        except CiteMeshError:
            return False

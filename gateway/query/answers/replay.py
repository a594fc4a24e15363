"""Gives a kept answer again, and keeps those that may be given again."""

from collections.abc import Hashable
from dataclasses import replace

from citemesh.client.types import AskEvent, DoneEvent, SourcesEvent, Usage
from citemesh.errors import CiteMeshError
from gateway.query.answers.cache import AnswerCache, Kept, key_of
from gateway.query.answers.notices import Key
from gateway.query.answers.transcript import Emit
from gateway.query.history.conversation import questions_of
from gateway.query.limits import Limits
from gateway.query.model.catalog import Models
from gateway.query.retrieve.search import Searcher
from gateway.query.run import Run

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

    async def find(self, run: Run) -> Kept | None:
        """A kept answer to the same question over unchanged collections; the check costs one small search each."""
        if run.question.skip_cache or not self._repeatable(run):
            return None
        key = self._key(run)
        kept = self._cache.get(key)
        if kept is None:
            return None
        if await self._holds(run, kept):
            return kept
        self._cache.drop(key)
        return None

    async def send(self, run: Run, kept: Kept) -> None:
        """Sends a kept answer's events as this question's own."""
        for event in kept.events:
            if isinstance(event, SourcesEvent):
                run.sources = event.sources
            await run.transcript.replay(event)
        run.finish, run.mode, run.model = kept.done.finish, kept.done.mode, kept.done.model
        run.usage, run.searches, run.kept_notice, run.cached = Usage(), 0, kept.done.notice, True

    def keep(self, run: Run, events: list[AskEvent], done: DoneEvent) -> None:
        """Keeps an answer if the next one would be the same."""
        if run.cached or run.sequences is None or not self._repeatable(run) or run.told or PASSING & set(run.notices):
            return
        between = [event for event in events[1:] if not isinstance(event, DoneEvent)]
        notice = done.notice if "not_kept" not in run.notices else ""
        self._cache.put(self._key(run), between, replace(done, thread_id="", notice=notice), run.sequences)

    def _key(self, run: Run) -> Hashable:
        return key_of(run.question, run.plan, run.owner.tenant, questions_of(run.past))

    def _repeatable(self, run: Run) -> bool:
        """Whether the same question is meant to have the same answer: a softly chosen one isn't."""
        asked = run.question.temperature
        return (self._limits.temperature if asked is None else asked) == 0 or run.question.mode == "extractive"

    async def _holds(self, run: Run, kept: Kept) -> bool:
        """Whether the collections are as they were, may still be searched, and the same model writes."""
        try:
            if await self._searcher.sequences(run.question) != kept.sequences:
                return False
            return not kept.done.model or (await self._models.get()).name == kept.done.model
        except CiteMeshError:
            return False

"""Follows folders: what is new or changed there is taken in, what is gone is deleted where that was asked for."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from citemesh.client.mesh import Mesh
from citemesh.contract.bounds import MOST_DELETED
from citemesh.errors import CiteMeshError, DeadlineExceeded, PreconditionFailed, Retryable
from cli.documents.folder import Changed, FolderDifference, Roots, Seen, difference, gone_from, look, settled, watching
from cli.documents.ingestion_run import ENDS, IngestionRun, Item, path_id
from cli.documents.journal import Journal
from cli.documents.watch_view import WatchView

QUIET_S = 0.8
"""A file is taken once it has been left alone for so long."""
RESCAN_S = 60.0
"""A look that no event asked for: events get lost, and some file systems send none."""
POLL_S = 5.0
"""Between looks where nothing tells of changes."""
JOURNAL_S = 30.0
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 30.0
_TRANSIENT = frozenset({"STORAGE", "INTERNAL", "INCOMPLETE"})
"""Faults that are not the file's own: it is tried again at the next look, a few times."""
_TRIES = 3


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What to follow, and how."""

    paths: Sequence[Path]
    collection: str = ""
    delete: bool = False
    """Whether documents whose file is gone are deleted."""
    patience_s: float = 3600.0
    """How long the mesh may stay away, each time."""


@dataclass(slots=True)
class Watch:
    """One following of folders.

    Args:
        connect: opens a client; it is called anew for every pass, as a mesh may come back with another key.
        view: is told what happens.
        journal: what was taken in, kept for the next run; None keeps nothing.
    """

    options: WatchOptions
    connect: Callable[[], Mesh]
    view: WatchView
    journal: Journal | None = None
    _entries: dict[str, Seen] = field(default_factory=dict)
    _left: set[str] = field(default_factory=set)
    """Uris that an earlier run took in and that this one has not seen yet."""
    _tries: dict[str, int] = field(default_factory=dict)
    _reached: bool = False
    _last_write_s: float = 0.0

    async def run(self) -> None:
        """Follow until cancelled.

        Raises:
            CiteMeshError: the mesh refuses, or stays away for longer than is allowed.
        """
        roots = Roots(self.options.paths)
        self._left = set(self.journal.read()) if self.journal else set()
        try:
            await self._pass_on(await self._first())
            self.view.watching(len(self._entries))
            while True:
                async with watching(self.options.paths) as changed:
                    await self._follow(roots, changed)
                await self._until_back(roots)
        finally:
            self._write_journal(at_once=True)

    async def _first(self) -> FolderDifference:
        """Everything that is there, and what an earlier run took in and is gone."""
        now = await asyncio.to_thread(look, self.options.paths)
        return FolderDifference(tuple(now.values()), gone_from(sorted(self._left), now))

    async def _follow(self, roots: Roots, changed: Changed) -> None:
        """Passes changes on until a folder itself is away."""
        blind = ""
        while True:
            await self._until_worth_a_look(roots, changed, POLL_S if blind else RESCAN_S)
            if changed.blind != blind:
                blind = changed.blind
                self.view.blind(blind, POLL_S)
            changed.clear()
            if roots.away():
                return
            changes = difference(self._entries, await asyncio.to_thread(look, self.options.paths))
            if changes:
                await self._settle(changes, roots, changed)

    async def _until_worth_a_look(self, roots: Roots, changed: Changed, longest_s: float) -> None:
        """Until something changed, a folder is away (of which no event may tell), or long enough."""
        looked = time.monotonic()
        while not changed.is_set() and not roots.away() and time.monotonic() - looked < longest_s:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await changed.wait()

    async def _settle(self, changes: FolderDifference, roots: Roots, changed: Changed) -> None:
        await asyncio.sleep(QUIET_S)
        now = await asyncio.to_thread(look, self.options.paths)
        if roots.away():
            return
        ready = settled(changes, now)
        if len(ready.changed) + len(ready.missing) < len(changes.changed) + len(changes.missing):
            changed.set()
        await self._pass_on(ready)

    async def _until_back(self, roots: Roots) -> None:
        """Waits for a folder that is away: a disk that was taken out deletes nothing."""
        self.view.folder_away(roots.away())
        while roots.away():  # noqa: ASYNC110 - what others do is polled
            await asyncio.sleep(POLL_S)
        self.view.folder_back()

    async def _pass_on(self, changes: FolderDifference) -> None:
        """Ingests and deletes; where the mesh is away, goes on when it is back."""
        if not changes:
            return
        intake = IngestionRun.of([entry.file for entry in changes.changed], self.options.collection, replace=True)
        deleted = list(changes.missing) if self.options.delete else []

        async def work(mesh: Mesh) -> None:
            await self._take_in(mesh, intake)
            await self._delete(mesh, deleted)

        await self._patiently(work)
        self.view.passed(intake.items)
        self._remember(changes.changed, intake.items)
        self._forget(changes.missing)
        self._write_journal()

    async def _take_in(self, mesh: Mesh, intake: IngestionRun) -> None:
        waiting = [item for item in intake.items if item.state not in ENDS]
        if not waiting:
            return
        with self.view.intake(waiting) as view:
            intake.changed = view.update
            await intake.attempt(mesh)

    async def _delete(self, mesh: Mesh, uris: list[str]) -> None:
        """Deletes the documents of files that are gone, and strikes them off."""
        while uris:
            portion = uris[:MOST_DELETED]
            await mesh.documents.delete([path_id(uri) for uri in portion], self.options.collection)
            self.view.deleted(portion)
            del uris[: len(portion)]

    async def _patiently(self, work: Callable[[Mesh], Awaitable[None]]) -> None:
        """Do the work, again where the mesh was away, for as long as is allowed. Raises as `run`."""
        away_since, wait_s = 0.0, _FIRST_WAIT_S
        while True:
            try:
                async with self.connect() as mesh:
                    await work(mesh)
                break
            except CiteMeshError as error:
                away_since = away_since or time.monotonic()
                if not self._passes(error) or time.monotonic() - away_since > self.options.patience_s:
                    raise
                wait_s = max(wait_s, error.retry_after_s if isinstance(error, Retryable) else 0.0)
                self.view.away(error, wait_s)
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
        self._reached = True
        if away_since:
            self.view.back(time.monotonic() - away_since)

    def _passes(self, error: CiteMeshError) -> bool:
        """Whether the mesh may get over it by itself. None at all is told at once where there never was one."""
        if isinstance(error, PreconditionFailed):
            return self._reached and error.reason == "MESH_NOT_RUNNING"
        return isinstance(error, Retryable | DeadlineExceeded)

    def _remember(self, changed: Iterable[Seen], items: Iterable[Item]) -> None:
        for entry, item in zip(changed, items, strict=True):
            uri = entry.file.uri
            tries = self._tries.pop(uri, 0) + 1
            if item.state == "failed" and item.reason in _TRANSIENT and tries < _TRIES:
                self._tries[uri] = tries
                continue
            self._entries[uri] = entry
            self._left.discard(uri)

    def _forget(self, uris: Iterable[str]) -> None:
        remaining = []
        for uri in uris:
            self._tries.pop(uri, None)
            if self._entries.pop(uri, None) is not None and not self.options.delete:
                remaining.append(uri)
            self._left.discard(uri)
        if remaining:
            self.view.kept(remaining)

    def _write_journal(self, at_once: bool = False) -> None:
        if self.journal and (at_once or time.monotonic() - self._last_write_s > JOURNAL_S):
            uris = (uri for uri, entry in self._entries.items() if not entry.file.closed)
            self.journal.write({*uris, *self._left})
            self._last_write_s = time.monotonic()

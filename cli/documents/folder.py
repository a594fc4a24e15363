"""What a watched folder holds: one look at it, what differs between two looks, and what says that it changed.

Events of the operating system only say when to look again: what changed is found by comparing two looks. So a rename, a
folder moved in whole, and events that were lost all come out right.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from watchfiles import awatch

from cli.documents.walk import FoundFile, files

_STEP_MS = 100
_DEBOUNCE_MS = 400
_SET_UP_S = 2.0


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as a look found it; its stamp (time, size, inode) changes whenever the file does."""

    file: FoundFile
    stamp: tuple[int, int, int]


Look = Mapping[str, Seen]
"""The files of a look by uri."""


@dataclass(frozen=True, slots=True)
class FolderDifference:
    """Files that are new or changed, and those that are gone, by uri."""

    changed: tuple[Seen, ...]
    missing: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.changed or self.missing)


def look(paths: Sequence[Path], base: Path | None = None) -> Look:
    """The files that are there now. A file that goes meanwhile has gone."""
    return {entry.file.uri: entry for file in files(paths, base) if (entry := _seen(file)) is not None}


def difference(before: Look, now: Look) -> FolderDifference:
    """What became of the files since."""
    changed = tuple(entry for uri, entry in now.items() if uri not in before or before[uri].stamp != entry.stamp)
    return FolderDifference(changed, gone_from((uri for uri, entry in before.items() if not entry.file.closed), now))


def gone_from(uris: Iterable[str], now: Look) -> tuple[str, ...]:
    """Those that are not there any more. What lies in a folder that can't be read is not gone."""
    closed = tuple("" if uri == "." else f"{uri}/" for uri, entry in now.items() if entry.file.closed)
    return tuple(uri for uri in uris if uri not in now and not uri.startswith(closed))


def settled(first: FolderDifference, then: Look) -> FolderDifference:
    """Of a difference what a later look still shows just so: neither half written nor on its way to another name."""
    changed = tuple(entry for entry in first.changed if then.get(entry.file.uri) == entry)
    return FolderDifference(changed, gone_from(first.missing, then))


class Changed(asyncio.Event):
    """Set when something changed; `blind` says why nothing will be heard of, where that is so."""

    blind = ""


class Roots:
    """The folders that were named, and whether each is still the one that it was."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._devices = {path: path.stat().st_dev for path in paths if path.is_dir()}

    def away(self) -> list[Path]:
        """Those that aren't there now, or are an empty place where another disk was: their files are not deleted."""
        return [path for path, device in self._devices.items() if _device(path) != device]


def _device(path: Path) -> int | None:
    try:
        return path.stat().st_dev
    except OSError:
        return None


@asynccontextmanager
async def watching(paths: Sequence[Path]) -> AsyncGenerator[Changed, None]:
    """An event that is set whenever something changes below the paths, until the end of the context.

    It is set at the start and a moment later too, since what changed before the system watches is not told. Where the
    system can't watch so much, it says in `blind` why.
    """
    changed = Changed()
    folders = [path for path in paths if path.is_dir()]
    # A file that an editor replaces is another file: its folder is watched in its place.
    parents = sorted({path.parent for path in paths if not path.is_dir()})
    tasks = [asyncio.create_task(_watch(folders, True, changed))] if folders else []
    tasks += [asyncio.create_task(_watch(parents, False, changed))] if parents else []
    changed.set()
    later = asyncio.get_running_loop().call_later(_SET_UP_S, changed.set)
    try:
        yield changed
    finally:
        later.cancel()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _watch(paths: Sequence[Path], recursive: bool, changed: Changed) -> None:
    try:
        events = awatch(
            *paths,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            recursive=recursive,
            ignore_permission_denied=True,
            raise_interrupt=False,
        )
        async with aclosing(events):
            async for _ in events:
                changed.set()
    except OSError as error:  # too many folders for the system's limit, or one that went meanwhile
        changed.blind = str(error)
        changed.set()


def _seen(file: FoundFile) -> Seen | None:
    try:
        stat = file.path.stat()
    except OSError:
        return None
    return Seen(file, (stat.st_mtime_ns, stat.st_size, stat.st_ino))

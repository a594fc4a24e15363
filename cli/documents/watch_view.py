"""What `citemesh ingest --watch` says: lines for people, events for machines."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import click
from rich.console import Console
from rich.text import Text

from citemesh.errors import CiteMeshError
from cli.documents.ingestion_run import Item
from cli.documents.ingestion_view import IntakeView, JsonLines, Lines, duration, summarise, view_of
from cli.terminal.failures import message_of
from cli.terminal.terminal import count, printable

_FEW = 8
"""So many files are told line by line, on a terminal too."""


class WatchView(Protocol):
    """What takes the news of a watch."""

    def intake(self, items: Sequence[Item]) -> IntakeView:
        """Files are about to be taken in; what is told of each."""

    def passed(self, items: Sequence[Item]) -> None:
        """They have come to their ends."""

    def watching(self, files: int) -> None:
        """The first pass is over; from now on changes are followed."""

    def deleted(self, uris: Sequence[str]) -> None:
        """Documents were deleted, as their files are gone."""

    def kept(self, uris: Sequence[str]) -> None:
        """Files are gone, and their documents stay."""

    def away(self, error: CiteMeshError, wait_s: float) -> None:
        """The mesh can't be reached; it is tried again after so long."""

    def back(self, seconds: float) -> None:
        """The mesh is back after so long."""

    def folder_away(self, folders: Sequence[Path]) -> None:
        """Watched folders aren't there; nothing is deleted for that."""

    def folder_back(self) -> None:
        """They are there again."""

    def blind(self, reason: str, look_s: float) -> None:
        """The system tells of no changes, so the folder is looked at every so often."""


class JsonWatchView:
    """One JSON object a line: files as without a watch, everything else with an "event"."""

    def intake(self, items: Sequence[Item]) -> IntakeView:
        """Every change of a file is a line."""
        return JsonLines()

    def passed(self, items: Sequence[Item]) -> None:
        """The files' own lines told it."""

    def watching(self, files: int) -> None:
        """The first pass is over."""
        _event("watching", files=files)

    def deleted(self, uris: Sequence[str]) -> None:
        """Documents are gone."""
        for uri in uris:
            _event("deleted", uri=uri)

    def kept(self, uris: Sequence[str]) -> None:
        """Their files are gone."""
        for uri in uris:
            _event("kept", uri=uri)

    def away(self, error: CiteMeshError, wait_s: float) -> None:
        """The mesh is away."""
        _event("away", reason=error.reason, message=message_of(error), retry_s=wait_s)

    def back(self, seconds: float) -> None:
        """It is back."""
        _event("back", seconds=round(seconds, 3))

    def folder_away(self, folders: Sequence[Path]) -> None:
        """Folders are away."""
        _event("folder_away", folders=[str(folder) for folder in folders])

    def folder_back(self) -> None:
        """They are back."""
        _event("folder_back")

    def blind(self, reason: str, look_s: float) -> None:
        """No changes are told."""
        _event("blind", message=reason, look_s=look_s)


class TextWatchView:
    """Lines; a large first pass has bars on a terminal."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._started = time.monotonic()
        self._many = False

    def intake(self, items: Sequence[Item]) -> IntakeView:
        """Bars for many, lines for a few."""
        self._started, self._many = time.monotonic(), len(items) > _FEW
        return view_of(self._out, items, as_json=False) if self._many else Lines(self._out)

    def passed(self, items: Sequence[Item]) -> None:
        """Sum up what was more than a few lines."""
        if items and self._many:
            summarise(self._out, items, time.monotonic() - self._started)

    def watching(self, files: int) -> None:
        """Says so."""
        self._out.print(Text(f"Watching {count(files, 'file')}; Ctrl-C ends it.", style="bold"))

    def deleted(self, uris: Sequence[str]) -> None:
        """A line each."""
        for uri in uris:
            self._out.print(printable(f"deleted {uri}"))

    def kept(self, uris: Sequence[str]) -> None:
        """A line each."""
        for uri in uris:
            self._out.print(printable(f"kept {uri} (its file is gone; --delete would delete the document)"))

    def away(self, error: CiteMeshError, wait_s: float) -> None:
        """What is wrong, and that it goes on."""
        line = f"the mesh is away: {message_of(error)}; trying again in {duration(wait_s)}"
        self._out.print(Text(printable(line), style="yellow"))

    def back(self, seconds: float) -> None:
        """Since when."""
        self._out.print(Text(f"the mesh is back after {duration(seconds)}", style="green"))

    def folder_away(self, folders: Sequence[Path]) -> None:
        """Nothing is deleted for it."""
        names = ", ".join(map(str, folders))
        line = f"{names} is not there any more; waiting for it, and no document is deleted meanwhile"
        self._out.print(Text(printable(line), style="yellow"))

    def folder_back(self) -> None:
        """Going on."""
        self._out.print(Text("the folder is back", style="green"))

    def blind(self, reason: str, look_s: float) -> None:
        """Why, and what is done instead."""
        line = f"the system tells of no changes ({reason}); looking every {duration(look_s)} instead"
        self._out.print(Text(printable(line), style="yellow"))


def _event(event: str, **facts: Any) -> None:
    click.echo(json.dumps({"event": event, **facts}, ensure_ascii=False))

"""Readers of documents: in a process of its own, or right here."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import Protocol

from citemesh.contract.source_types import SourceType
from services.retrieval.ingestion.read.document import read, read_rows
from services.retrieval.ingestion.read.parsed import IngestFault, Parsed
from services.retrieval.ingestion.read.process.frames import (
    LENGTHS,
    answer,
    document_question,
    rows_answer,
    rows_question,
)
from services.retrieval.ingestion.read.tables.table import TableLayout, TableRow

Answer = tuple[SourceType, Parsed | TableLayout]
Rows = tuple[list[TableRow], int]
_START_S = 60.0
_SMALL = 65_536
_MODULE = "services.retrieval.ingestion.read.process.worker"


class DocumentReader(Protocol):
    """Makes text of bytes."""

    async def read(self, data: bytes, media_type: str, name: str) -> Answer:
        """Reads one document, or how a table is laid out. Raises IngestFault."""

    async def rows(self, window: bytes, layout: TableLayout, number: int, last: bool) -> Rows:
        """Rows that stand whole in a window, the first of which has that number, and the bytes that they take.

        Raises IngestFault.
        """

    async def close(self) -> None:
        """Frees what it holds."""


class DirectReader:
    """Reads in a thread of this process: for tests, and where no stranger's file comes."""

    async def read(self, data: bytes, media_type: str, name: str) -> Answer:
        """Reads one document."""
        detected, parsed = await asyncio.to_thread(read, data, media_type, name)
        return detected.source_type, parsed

    async def rows(self, window: bytes, layout: TableLayout, number: int, last: bool) -> Rows:
        """Reads the rows of a window."""
        return await asyncio.to_thread(read_rows, window, layout, number, last)

    async def close(self) -> None:
        """Has nothing to free."""


class ProcessReader:
    """Reads in child processes, one document at a time each, and replaces one that died or took too long.

    Args:
        processes: how many may run; they are started when they are first needed.
        memory_mib: address space that one may use.
        timeout_s: seconds that one document may take.
    """

    def __init__(self, processes: int, memory_mib: int, timeout_s: float) -> None:
        self._memory_mib = memory_mib
        self._timeout_s = timeout_s
        self._free: asyncio.LifoQueue[asyncio.subprocess.Process | None] = asyncio.LifoQueue()
        for _ in range(processes):
            self._free.put_nowait(None)

    async def read(self, data: bytes, media_type: str, name: str) -> Answer:
        """Reads one document; waits for a free process."""
        header, body = await self._ask(document_question(data, media_type, name))
        if len(header) + len(body) <= _SMALL:
            return answer(header, body)
        return await asyncio.to_thread(answer, header, body)

    async def rows(self, window: bytes, layout: TableLayout, number: int, last: bool) -> Rows:
        """Reads the rows of a window; waits for a free process."""
        return await asyncio.to_thread(rows_answer, *await self._ask(rows_question(window, layout, number, last)))

    async def _ask(self, question: bytes) -> tuple[bytes, bytes]:
        process = await self._free.get()
        reusable: asyncio.subprocess.Process | None = None
        try:
            process = await self._running(process)
            async with asyncio.timeout(self._timeout_s):
                answer = await _exchange(process, question)
            reusable = process
        except TimeoutError:
            raise IngestFault("BROKEN", f"reading it took over {self._timeout_s:g} s", "split it") from None
        except (asyncio.IncompleteReadError, ConnectionError):
            raise _died(await _ended(process)) from None
        finally:
            if reusable is None and process is not None:
                _kill(process)
            self._free.put_nowait(reusable)
        return answer

    async def close(self) -> None:
        """Ends the processes that run."""
        while not self._free.empty():
            process = self._free.get_nowait()
            if process is not None:
                _kill(process)
                await process.wait()

    async def _running(self, process: asyncio.subprocess.Process | None) -> asyncio.subprocess.Process:
        if process is not None and process.returncode is None:
            return process
        arguments = ("-m", _MODULE, str(self._memory_mib), str(int(self._timeout_s) + 1))
        new_process = await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LANG": "C.UTF-8"},
        )
        try:
            async with asyncio.timeout(_START_S):
                await _received(new_process)
        except BaseException:
            _kill(new_process)
            raise
        return new_process


async def _exchange(process: asyncio.subprocess.Process, question: bytes) -> tuple[bytes, bytes]:
    if process.stdin is None:
        raise ConnectionError
    process.stdin.write(question)
    await process.stdin.drain()
    return await _received(process)


async def _received(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    if process.stdout is None:
        raise ConnectionError
    header, body = LENGTHS.unpack(await process.stdout.readexactly(LENGTHS.size))
    return await process.stdout.readexactly(header), await process.stdout.readexactly(body)


async def _ended(process: asyncio.subprocess.Process | None) -> int:
    return 0 if process is None else await process.wait()


def _died(code: int) -> IngestFault:
    end = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    return IngestFault("BROKEN", f"its reader died on it ({end})", "export it again")


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()

"""The reader process: parses one document after another, within limits, apart from the service.

A file that crashes a parser, or makes it eat memory or time, ends this process and not the service. It opens no file,
writes none, and ends when its input does.
"""

import json
import resource
import sys
from typing import BinaryIO

from services.retrieval.ingestion.read.document import read, read_rows
from services.retrieval.ingestion.read.parsed import IngestFault
from services.retrieval.ingestion.read.process.frames import (
    LENGTHS,
    Header,
    fault_frame,
    frame,
    layout_of,
    parsed_frame,
    rows_frame,
)

_OPEN_FILES = 32


def main(memory_mib: int, seconds: int) -> None:
    """Answers frames from standard input on standard output."""
    _limit(memory_mib)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sink.write(frame({"ready": True}))
    sink.flush()
    while start := source.read(LENGTHS.size):
        _allow(seconds)
        sink.write(_answer(source, start, memory_mib))
        sink.flush()


def _answer(source: BinaryIO, start: bytes, memory_mib: int) -> bytes:
    try:
        header_length, body_length = LENGTHS.unpack(start)
        header: Header = json.loads(source.read(header_length))
        return _read(header, source.read(body_length))
    except IngestFault as fault:
        return fault_frame(fault)
    except MemoryError:
        return fault_frame(IngestFault("BROKEN", f"reading it takes over {memory_mib} MiB", "split it"))
    except Exception as error:
        return fault_frame(IngestFault("BROKEN", f"it can't be read: {type(error).__name__}", "export it again"))


def _read(header: Header, body: bytes) -> bytes:
    if "layout" in header:
        return rows_frame(*read_rows(body, layout_of(header), header["number"], header["last"]))
    detected, parsed = read(body, header["media_type"], header["name"])
    return parsed_frame(detected.source_type, parsed)


def _limit(memory_mib: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory_mib << 20, memory_mib << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))


def _allow(seconds: int) -> None:
    """Lets this process use so much processor time from now on; the kernel ends it then, parent or not."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds + 1, hard))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

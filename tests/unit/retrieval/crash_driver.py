"""Runs the durable engine on a directory and says what it acknowledged, until it is killed.

Reads the number of the first document and the directory, a line a run.
Prints "put ID" and "gone ID" once the engine returned.
"""

import asyncio
import os
import sys
from pathlib import Path

from services.retrieval.engine import Engine
from tests.contract.retrieval_engines import new_document, opened


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def run(directory: Path, first: int) -> None:
    """Puts documents, replaces some and deletes others, several at once, for ever."""
    async with opened("durable", directory, snapshot_after=40) as engine:
        say("open")
        number = first
        while True:
            await asyncio.gather(*(put(engine, n) for n in range(number, number + 3)))
            if number % 2:
                say(f"going d{number}")
                await engine.delete("default", [f"d{number}"])
                say(f"gone d{number}")
            number += 3


def text_of(n: int) -> str:
    """A text with words of its own, long enough for several chunks."""
    return "\n\n".join(f"document{n} part{part} speaks of word{n} and nothing else at all" for part in range(8))


async def put(engine: Engine, n: int) -> None:
    """Stores one document."""
    await engine.put(new_document(text_of(n), f"d{n}"))
    say(f"put d{n}")


def main() -> None:
    """Forks a child for each line "NUMBER DIRECTORY", so that only this process pays for the imports."""
    for line in sys.stdin:
        first, directory = line.rstrip("\n").split(" ", 1)
        child = os.fork()
        if child == 0:
            say(f"child {os.getpid()}")
            asyncio.run(run(Path(directory), int(first)))
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()

"""Work in the background: its result, its error, and nobody waiting for it at the end."""

import asyncio
import subprocess
import sys
import threading

import pytest

from services.generation.engines.background import in_background

ENDLESS = """
import asyncio, threading
from services.generation.engines.background import in_background

async def main():
    task = asyncio.create_task(in_background(threading.Event().wait))
    await asyncio.sleep(0.01)
    task.cancel()

asyncio.run(main())
"""


async def test_results_and_errors_come_back() -> None:
    assert await in_background(lambda: threading.current_thread().daemon) is True
    with pytest.raises(ZeroDivisionError):
        await in_background(lambda: 1 // 0)


async def test_a_result_that_nobody_waits_for_is_dropped() -> None:
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait(5)
        asyncio.run_coroutine_threadsafe(told(), loop)

    async def told() -> None:
        done.set()

    loop = asyncio.get_running_loop()
    task = asyncio.create_task(in_background(work))
    await asyncio.sleep(0)
    task.cancel()
    go.set()
    async with asyncio.timeout(5):
        while not done.is_set():
            await asyncio.sleep(0.001)


def test_a_process_ends_while_it_works() -> None:
    assert subprocess.run([sys.executable, "-c", ENDLESS], timeout=30, check=False).returncode == 0

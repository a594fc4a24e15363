"""Disks that are full, and directories that can't be written."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from citemesh.errors import PreconditionFailed, Unavailable
from services.retrieval.engine import RetrievalEngine
from services.retrieval.engines.durable.engine import DurableEngine
from tests.contract.retrieval.retrieval_engines import ids_of, new_document, opened, search

from .test_durability import check, fill, indexed, numbers


@contextmanager
def small_disk(path: Path, mebibytes: int) -> Iterator[None]:
    """A file system of its own size; skips where this user may not mount one."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(path)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root; the test with max_page_count stands for it")
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True)


async def fill_up(engine: RetrievalEngine) -> int:
    """Puts documents until the disk is full; returns how many were acknowledged."""
    for put in range(5000):
        try:
            await engine.put(new_document(f"number {put} has word{put} " * 50, f"d{put}"))
        except Unavailable:
            return put
    raise AssertionError("the disk took everything")


async def test_a_full_file_system_refuses_and_keeps_the_rest(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, 4):
        async with opened("durable", disk / "store") as engine:
            put = await fill_up(engine)
            assert put > 10
            with pytest.raises((Unavailable, PreconditionFailed)):
                await engine.snapshot("")
            assert ids_of(await search(engine, "word3", "lexical")) == ["d3"]
            assert (await engine.collection("default")).documents == put
        remount(disk, "size=64m")
        async with opened("durable", disk / "store") as engine:
            assert isinstance(engine, DurableEngine)
            assert (await engine.collection("default")).documents == put
            for n in range(put):
                assert ids_of(await search(engine, f"word{n}", "lexical")) == [f"d{n}"]
            assert indexed(engine) == numbers(disk / "store")[0]
            await engine.put(new_document("service again", "last"))
        assert not list((disk / "snapshots").glob("*"))


async def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, 16):
        await fill(disk / "store", 2)
        remount(disk, "ro")
        for name in ("store", "new"):
            with pytest.raises(PreconditionFailed, match=f"{name}.*can't be") as caught:
                await DurableEngine(disk / name).open()
            assert caught.value.reason in ("STORE_UNUSABLE", "STORE_READ_ONLY")
        remount(disk, "rw")
        await check(disk / "store", 2)


def remount(disk: Path, options: str) -> None:
    """Changes how a file system is mounted."""
    subprocess.run(["mount", "-o", f"remount,{options}", str(disk)], check=True)

"""A stack of healthy nothings: what is started, found, restarted, refused and stopped."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from citemesh.errors import DeadlineExceeded, PreconditionFailed
from citemesh.mesh.topology import load_topology
from cli.local_mesh import layout as layout_module
from cli.local_mesh.layout import Layout, StackOptions
from cli.local_mesh.runtime import find_running, note_path
from cli.local_mesh.stack import Stack, running_stack
from tests.unit.cli.free_ports import free_base

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
SERVICES = load_topology().service_names()


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., StackOptions]:
    """Options for a stack whose apps are fake services, in a directory of its own."""

    def command(self: Layout, service: str) -> list[str]:
        return [sys.executable, str(HERE.parent / "fake_service.py"), service]

    monkeypatch.setattr(layout_module.Layout, "app_command", command)
    return lambda **other: StackOptions(
        state_dir=tmp_path / "s", port_base=free_base(), **{"mesh": False, "start_s": 30.0} | other
    )


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_starts_finds_and_stops(options: Callable[..., StackOptions]) -> None:
    async with running_stack(options()) as stack:
        pids = stack.pids()
        assert set(pids) == set(SERVICES)
        assert all(alive(pid) for pid in pids.values())
        running = find_running(stack.options.state_dir)
        assert running.pid == os.getpid()
        assert running.targets["gateway"] == f"127.0.0.1:{stack.options.port_base}"
        assert running.targets["retrieval"] == f"unix:{stack.options.state_dir}/run/retrieval.sock"
        async with stack.client() as mesh:
            assert await mesh.serving("gateway")
    assert not any(alive(pid) for pid in pids.values())
    assert not note_path(stack.options.state_dir).exists()


async def test_a_killed_service_comes_back(options: Callable[..., StackOptions]) -> None:
    async with running_stack(options()) as stack:
        old = stack.kill("generation")
        await stack.wait_restarted("generation", old)
        assert await stack.ready()
        assert stack.pids()["generation"] not in (0, old)
        assert [stack.restarts(service) for service in SERVICES].count(0) == 4


async def test_a_service_that_cannot_start_is_told_with_its_last_words(options: Callable[..., StackOptions]) -> None:
    stack = Stack(options(env={"FAKE_SERVICE_CRASHES": "reranker"}))
    try:
        await stack.start()
        with pytest.raises(PreconditionFailed, match="reranker ended with status 1") as told:
            await stack.wait_ready()
        assert "no setting has this name" in told.value.message
        assert told.value.remedy.endswith("reranker.log")
    finally:
        await stack.stop()


async def test_a_second_mesh_in_one_directory_is_refused_and_the_first_one_stays(
    options: Callable[..., StackOptions],
) -> None:
    async with running_stack(options()) as stack:
        second = Stack(options())
        with pytest.raises(PreconditionFailed, match=f"process {os.getpid()}"):
            await second.start()
        await second.stop()
        assert find_running(stack.options.state_dir).port_base == stack.options.port_base
        assert await stack.ready()


async def test_time_to_start_is_bounded(options: Callable[..., StackOptions]) -> None:
    stack = Stack(options())
    try:
        await stack.start()
        with pytest.raises(DeadlineExceeded, match="not ready within"):
            await stack.wait_ready(0.01)
    finally:
        await stack.stop()


async def test_children_see_the_meshs_settings_and_not_the_command_lines(
    options: Callable[..., StackOptions], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEMESH_CLI_KEY", "secret")
    monkeypatch.setenv("CITEMESH_RERANKER_MODEL", "dir:/x")
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    layout = Layout(options(mesh=True, fake=True, otlp_endpoint="127.0.0.1:4317"))
    env = layout.app_env("retrieval")
    assert "CITEMESH_CLI_KEY" not in env
    assert env["CITEMESH_RETRIEVAL_ENGINE"] == "fake"
    assert env["CITEMESH_RETRIEVAL_TARGETS"] == f'{{"tokenizer": "127.0.0.1:{layout.options.port_base + 112}"}}'
    assert env["CITEMESH_RETRIEVAL_KEY_FILE"].endswith("policy/retrieval.key")
    assert env["CITEMESH_OTLP_ENDPOINT"] == "127.0.0.1:4317"
    assert layout.app_env("reranker")["CITEMESH_RERANKER_MODEL"] == "dir:/x"
    assert env["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"
    assert "GLIBC_TUNABLES" not in layout.app_env("reranker")
    monkeypatch.setenv("GLIBC_TUNABLES", "the user's own")
    assert layout.app_env("retrieval")["GLIBC_TUNABLES"] == "the user's own"
    assert not any(name.startswith("CITEMESH") for name in layout.sidecar_env())


@pytest.mark.real
async def test_sidecars_are_healthy_and_ask_for_keys(options: Callable[..., StackOptions]) -> None:
    async with running_stack(options(mesh=True)) as stack:
        assert len(stack.pids()) == 10
        async with stack.client() as mesh:
            assert await mesh.serving("gateway")
            assert await mesh.serving("retrieval")
        before = stack.pids()
        await stack.wait_restarted("tokenizer-sidecar", stack.kill("tokenizer-sidecar"))
    assert not any(alive(pid) for pid in before.values())


async def citemesh(stack: Stack, *arguments: str) -> tuple[int, str]:
    """Run a command in a process of its own: its exit status and all that it wrote."""
    command = [sys.executable, "-m", "cli", *arguments, "--state-dir", str(stack.options.state_dir)]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


@pytest.mark.real
async def test_keys_and_policies_change_under_a_running_mesh(
    options: Callable[..., StackOptions], tmp_path: Path
) -> None:
    """An app that has no Ask answers UNIMPLEMENTED (status 1): the call got through."""
    async with running_stack(options(mesh=True)) as stack:
        assert (await citemesh(stack, "ask", "Why?"))[0] == 1
        status, output = await citemesh(stack, "ask", "Why?", "--key", "cm_00000000_" + "x" * 43)
        assert (status, "what to do" in output) == (4, True)

        status, key = await citemesh(stack, "policy", "key", "add", "user:ann")
        assert status == 0
        assert (await citemesh(stack, "ask", "Why?", "--key", key.strip()))[0] == 1
        assert (await citemesh(stack, "policy", "key", "remove", key.split("_")[1]))[0] == 0
        assert (await citemesh(stack, "ask", "Why?", "--key", key.strip()))[0] == 4

        broken = tmp_path / "broken.wasm"
        broken.write_bytes(b"no code")
        status, output = await citemesh(stack, "policy", "push", "--wasm", str(broken))
        assert status == 1
        assert output.count("refused") >= 5
        assert (await citemesh(stack, "ask", "Why?"))[0] == 1
        status, output = await citemesh(stack, "policy", "push")
        assert (status, output.count(": live")) == (0, 5)

        status, output = await citemesh(stack, "mesh", "status", "--json")
        assert status == 0
        assert [json.loads(line)["ready"] for line in output.splitlines()] == [True] * 5
        os.kill(stack.pids()["reranker-sidecar"], signal.SIGSTOP)
        assert (await citemesh(stack, "mesh", "status"))[0] == 1
        os.kill(stack.pids()["reranker-sidecar"], signal.SIGCONT)


@pytest.mark.real
async def test_a_taken_port_is_refused_before_anything_starts(options: Callable[..., StackOptions]) -> None:
    wanted = options(mesh=True)
    with socket.socket() as server:
        server.bind(("127.0.0.1", wanted.port_base + 103))
        server.listen()
        stack = Stack(wanted)
        with pytest.raises(PreconditionFailed, match="generation ingress"):
            await stack.start()
        await stack.stop()
    assert not stack.status

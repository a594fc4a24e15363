"""The identity policy in real sidecars, and new policies pushed under traffic."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from mesh_harness import Guarded, RunningMesh, find_policy

from citemesh.mesh import push
from citemesh.mesh.identity import new_key
from citemesh.mesh.placement import Placement
from citemesh.mesh.policy import document_version, ecds_document, identity_filter, judge_identity
from citemesh.mesh.push import failures, live_version, push_identity
from citemesh.mesh.render import NO_KEYS
from citemesh.mesh.status import mesh_status
from citemesh.mesh.text import replace_file
from citemesh.mesh.topology import load_topology
from citemesh.mesh.validate import Verdict, validate_all

pytestmark = pytest.mark.real

ECHO = "/acme.back.v1.Back/Echo"
COUNT = "/acme.back.v1.Back/Count"


def egress(mesh: RunningMesh) -> Any:
    return grpc.aio.insecure_channel(mesh.placement.egress(mesh.topology.service("front")))


def bearer(key: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {key}"),)


async def code(channel: Any, key: str | None) -> grpc.StatusCode:
    metadata = bearer(key) if key else ()
    answer: grpc.StatusCode = await channel.unary_unary(ECHO)(b"", timeout=5, metadata=metadata).code()
    return answer


async def test_a_call_needs_a_key_at_the_inner_door_too(guarded: Guarded) -> None:
    async with egress(guarded.mesh) as channel:
        assert await code(channel, guarded.key) is grpc.StatusCode.OK
        assert await code(channel, None) is grpc.StatusCode.UNAUTHENTICATED
        assert await code(channel, guarded.key[:-1] + "!") is grpc.StatusCode.UNAUTHENTICATED


async def test_a_pushed_key_is_live_and_a_removed_one_dead(guarded: Guarded) -> None:
    mesh, (other, record) = guarded.mesh, new_key("user:bob", "default", ["*"])
    config = copy.deepcopy(guarded.config)
    config["keys"] = [{**guarded.config["keys"][0], **_record(record)}]
    report = await asyncio.to_thread(push_identity, mesh.placement, mesh.topology.service_names(), config)
    assert report.ok, report
    async with egress(mesh) as channel:
        assert await code(channel, other) is grpc.StatusCode.OK
        assert await code(channel, guarded.key) is grpc.StatusCode.UNAUTHENTICATED
    for status in await asyncio.to_thread(mesh_status, mesh.topology, mesh.placement):
        assert status.ready
        assert status.policy_live == status.policy_file == report.version
        assert status.policy_failures == 0


async def test_pushes_drop_no_stream_and_broken_ones_are_refused(guarded: Guarded) -> None:
    mesh = guarded.mesh
    async with egress(mesh) as channel:
        streams = [channel.unary_stream(COUNT)(b"300", metadata=bearer(guarded.key)) for _ in range(4)]
        counting = asyncio.gather(*(_count(stream) for stream in streams))
        for number in range(10):
            blocks = ["127.0.0.0/8", f"10.0.{number}.0/{99 if number % 3 == 2 else 24}"]
            config = guarded.config | {"allow": blocks}
            report = await asyncio.to_thread(push_identity, mesh.placement, mesh.topology.service_names(), config)
            assert report.ok is (number % 3 != 2), report
            if not report.ok:
                assert "allow[1]" in report.services[0].reason
            assert await code(channel, guarded.key) is grpc.StatusCode.OK
        assert not counting.done(), "the streams were open during every push"
        assert await counting == [300] * 4


async def test_what_a_sidecar_refuses_is_taken_back(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh, services = guarded.mesh, guarded.mesh.topology.service_names()
    before = _policy_files(mesh)
    monkeypatch.setattr(push, "judge_identity", lambda *_: Verdict(True, ""))
    report = await asyncio.to_thread(push_identity, mesh.placement, services, guarded.config | {"allow": []})
    assert [service_name.outcome for service_name in report.services] == ["refused", "refused"]
    assert _policy_files(mesh) == before
    async with egress(mesh) as channel:
        assert await code(channel, guarded.key) is grpc.StatusCode.OK
        assert await code(channel, None) is grpc.StatusCode.UNAUTHENTICATED
    assert live_version(mesh.admin("back")) == document_version(before[1])


async def test_a_refused_document_leaves_the_old_policy_in_force(guarded: Guarded) -> None:
    mesh = guarded.mesh
    wasm = identity_filter(mesh.placement, guarded.config | {"allow": []})
    path = Path(mesh.placement.policy_file("back", "identity"))
    await asyncio.to_thread(replace_file, path, ecds_document("identity", wasm), 0o600)
    async with egress(mesh) as channel:
        while not await asyncio.to_thread(failures, mesh.admin("back")):
            assert await code(channel, guarded.key) is grpc.StatusCode.OK
        for _ in range(20):
            assert await code(channel, guarded.key) is grpc.StatusCode.OK
            assert await code(channel, None) is grpc.StatusCode.UNAUTHENTICATED


async def test_a_dead_sidecar_is_reported_and_gets_the_policy_when_it_starts(guarded: Guarded) -> None:
    mesh = guarded.mesh
    mesh.sidecars["back"].kill()
    mesh.sidecars["back"].wait(5)
    config = guarded.config | {"allow": ["127.0.0.0/8", "10.0.0.0/8"]}
    report = await asyncio.to_thread(push_identity, mesh.placement, mesh.topology.service_names(), config, 1.0)
    assert {service_name.service_name: service_name.outcome for service_name in report.services} == {
        "front": "live",
        "back": "timed_out",
    }
    back = mesh_status(mesh.topology, mesh.placement)[1]
    assert (back.ready, back.policy_file) == (False, report.version)
    assert "back.admin.sock" in back.fault


def test_every_bootstrap_is_valid_with_the_policy_inline(guarded: Guarded) -> None:
    inline = {"identity": identity_filter(guarded.mesh.placement, guarded.config)}
    verdicts = validate_all(guarded.mesh.topology, guarded.mesh.placement, inline)
    assert {service_name: verdict.ok for service_name, verdict in verdicts.items()} == {"front": True, "back": True}


def test_the_projects_own_rendering_is_valid() -> None:
    placement = Placement(identity_wasm=find_policy(), otlp_endpoint="http://127.0.0.1:4317")
    inline = {"identity": identity_filter(placement, NO_KEYS)}
    verdicts = validate_all(load_topology(), placement, inline)
    assert len(verdicts) == 5
    assert {service_name: verdict.message for service_name, verdict in verdicts.items() if not verdict.ok} == {}


def test_envoy_says_what_is_wrong_with_a_policy(guarded: Guarded) -> None:
    verdict = judge_identity(guarded.mesh.placement, guarded.config | {"version": 7})
    assert not verdict.ok
    assert "only version 1" in verdict.message


def _policy_files(mesh: RunningMesh) -> list[str]:
    return [
        Path(mesh.placement.policy_file(service_name, "identity")).read_text()
        for service_name in mesh.topology.service_names()
    ]


async def _count(stream: Any) -> int:
    return len([number async for number in stream])


def _record(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in ("id", "salt", "sha256", "subject", "tenant")}

"""What real sidecars do with calls: where they go, how long they live, what a caller hears when something is
down.
"""

from __future__ import annotations

import asyncio
import dataclasses
import http.client
import json
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from mesh_harness import RunningMesh, place, wait_until

from citemesh.mesh.render import write_runtime
from citemesh.mesh.topology import Topology

pytestmark = pytest.mark.real

BACK = "/acme.back.v1.Back/"
FRONT = "/acme.front.v1.Front/"
BIG = [("grpc.max_receive_message_length", 16 << 20), ("grpc.max_send_message_length", 16 << 20)]


def egress(mesh: RunningMesh) -> Any:
    return grpc.aio.insecure_channel(mesh.placement.egress(mesh.topology.service("front")), options=BIG)


def door(mesh: RunningMesh, service_name: str = "front") -> Any:
    return grpc.aio.insecure_channel(mesh.placement.ingress(mesh.topology.service(service_name)), options=BIG)


async def call(channel: Any, path: str, request: bytes = b"", **options: Any) -> bytes:
    options.setdefault("timeout", 20)
    answer: bytes = await channel.unary_unary(path)(request, **options)
    return answer


async def refusal(waiting: Awaitable[object]) -> Any:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await waiting
    return caught.value


def rest(mesh: RunningMesh, body: bytes | None = None, path: str = "/v1/query") -> tuple[int, dict[str, Any]]:
    host, port = mesh.placement.ingress(mesh.topology.service("front")).rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    try:
        connection.request("POST", path, body, {"x-envoy-retry-on": "5xx", "x-forwarded-for": "203.0.113.9"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


async def test_a_call_goes_through_both_sidecars(pair: RunningMesh) -> None:
    async with egress(pair) as channel:
        seen = json.loads(await call(channel, BACK + "Echo", "你好 🌍".encode(), metadata=(("x-mine", "1"),)))
    assert seen["size"] == len("你好 🌍".encode())
    assert seen["metadata"]["x-mine"] == "1"
    assert "x-request-id" in seen["metadata"]
    for service_name, side in (("front", "egress"), ("back", "ingress")):
        assert pair.admin(service_name).stats(f"^http.{side}.downstream_rq_total$") == {
            f"http.{side}.downstream_rq_total": 1
        }


async def test_only_calls_of_the_topology_leave(pair: RunningMesh) -> None:
    async with egress(pair) as channel:
        error = await refusal(call(channel, "/acme.front.v1.Front/Echo"))
    assert error.code() is grpc.StatusCode.PERMISSION_DENIED
    assert "the topology does not let front make this call" in error.details()


async def test_ten_mebibytes_pass_both_ways(pair: RunningMesh) -> None:
    document = bytes(range(256)) * (10 * 2**20 // 256)
    async with egress(pair) as channel:
        assert await call(channel, BACK + "Mirror", document) == document


async def test_the_callers_deadline_reaches_the_app(pair: RunningMesh) -> None:
    async with egress(pair) as channel:
        seen = json.loads(await call(channel, BACK + "Echo", timeout=2))
        assert 1 < seen["left_s"] <= 2
        started = time.monotonic()
        error = await refusal(call(channel, BACK + "Sleep", b"10", timeout=0.3))
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert time.monotonic() - started < 1


async def test_without_a_deadline_the_topologys_limit_holds(pair: RunningMesh) -> None:
    async with egress(pair) as channel:
        error = await refusal(channel.unary_unary(BACK + "Sleep")(b"20"))
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED, "unary_timeout_s is 5"


async def test_a_callers_longer_deadline_is_cut_to_the_limit(pair: RunningMesh) -> None:
    async with egress(pair) as channel:
        seen = json.loads(await call(channel, BACK + "Echo", timeout=3600))
    assert seen["left_s"] <= 5, "unary_timeout_s is 5"


async def test_streams_have_their_own_limit(pair: RunningMesh) -> None:
    async with egress(pair) as channel:
        long = [number async for number in channel.unary_stream(BACK + "Count")(b"300", timeout=30)]
        assert len(long) == 300, "six seconds: longer than a unary call may take"
        started = time.monotonic()
        await refusal(_drain(channel.unary_stream(BACK + "CountBriefly")(b"300")))
        assert time.monotonic() - started < 2, "half a second is its limit"


async def test_a_dead_app_is_unavailable_at_once(pair: RunningMesh) -> None:
    async with egress(pair) as channel:
        await call(channel, BACK + "Echo")
        pair.kill_app("back")
        for method in ("Echo", "FailWrite"):
            started = time.monotonic()
            error = await refusal(call(channel, BACK + method))
            assert error.code() is grpc.StatusCode.UNAVAILABLE
            assert time.monotonic() - started < 1


async def test_a_killed_app_ends_its_streams_at_once(pair: RunningMesh) -> None:
    async with egress(pair) as channel:
        numbers = aiter(channel.unary_stream(BACK + "Count")(b"100000"))
        assert await anext(numbers) == b"0"
        killed = time.monotonic()
        pair.kill_app("back")
        error = await refusal(_drain(numbers))
    print(error)
    assert error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL), error
    assert time.monotonic() - killed < 1


async def test_a_restarted_app_is_found_again(pair: RunningMesh) -> None:
    pair.kill_app("back")
    pair.wait_healthy("back", healthy=False)
    pair.start_app("back")
    await asyncio.to_thread(pair.wait_healthy, "back")
    async with egress(pair) as channel:
        await call(channel, BACK + "Echo")


async def test_not_serving_is_an_answer_to_health_and_a_refusal_to_the_rest(pair: RunningMesh) -> None:
    async with door(pair, "back") as channel:
        await call(channel, BACK + "SetHealth", b"\x08\x02")
        await asyncio.to_thread(pair.wait_healthy, "back", False)
        assert await call(channel, "/grpc.health.v1.Health/Check") == b"\x08\x02"
        error = await refusal(call(channel, BACK + "Echo"))
    assert error.code() is grpc.StatusCode.UNAVAILABLE


async def test_only_reads_are_retried(pair: RunningMesh) -> None:
    async with egress(pair) as channel:
        for method in ("Fail", "FailWrite"):
            error = await refusal(call(channel, BACK + method))
            assert (error.code(), error.details()) == (grpc.StatusCode.UNAVAILABLE, "not now")
        calls = json.loads(await call(channel, BACK + "Echo"))["calls"]
    assert (calls["Fail"], calls["FailWrite"]) == (3, 1)


async def test_a_dead_sidecar_is_unavailable_at_once(pair: RunningMesh) -> None:
    pair.sidecars["back"].kill()
    pair.sidecars["back"].wait(5)
    async with egress(pair) as channel:
        started = time.monotonic()
        error = await refusal(call(channel, BACK + "Echo"))
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert time.monotonic() - started < 1


async def test_a_caller_that_leaves_frees_the_app(pair: RunningMesh) -> None:
    async with egress(pair) as channel:
        stream = channel.unary_stream(BACK + "Count")(b"100000")
        await stream.read()
        assert _active(pair, "back") == 1
        stream.cancel()
        await asyncio.to_thread(wait_until, lambda: _active(pair, "back") == 0, "the stream's end", 2.0)


async def test_past_max_concurrent_calls_are_refused_at_once(pair: RunningMesh) -> None:
    async with egress(pair) as first, egress(pair) as second:
        waiting = [asyncio.ensure_future(call(ch, BACK + "Sleep", b"3")) for ch in (first, second) for _ in range(50)]
        done = await asyncio.gather(*waiting, return_exceptions=True)
    refused = [error for error in done if isinstance(error, grpc.aio.AioRpcError)]
    assert len(done) - len(refused) == 64, "max_concurrent is 64"
    assert {error.code() for error in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert pair.admin("front").stats("^cluster.to_back.upstream_rq_retry$") == {"cluster.to_back.upstream_rq_retry": 0}


async def test_past_the_doors_rate_callers_are_told_to_slow_down(pair_topology: Topology, short_dir: Path) -> None:
    front = pair_topology.service("front")
    slow = dataclasses.replace(front, policies=(), calls=(), limits=dataclasses.replace(front.limits, rate_per_s=1))
    topology = dataclasses.replace(pair_topology, services=(slow,))
    mesh = RunningMesh(topology, place(topology, short_dir))
    write_runtime(topology, mesh.placement)
    try:
        await asyncio.to_thread(mesh.start_app, "front")
        await asyncio.to_thread(mesh.start_sidecars)
        async with door(mesh) as channel:
            done = await asyncio.gather(*(channel.unary_unary(FRONT + "Echo")(b"").code() for _ in range(6)))
        assert set(done) == {grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED}
        status, answer = await asyncio.to_thread(rest, mesh, b"{}")
        assert (status, answer["error"]["code"]) == (429, "resource_exhausted")
    finally:
        mesh.stop()


async def test_the_door_takes_grpc_and_http_on_one_port(pair: RunningMesh) -> None:
    async with door(pair) as channel:
        assert json.loads(await call(channel, FRONT + "Echo"))["size"] == 0
    status, seen = await asyncio.to_thread(rest, pair, b"{}", "/v1/query?q=secret")
    assert (status, seen["request"]) == (200, "POST /v1/query?q=secret HTTP/1.1")


async def test_what_outsiders_say_about_themselves_is_dropped(pair: RunningMesh) -> None:
    forged = (("x-envoy-max-retries", "9"), ("x-envoy-made-up", "1"), ("x-forwarded-for", "203.0.113.9"))
    async with door(pair) as channel:
        metadata = json.loads(await call(channel, FRONT + "Echo", metadata=(*forged, ("x-request-id", "mine"))))[
            "metadata"
        ]
    assert "x-envoy-max-retries" not in metadata
    assert "x-envoy-made-up" not in metadata
    assert "203.0.113.9" not in metadata["x-forwarded-for"]
    assert metadata["x-request-id"] != "mine"
    _, seen = await asyncio.to_thread(rest, pair, b"{}")
    assert "x-envoy-retry-on" not in seen["headers"]
    assert "203.0.113.9" not in seen["headers"]["x-forwarded-for"]


async def test_http_bodies_have_a_limit_and_errors_a_shape(pair: RunningMesh) -> None:
    status, seen = await asyncio.to_thread(rest, pair, b"x" * 11 * 2**20)
    assert (status, seen["size"]) == (200, 11 * 2**20)
    status, answer = await asyncio.to_thread(rest, pair, b"x" * 13 * 2**20)
    assert (status, answer["error"]["code"]) == (413, "invalid_argument")
    pair.kill_app("front")
    status, answer = await asyncio.to_thread(rest, pair, b"{}")
    assert (status, answer["error"]["code"]) == (503, "unavailable")


async def test_an_inner_service_speaks_only_grpc(pair: RunningMesh) -> None:
    async with door(pair, "back") as channel:
        await call(channel, BACK + "Echo")
    host, port = pair.placement.ingress(pair.topology.service("back")).rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=5)
    connection.request("GET", "/")
    with pytest.raises((OSError, http.client.HTTPException)):
        connection.getresponse()


async def test_the_access_log_has_no_query_and_no_credentials(pair: RunningMesh) -> None:
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await asyncio.to_thread(rest, pair, b"body-text", "/v1/query?q=secret")
    async with door(pair) as channel:
        key = ("authorization", "Bearer cm_0123_secret")
        await call(channel, FRONT + "Echo", b"body-text", metadata=(key, ("traceparent", traceparent)))
    lines = await asyncio.to_thread(_log_lines, pair, "front", 2)
    assert [(line["path"], line["status"]) for line in lines] == [("/v1/query", 200), (FRONT + "Echo", 200)]
    assert lines[1]["grpc_status"] == "OK"
    assert lines[1]["traceparent"] == traceparent
    assert "secret" not in json.dumps(lines)
    assert "body-text" not in json.dumps(lines)


def _log_lines(mesh: RunningMesh, service_name: str, count: int) -> list[dict[str, Any]]:
    def read() -> list[dict[str, Any]]:
        with open(mesh.placement.access_log(service_name), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    wait_until(lambda: len(read()) >= count, f"{count} lines in the access log", 5.0)
    return read()


def _active(mesh: RunningMesh, service_name: str) -> int:
    return sum(mesh.admin(service_name).stats("^cluster.app.upstream_rq_active$").values())


async def _drain(stream: Any) -> None:
    async for _ in stream:
        pass

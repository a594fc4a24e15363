"""Who gets in, on the committed file: tables of calls with the answer and the counter each must give."""

from __future__ import annotations

import json

import pytest

from tests.policy.policy_host import Outcome
from tests.policy.policy_mesh import Mesh

PREFIX = "citemesh_identity_denied_"
OTHER_SECRET = "A" * 43


def refused(mesh: Mesh, outcome: Outcome, reason: str, status: int) -> None:
    """The call was refused for this reason, told right, and counted once."""
    assert not outcome.passed and outcome.response is not None
    assert outcome.response.details == f"identity_{reason}"
    assert outcome.response.http_status == status
    assert outcome.response.grpc_status == {401: 16, 403: 7}[status]
    assert mesh.host.counters[PREFIX + reason] == 1
    assert sum(mesh.host.counters.values()) == 1


@pytest.mark.parametrize(
    ("key", "method", "path"),
    [
        ("ann", "GET", "/v1/models"),
        ("ann", "GET", "/v1/models/a%20b?limit=2&x=//..%2f"),
        ("ann", "GET", "/v1/文件".replace("文件", "%E6%96%87%E4%BB%B6")),
        ("ann", "POST", "/v1/query"),
        ("admin", "DELETE", "/anything/else"),
    ],
)
def test_http_calls_that_pass(mesh: Mesh, key: str, method: str, path: str) -> None:
    text = getattr(mesh, key)
    outcome = mesh.call((":method", method), (":path", path), ("authorization", f"Bearer {text}"))
    assert outcome.passed
    assert outcome.value("x-citemesh-subject") == f"user:{key}"
    assert outcome.value("x-citemesh-tenant") == "acme"
    assert outcome.value("authorization") is None
    assert mesh.host.counters["citemesh_identity_allowed"] == 1


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR "])
def test_the_scheme_is_of_any_case(mesh: Mesh, scheme: str) -> None:
    assert mesh.call(("authorization", f"{scheme} {mesh.ann}")).passed


def test_both_headers_pass_when_they_agree(mesh: Mesh) -> None:
    outcome = mesh.call(("authorization", f"Bearer {mesh.ann}"), ("x-api-key", mesh.ann))
    assert outcome.passed
    assert outcome.value("authorization") is None and outcome.value("x-api-key") is None


def test_grpc_calls(mesh: Mesh) -> None:
    assert mesh.grpc("/p.v1.Query/Ask", ("x-api-key", mesh.ann)).passed
    outcome = mesh.grpc("/p.v1.Admin/Stop", ("x-api-key", mesh.ann))
    assert outcome.response is not None
    assert (outcome.response.grpc_status, outcome.response.details) == (7, "identity_method")
    assert outcome.response.body == b"this API key may not make this call"
    assert outcome.response.headers == []


def test_a_grpc_grant_is_no_http_grant_and_the_other_way(mesh: Mesh) -> None:
    key = ("x-api-key", mesh.ann)
    assert not mesh.call((":method", "POST"), (":path", "/p.v1.Query/Ask"), key).passed
    assert not mesh.grpc("/v1/query", key).passed
    get = mesh.call((":path", "/p.v1.Query/Ask"), ("content-type", "application/grpc"), key)
    assert not get.passed


@pytest.mark.parametrize("path", ["/healthz", "/healthz?verbose=1"])
def test_public_calls_need_no_key_and_carry_no_name(mesh: Mesh, path: str) -> None:
    forged = [("x-citemesh-subject", "root"), ("x-citemesh-tenant", "root"), ("x-api-key", "nonsense")]
    outcome = mesh.call((":path", path), *forged)
    assert outcome.passed
    assert [name for name, _ in outcome.headers if name.startswith(b"x-")] == []
    assert mesh.host.counters["citemesh_identity_public"] == 1


def test_health_is_public_for_grpc(mesh: Mesh) -> None:
    assert mesh.grpc("/grpc.health.v1.Health/Check").passed
    assert not mesh.grpc("/grpc.health.v1.Healthy/Check").passed


def test_no_key(mesh: Mesh) -> None:
    outcome = mesh.call()
    refused(mesh, outcome, "missing_key", 401)
    assert outcome.response is not None
    assert json.loads(outcome.response.body)["error"]["code"] == "unauthenticated"
    assert (b"www-authenticate", b"Bearer") in outcome.response.headers
    assert (b"content-type", b"application/json") in outcome.response.headers


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic dTpw",
        "Bearer cm_",
        "Bearer cm_0123abcd_",
        "Bearer 中文",
        "Bearer\tx",
        "x" * 9000,
    ],
)
def test_malformed_keys(mesh: Mesh, value: str) -> None:
    refused(mesh, mesh.call(("authorization", value)), "malformed_key", 401)


@pytest.mark.parametrize("change", ["", " ", "x", "=", "\x00", "."])
def test_a_key_with_something_more_is_malformed(mesh: Mesh, change: str) -> None:
    text = mesh.ann + change if change else mesh.ann[:-1]
    refused(mesh, mesh.call(("x-api-key", text)), "malformed_key", 401)


def test_several_keys(mesh: Mesh) -> None:
    both = mesh.call(("authorization", f"Bearer {mesh.ann}"), ("x-api-key", mesh.admin))
    refused(mesh, both, "conflicting_keys", 401)


@pytest.mark.parametrize("name", ["authorization", "x-api-key"])
def test_a_repeated_key_header(mesh: Mesh, name: str) -> None:
    value = f"Bearer {mesh.ann}" if name == "authorization" else mesh.ann
    refused(mesh, mesh.call((name, value), (name, value)), "conflicting_keys", 401)


def test_unknown_and_wrong_read_the_same(mesh: Mesh) -> None:
    unknown = mesh.call(("x-api-key", f"cm_ffffffff_{OTHER_SECRET}"))
    refused(mesh, unknown, "unknown_key", 401)
    wrong = mesh.call(("x-api-key", mesh.ann[:12] + OTHER_SECRET))
    assert mesh.host.counters[PREFIX + "wrong_key"] == 1
    assert unknown.response is not None and wrong.response is not None
    assert unknown.response.body == wrong.response.body
    assert wrong.response.details == "identity_wrong_key"


def test_another_keys_secret_is_wrong(mesh: Mesh) -> None:
    refused(mesh, mesh.call(("x-api-key", mesh.ann[:12] + mesh.admin[12:])), "wrong_key", 401)


def test_every_letter_of_the_secret_counts(mesh: Mesh) -> None:
    for at in range(12, len(mesh.ann)):
        letter = "B" if mesh.ann[at] == "A" else "A"
        assert not mesh.call(("x-api-key", mesh.ann[:at] + letter + mesh.ann[at + 1 :])).passed, at


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (b"192.0.2.1:80", "address"),
        (b"[::2]:80", "address"),
        (b"[::ffff:192.0.2.1]:80", "address"),
        (b"128.0.0.1:1", "address"),
        (None, "address_unknown"),
        (b"", "address_unknown"),
        (b"/run/peer.sock", "address_unknown"),
        (b"127.0.0.1", "address_unknown"),
        (b"::1:80", "address_unknown"),
        (b"\xff\xfe", "address_unknown"),
        (b"127.0.0.1:80:80", "address_unknown"),
    ],
)
def test_addresses_that_may_not_call(mesh: Mesh, address: bytes | None, reason: str) -> None:
    refused(mesh, mesh.call(("x-api-key", mesh.admin), address=address), reason, 403)


@pytest.mark.parametrize("address", [b"127.9.9.9:1", b"[::1]:65535", b"[::ffff:127.0.0.1]:1", b"10.255.0.1:7"])
def test_addresses_that_may(mesh: Mesh, address: bytes) -> None:
    assert mesh.call(("x-api-key", mesh.ann), address=address).passed


def test_public_calls_look_at_the_address(mesh: Mesh) -> None:
    refused(mesh, mesh.call((":path", "/healthz"), address=b"192.0.2.1:80"), "address", 403)


@pytest.mark.parametrize(
    "path",
    [
        "", "*", "v1/models", "//v1/models", "/v1//models", "/v1/../admin", "/v1/./models",
        "/v1/%2e%2e/admin", "/v1/%2E%2e/admin", "/v1/.%2e/admin", "/v1%2fmodels", "/v1/%5c..",
        "/v1/\\..\\", "/v1/%252e%252e", "/v1/..;/admin", "/v1/%00", "/v1/%", "/v1/%zz", "/v1/#x",
        "/v1/a b", "/v1/中", "/healthz/../v1/models", "/" + "a" * 9000,
    ],
)  # fmt: skip
def test_path_tricks(mesh: Mesh, path: str) -> None:
    refused(mesh, mesh.call((":path", path), ("x-api-key", mesh.admin)), "path", 403)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/models"),
        ("GET", "/v2/models"),
        ("GET", "/v1"),
        ("get", "/v1/models"),
        ("POST", "/v1/query/"),
    ],
)
def test_calls_the_key_may_not_make(mesh: Mesh, method: str, path: str) -> None:
    refused(mesh, mesh.call((":method", method), (":path", path), ("x-api-key", mesh.ann)), "method", 403)


def test_a_forged_name_is_replaced(mesh: Mesh) -> None:
    forged = [
        ("x-citemesh-subject", "root"),
        ("x-citemesh-subject", "user:admin"),
        ("x-citemesh-tenant", "mesh"),
        ("x-citemesh-collections", "*"),
        ("x_citemesh_collections", "*"),
        ("x-citemesh-collection", "theirs"),
        ("x-citemesh-role", "admin"),
        ("x_citemesh_subject", "root"),
        ("x-citemesh_tenant", "root"),
        ("x-citemesh-priority", "batch"),
    ]
    outcome = mesh.call(("x-api-key", mesh.ann), *forged)
    ours = sorted(pair for pair in outcome.headers if b"citemesh" in pair[0])
    assert ours == [
        (b"x-citemesh-collection", b"theirs"),
        (b"x-citemesh-collections", b"notes,team-*"),
        (b"x-citemesh-priority", b"batch"),
        (b"x-citemesh-subject", b"user:ann"),
        (b"x-citemesh-tenant", b"acme"),
    ]


def test_a_delegate_names_its_caller(mesh: Mesh) -> None:
    bob = [("x-citemesh-subject", "user:bob"), ("x-citemesh-tenant", "beta"), ("x-citemesh-collections", "a,b-*")]
    names = [*bob, ("x-citemesh-hop", "2")]
    outcome = mesh.grpc("/p.v1.Query/Ask", ("x-api-key", mesh.gateway), *names)
    assert outcome.value("x-citemesh-subject") == "user:bob"
    assert outcome.value("x-citemesh-tenant") == "beta"
    assert outcome.value("x-citemesh-collections") == "a,b-*"
    assert outcome.value("x-citemesh-hop") == "2"


def test_a_delegate_alone_is_itself(mesh: Mesh) -> None:
    outcome = mesh.grpc("/p.v1.Query/Ask", ("x-api-key", mesh.gateway))
    assert outcome.value("x-citemesh-subject") == "service:gateway"
    assert outcome.value("x-citemesh-tenant") == "mesh"
    assert outcome.value("x-citemesh-collections") == "*"


@pytest.mark.parametrize(
    "names",
    [
        [("x-citemesh-subject", "user:bob")],
        [("x-citemesh-tenant", "beta")],
        [("x-citemesh-subject", "a"), ("x-citemesh-subject", "b"), ("x-citemesh-tenant", "beta")],
        [("x-citemesh-subject", ""), ("x-citemesh-tenant", "beta")],
        [("x-citemesh-subject", "a,b"), ("x-citemesh-tenant", "beta")],
        [("x-citemesh-subject", "用户"), ("x-citemesh-tenant", "beta")],
        [("x-citemesh-subject", "a" * 129), ("x-citemesh-tenant", "beta")],
    ],
)
def test_bad_delegation(mesh: Mesh, names: list[tuple[str, str]]) -> None:
    refused(mesh, mesh.call(("x-api-key", mesh.gateway), *names), "delegation", 403)


def test_too_many_and_too_large_headers(mesh: Mesh) -> None:
    key = ("x-api-key", mesh.admin)
    refused(mesh, mesh.call(key, *[(f"x-{n}", "") for n in range(300)]), "headers", 403)
    assert not mesh.call(key, ("cookie", "c" * 200_000)).passed
    assert not mesh.call(key, ("cookie", "c" * 3_000_000)).passed
    assert mesh.call(key, ("cookie", "c" * 100_000)).passed


def test_a_repeated_content_type(mesh: Mesh) -> None:
    kinds = [("content-type", "application/json"), ("content-type", "application/grpc")]
    refused(mesh, mesh.call(("x-api-key", mesh.admin), *kinds), "headers", 403)


def test_a_call_costs_little(mesh: Mesh) -> None:
    browser = [(f"x-header-{n}", "v" * 60) for n in range(20)]
    passed = mesh.call(("authorization", f"Bearer {mesh.ann}"), *browser)
    assert passed.passed and passed.fuel < 80_000
    worst = [(f"x-citemesh-{n}", "v" * 400) for n in range(250)]
    assert mesh.call(("x-api-key", mesh.ann), *worst).fuel < 2_000_000

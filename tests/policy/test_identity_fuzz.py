"""Any bytes within the limits: never a trap, never more fuel than allowed, never a name nobody gave."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citemesh.mesh.identity import dump
from tests.policy.policy_host import Policy, PolicyHost, serialised
from tests.policy.policy_mesh import HERE, Mesh, sample

EXAMPLES = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FORMS = [
    "",
    "{",
    "null",
    "[]",
    '{"version": 1}',
    "\x00",
    "\ufeff{}",
    "[" * 100_000,
    '"' + "a" * 1_000_000,
    "1e999999",
]

names = st.sampled_from(
    [b":method", b":path", b"authorization", b"x-api-key", b"content-type", b"x-citemesh-subject", b"x-citemesh-tenant",
     b"x_citemesh_subject", b"x-citemesh-priority", b"cookie"]
)  # fmt: skip
any_header = st.tuples(names | st.binary(max_size=40), st.binary(max_size=200))
addresses = st.none() | st.binary(max_size=60) | st.sampled_from([HERE, b"[::1]:1", b"[::ffff:10.0.0.1]:1", b"@pipe"])
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=12), inner, max_size=5),
    max_leaves=20,
)


@EXAMPLES
@given(headers=st.lists(any_header, max_size=20), address=addresses)
def test_any_headers(mesh: Mesh, headers: list[tuple[bytes, bytes]], address: bytes | None) -> None:
    outcome = mesh.host.request(mesh.root, headers, address)
    if outcome.passed:
        assert dict(headers)[b":path"].split(b"?")[0] == b"/healthz"
        assert outcome.value("x-citemesh-subject") is None


@EXAMPLES
@given(headers=st.lists(any_header, max_size=12), key=st.sampled_from(["ann", "admin", "gateway"]))
def test_any_headers_beside_a_good_key(mesh: Mesh, headers: list[tuple[bytes, bytes]], key: str) -> None:
    calls = [(b":method", b"GET"), (b":path", b"/v1/models"), (b"x-api-key", getattr(mesh, key).encode())]
    outcome = mesh.host.request(mesh.root, calls + headers, HERE)
    if not outcome.passed:
        return
    subject, sent = outcome.value("x-citemesh-subject"), dict(headers).get(b"x-citemesh-subject")
    assert outcome.value("authorization") is None and outcome.value("x-api-key") is None
    if key == "gateway" and sent is not None:
        assert subject == sent.decode()
    else:
        assert subject == {"ann": "user:ann", "admin": "user:admin", "gateway": "service:gateway"}[key]


@EXAMPLES
@given(data=st.binary(max_size=300), count=st.integers(0, 50))
def test_any_bytes_as_the_header_map(mesh: Mesh, data: bytes, count: int) -> None:
    assert not mesh.host.request_raw(mesh.root, data, [(b"a", b"b")] * count, HERE).passed


@EXAMPLES
@given(at=st.integers(0, 400), byte=st.integers(0, 255), cut=st.booleans())
def test_a_broken_header_map(mesh: Mesh, at: int, byte: int, cut: bool) -> None:
    headers = [(b":method", b"GET"), (b":path", b"/v1/models"), (b"x-api-key", mesh.ann.encode())]
    data = bytearray(serialised(headers))
    at %= len(data)
    data[at] = byte
    mesh.host.request_raw(mesh.root, bytes(data[:at] if cut else data), headers, HERE)


@EXAMPLES
@given(configuration=st.binary(max_size=2_000))
def test_any_bytes_as_the_configuration(host: PolicyHost, configuration: bytes) -> None:
    assert host.configure(configuration) is None


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_garbage_is_refused_with_a_reason(host: PolicyHost, form: str) -> None:
    assert host.configure(form.encode()) is None
    assert "configuration refused" in host.log[-1] and len(host.log[-1]) < 300


@EXAMPLES
@given(value=json_values)
def test_any_json_as_the_configuration(host: PolicyHost, value: Any) -> None:
    assert host.configure(json.dumps(value).encode()) is None


@EXAMPLES
@given(at=st.integers(0, 2_000), byte=st.integers(0, 255), cut=st.booleans())
def test_a_broken_configuration(host: PolicyHost, at: int, byte: int, cut: bool) -> None:
    good = bytearray(dump(sample()[0]).encode())
    at %= len(good)
    good[at] = byte
    host.configure(bytes(good[:at] if cut else good))


def test_the_largest_configurations(policy: Policy) -> None:
    config, _ = sample()
    key = json.loads(dump(config))["keys"][0] | {"methods": ["*"]}
    keys = [key | {"id": f"{n:08x}"} for n in range(3_900)]
    document = {"version": 1, "keys": keys, "allow": ["127.0.0.0/8"], "public": []}
    text = json.dumps(document)
    assert 900_000 < len(text) < 1 << 20
    host = PolicyHost(policy)
    assert host.configure(text.encode()) is not None
    assert host.configure(text.ljust(1 << 20).encode()) is not None
    assert host.configure(text.ljust((1 << 20) + 1).encode()) is None
    for hostile in (
        "[" + "0," * 520_000 + "0]",
        "[" + '"",' * 340_000 + "0]",
        '{"' + "\\u0041" * 170_000 + '":0}',
    ):
        assert host.configure(hostile.encode()) is None
    assert host.memory_size() < 48 * 1024 * 1024


def test_many_configurations_do_not_add_up(mesh: Mesh) -> None:
    text = dump(sample()[0]).encode()
    host = mesh.host
    for _ in range(20):
        root = host.configure(text)
        assert root is not None
        host.delete(root)
    before = host.memory_size()
    for _ in range(300):
        root = host.configure(text)
        assert root is not None
        host.delete(root)
        assert mesh.call(("x-api-key", mesh.ann)).passed
    assert host.memory_size() == before


def test_a_refused_change_keeps_the_old_configuration(mesh: Mesh) -> None:
    assert not mesh.host.reconfigure(mesh.root, b"{}")
    assert mesh.call(("x-api-key", mesh.ann)).passed
    config, (other, _, _) = sample()
    assert mesh.host.reconfigure(mesh.root, dump(config).encode())
    assert not mesh.call(("x-api-key", mesh.ann)).passed
    assert mesh.call(("x-api-key", other)).passed


def test_two_configurations_in_one_vm_stay_apart(mesh: Mesh) -> None:
    config, (other, _, _) = sample()
    root = mesh.host.configure(dump(config).encode())
    assert root is not None
    call = [(b":method", b"GET"), (b":path", b"/v1/models")]
    assert mesh.host.request(root, [*call, (b"x-api-key", other.encode())], HERE).passed
    assert not mesh.host.request(root, [*call, (b"x-api-key", mesh.ann.encode())], HERE).passed
    assert mesh.call(("x-api-key", mesh.ann)).passed


def test_without_a_configuration_nothing_passes(host: PolicyHost) -> None:
    root = 77
    outcome = host.request(root, [(b":method", b"GET"), (b":path", b"/healthz")], HERE)
    assert outcome.response is not None and outcome.response.http_status == 503
    assert outcome.response.grpc_status == 14

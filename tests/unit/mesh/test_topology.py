"""The topology's loader: what it reads, and that every fault is named with its place and remedy."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from citemesh.errors import InvalidInput, PreconditionFailed
from citemesh.mesh.topology import load_topology, parse_topology

GOOD = (Path(__file__).parent / "golden/pair/in/mesh.yaml").read_text(encoding="utf-8")
DELETE = object()


def changed(place: str, value: object) -> str:
    """The good document with one place set, or deleted."""
    document = yaml.safe_load(GOOD)
    *path, last = place.split(".")
    node: Any = document
    for key in path:
        node = node.setdefault(key, {})
    if value is DELETE:
        del node[last]
    else:
        node[last] = value
    return yaml.safe_dump(document, allow_unicode=True, sort_keys=False)


def test_the_projects_topology_is_who_may_call_whom() -> None:
    topology = load_topology()
    assert {service.name: set(service.calls) for service in topology.services} == {
        "gateway": {"tokenizer", "retrieval", "generation", "reranker"},
        "retrieval": {"tokenizer"},
        "tokenizer": set(),
        "generation": set(),
        "reranker": set(),
    }
    assert all(service.policies == ("identity",) for service in topology.services)
    assert [service.name for service in topology.services if service.public] == ["gateway"]


def test_limits_of_a_service_stand_over_the_defaults() -> None:
    front = parse_topology(GOOD).service("front")
    assert (front.limits.rate_per_s, front.limits.unary_timeout_s) == (1000, 5)
    brief = next(m for m in parse_topology(GOOD).service("back").methods if m.name == "CountBriefly")
    assert (brief.path, brief.kind, brief.timeout_s) == ("/acme.back.v1.Back/CountBriefly", "stream", 0.5)


@pytest.mark.parametrize(
    ("place", "value", "path", "fault"),
    [
        ("colour", 1, "mesh.yaml.colour", "unknown field"),
        ("version", 2, "mesh.yaml.version", "out of range"),
        ("version", "1", "mesh.yaml.version", "not a whole number"),
        ("services", DELETE, "mesh.yaml.services", "missing"),
        ("services", {}, "mesh.yaml.services", "no service"),
        ("services", [], "mesh.yaml.services", "expected a mapping"),
        ("services.front", None, "mesh.yaml.services.front", "expected a mapping, got nothing"),
        ("services.Front", {}, "mesh.yaml.services.Front", "not a short name"),
        ("services.front.colour", 1, "mesh.yaml.services.front.colour", "unknown field"),
        ("services.front.calls", ["bakc"], "mesh.yaml.services.front.calls[0]", "'bakc' is not known"),
        ("services.front.calls", ["front"], "mesh.yaml.services.front.calls[0]", "'front' is not known"),
        ("services.front.calls", ["back", "back"], "mesh.yaml.services.front.calls[1]", "listed twice"),
        ("services.front.calls", "back", "mesh.yaml.services.front.calls", "expected a list"),
        ("services.front.policies", ["waf"], "mesh.yaml.services.front.policies[0]", "'waf' is not known"),
        ("services.front.public", "yes", "mesh.yaml.services.front.public", "not true or false"),
        (
            "services.front.package",
            "acme",
            "mesh.yaml.services.front.package",
            "not a versioned proto package",
        ),
        (
            "services.front.package",
            "acme.back.v1",
            "mesh.yaml.services.back.package",
            "already the package of front",
        ),
        (
            "services.front.ports.ingress",
            3,
            "mesh.yaml.services.back.ports.egress",
            "3 is already the port of",
        ),
        (
            "services.front.ports.ingress",
            True,
            "mesh.yaml.services.front.ports.ingress",
            "not a whole number",
        ),
        ("services.front.replicas", 0, "mesh.yaml.services.front.replicas", "out of range"),
        (
            "services.front.limits.max_concurrent",
            0,
            "mesh.yaml.services.front.limits.max_concurrent",
            "out of range",
        ),
        ("services.front.limits.colour", 0, "mesh.yaml.services.front.limits.colour", "unknown field"),
        ("limits.buffer_bytes", 1024, "mesh.yaml.limits.buffer_bytes", "out of range"),
        ("limits.unary_timeout_s", DELETE, "mesh.yaml.limits.unary_timeout_s", "missing"),
        ("limits.unary_timeout_s", float("nan"), "mesh.yaml.limits.unary_timeout_s", "out of range"),
        ("limits.unary_timeout_s", float("inf"), "mesh.yaml.limits.unary_timeout_s", "out of range"),
        ("tracing.sample_percent", 101, "mesh.yaml.tracing.sample_percent", "out of range"),
        ("services.front.methods", {}, "mesh.yaml.services.front.methods", "no method"),
        (
            "services.front.methods.Front.echo",
            {"kind": "read"},
            "mesh.yaml.services.front.methods.Front.echo",
            "not",
        ),
        (
            "services.front.methods.Front.Echo",
            {},
            "mesh.yaml.services.front.methods.Front.Echo.kind",
            "missing",
        ),
        (
            "services.front.methods.Front.Echo.kind",
            "bidi",
            "mesh.yaml.services.front.methods.Front.Echo.kind",
            "known",
        ),
    ],
)
def test_a_fault_is_named_with_its_place_and_remedy(place: str, value: object, path: str, fault: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_topology(changed(place, value))
    assert caught.value.field == path
    assert fault in caught.value.fault
    assert caught.value.remedy


@pytest.mark.parametrize("text", ["", "[]", "version: 1\nversion: 1\n", "a: [", "\x00", "!!python/object:os.system {}"])
def test_what_is_no_topology_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_topology(text)


PLACES = ("services.front", "services.front.calls", "limits.max_concurrent", "services.front.methods.Front")
ANYTHING = st.text() | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(PLACES), ANYTHING)
@pytest.mark.slow
def test_any_value_anywhere_is_read_or_refused(place: str, value: object) -> None:
    refusal = ""
    try:
        parse_topology(changed(place, value))
    except InvalidInput as error:
        refusal = error.field
    assert refusal == "" or refusal.startswith(f"mesh.yaml.{place}")


def test_an_unreadable_file_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(PreconditionFailed, match="No such file"):
        load_topology(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes("# café".encode("latin-1"))
    with pytest.raises(InvalidInput, match="UTF-8"):
        load_topology(tmp_path / "latin.yaml")


def test_an_unknown_service_is_refused() -> None:
    with pytest.raises(InvalidInput, match="use one of: front, back"):
        parse_topology(GOOD).service("frnt")


def test_methods_are_the_contracts_and_streams_are_known_as_such() -> None:
    """Against the generated stubs: a new RPC must be given its kind here."""
    for service in load_topology().services:
        package = importlib.import_module(service.package)
        contract = {
            f"/{proto.full_name}/{rpc.name}": rpc.client_streaming or rpc.server_streaming
            for module in pkgutil.iter_modules(package.__path__)
            if module.name.endswith("_service_pb2")
            for proto in _services(f"{service.package}.{module.name}")
            for rpc in proto.methods
        }
        assert {method.path: method.kind == "stream" for method in service.methods} == contract


def _services(module: str) -> list[Any]:
    return list(importlib.import_module(module).DESCRIPTOR.services_by_name.values())

"""The rendering: golden files byte for byte, and what must hold of every configuration."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from citemesh.mesh.envoy.bootstrap import bootstrap
from citemesh.mesh.placement import Placement
from citemesh.mesh.render import SAMPLE, check_all, check_committed, render_all, write_all
from citemesh.mesh.topology import load_topology

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(GOLDEN))

import regenerate  # noqa: E402 - beside the golden files

REGENERATE = "if the change is meant: python tests/unit/mesh/golden/regenerate.py"
OTLP = "http://127.0.0.1:4317"
PLACEMENTS = {
    "plain": Placement(identity_wasm="x.wasm"),
    "traced": Placement(otlp_endpoint=OTLP, identity_wasm="x.wasm"),
}


@pytest.mark.parametrize("case", regenerate.cases())
def test_golden(case: str) -> None:
    rendered = render_all(*regenerate.load(case))
    expected = {path.name: path.read_text(encoding="utf-8") for path in (GOLDEN / case / "out").iterdir()}
    assert rendered.keys() == expected.keys(), REGENERATE
    for name, text in rendered.items():
        assert text == expected[name], f"{case}/{name}: {REGENERATE}"


def test_the_committed_rendering_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert check_committed() == "", "run `citemesh mesh render`"


def test_a_change_reads_as_a_diff(tmp_path: Path) -> None:
    topology, placement = regenerate.load("pair")
    written = write_all(topology, placement, tmp_path)
    assert check_all(topology, placement, tmp_path) == ""
    written[0].write_text(written[0].read_text().replace("port_value: 8080", "port_value: 9090"))
    (tmp_path / "left-over.yaml").write_text("a: 1\n")
    (tmp_path / "back.yaml").unlink()
    diff = check_all(topology, placement, tmp_path)
    assert "-        port_value: 9090\n+        port_value: 8080" in diff
    assert "--- committed/left-over.yaml\n+++ /dev/null" in diff
    assert "--- /dev/null\n+++ rendered/back.yaml" in diff


def configurations() -> list[Any]:
    topology = load_topology(ROOT / "deploy/mesh.yaml")
    return [
        pytest.param(bootstrap(service, topology, placement), id=f"{service.name}-{name}")
        for name, placement in PLACEMENTS.items()
        for service in topology.services
    ]


def walk(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every mapping of the tree with its path."""
    if isinstance(tree, dict):
        yield path, tree
        for key, value in tree.items():
            yield from walk(value, f"{path}.{key}")
    elif isinstance(tree, list):
        for value in tree:
            yield from walk(value, path)


def routes(config: Any) -> list[dict[str, Any]]:
    hosts = (tree["virtual_hosts"] for _, tree in walk(config) if "virtual_hosts" in tree)
    return [route for host in hosts for route in host[0]["routes"]]


@pytest.mark.parametrize("config", configurations())
def test_listeners_are_loopback_tcp(config: Any) -> None:
    listeners = config["static_resources"]["listeners"]
    assert len(listeners) == 2
    for listener in listeners:
        address = listener["address"]["socket_address"]
        assert address["address"] == "127.0.0.1"
        assert address.get("protocol", "TCP") == "TCP"
        assert "additional_addresses" not in listener
    assert "pipe" in config["admin"]["address"]
    assert not any("udp" in key for _, tree in walk(config) for key in tree)


@pytest.mark.parametrize("config", configurations())
def test_no_default_timeout_cuts_a_stream(config: Any) -> None:
    for route in routes(config):
        if "route" in route:
            assert route["route"]["timeout"] == "0s"
            assert route["route"]["max_stream_duration"]["max_stream_duration"] != "0s"


@pytest.mark.parametrize("config", configurations())
def test_only_reads_of_the_topology_are_retried(config: Any) -> None:
    topology = load_topology(ROOT / "deploy/mesh.yaml")
    reads = {method.path for service in topology.services for method in service.methods if method.kind == "read"}
    for route in routes(config):
        if "retry_policy" in route.get("route", {}):
            assert route["match"]["path"] in reads
            assert "unavailable" in route["route"]["retry_policy"]["retry_on"]
    for _, tree in walk(config):
        for threshold in tree.get("thresholds", []):
            assert "retry_budget" in threshold


@pytest.mark.parametrize("config", configurations())
def test_every_door_asks_for_identity_first_of_what_sees_the_call(config: Any) -> None:
    ingress = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    names = [entry["name"] for entry in ingress["http_filters"]]
    assert names.index("citemesh.identity") <= 1
    assert names[0] in ("citemesh.identity", "envoy.filters.http.local_ratelimit")
    discovery = ingress["http_filters"][names.index("citemesh.identity")]["config_discovery"]
    assert "default_config" not in discovery, "a default would be what runs when the file is bad"
    assert ingress["use_remote_address"] is True


@pytest.mark.parametrize("config", configurations())
def test_no_absolute_path_leaks_from_a_relative_placement(config: Any) -> None:
    for path, tree in walk(config):
        for key in ("path", "filename"):
            if isinstance(tree.get(key), str) and not path.endswith((".match", ".json_format")):
                assert tree[key].startswith(".citemesh/"), f"{path}.{key}"


def test_tracing_is_rendered_only_with_an_endpoint() -> None:
    topology = load_topology(ROOT / "deploy/mesh.yaml")
    for name, placement in PLACEMENTS.items():
        text = yaml.safe_dump(bootstrap(topology.service("gateway"), topology, placement))
        assert ("citemesh-gateway-sidecar" in text) is (name == "traced")
        assert ("spawn_upstream_span: true" in text) is (name == "traced")


def test_the_committed_policy_has_no_key() -> None:
    document = yaml.safe_load((ROOT / "deploy/envoy" / SAMPLE).read_text(encoding="utf-8"))
    configuration = document["resources"][0]["typed_config"]["config"]["configuration"]["value"]
    assert yaml.safe_load(configuration)["keys"] == []

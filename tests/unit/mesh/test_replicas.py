"""Replicas of a service: their names and places, and how those that share out what they keep are told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from citemesh.client import Mesh
from citemesh.errors import InvalidInput, NotSupported, PreconditionFailed
from citemesh.mesh.dial import dial_targets, ingress_targets
from citemesh.mesh.envoy.bootstrap import bootstrap
from citemesh.mesh.placement import Placement
from citemesh.mesh.topology import Topology, load_topology, parse_topology
from cli.local_mesh.layout import Layout, StackOptions

SHARDED = Path(__file__).parent / "golden/sharded/in/mesh.yaml"
ROOT = Path(__file__).parents[3]


def changed(**back: Any) -> str:
    document = yaml.safe_load(SHARDED.read_text(encoding="utf-8"))
    document["services"]["back"] |= back
    return yaml.safe_dump(document, sort_keys=False)


def cluster(topology: Topology, name: str) -> dict[str, Any]:
    config = bootstrap(topology.service("front"), topology, Placement())
    (found,) = [it for it in config["static_resources"]["clusters"] if it["name"] == name]
    return found


def routes(topology: Topology) -> list[dict[str, Any]]:
    listener = bootstrap(topology.service("front"), topology, Placement())["static_resources"]["listeners"][1]
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    found: list[dict[str, Any]] = manager["route_config"]["virtual_hosts"][0]["routes"]
    return found


def test_names_and_ports_of_replicas() -> None:
    topology = load_topology(SHARDED)
    assert topology.service_names() == ("front", "back", "back-1")
    second = topology.service("back-1")
    assert (second.role, second.number, second.sharded) == ("back", 1, True)
    assert (second.ports.ingress, second.ports.egress) == (101, 103)
    assert not topology.service("front").sharded


def test_callers_outside_enter_where_the_replicas_are_told_apart() -> None:
    topology, placement = load_topology(SHARDED), Placement()
    assert ingress_targets(placement, topology=topology)["back"] == placement.egress(topology.service("front"))
    one = parse_topology(changed(replicas=1))
    assert ingress_targets(placement, topology=one)["back"] == placement.ingress(one.service("back"))
    assert dial_targets("front", placement, topology=topology) == {"back": placement.egress(topology.service("front"))}


def test_a_ring_never_sets_a_host_aside() -> None:
    ring = cluster(load_topology(SHARDED), "to_back")
    assert ring["lb_policy"] == "RING_HASH"
    assert "outlier_detection" not in ring and "health_checks" not in ring
    hosts = ring["load_assignment"]["endpoints"][0]["lb_endpoints"]
    assert [host["metadata"]["filter_metadata"]["envoy.lb"]["hash_key"] for host in hosts] == ["0", "1"]


def test_every_call_to_a_ring_is_placed_by_its_header_and_no_retry_leaves_the_place() -> None:
    to_ring = [
        route["route"] for route in routes(load_topology(SHARDED)) if route.get("route", {}).get("cluster") == "to_back"
    ]
    assert len(to_ring) >= 4
    for action in to_ring:
        assert action["hash_policy"] == [{"header": {"header_name": "x-citemesh-collection"}, "terminal": True}]
        assert not {"retry_host_predicate", "retry_priority"} & action.get("retry_policy", {}).keys()


def test_what_concerns_every_replica_reaches_none_by_chance() -> None:
    echo = [
        route for route in routes(load_topology(SHARDED)) if route["match"].get("path") == "/acme.back.v1.Back/Echo"
    ]
    where = [route.get("route", {}).get("cluster", "refused") for route in echo]
    assert where == ["to_back_0", "to_back_1", "to_back", "refused"]
    assert echo[2]["match"]["headers"] == [{"name": "x-citemesh-collection", "present_match": True}]


def test_replicas_that_are_all_alike_share_the_calls() -> None:
    document = yaml.safe_load(changed())
    del document["services"]["back"]["shard_by"]
    alike = cluster(parse_topology(yaml.safe_dump(document)), "to_back")
    assert len(alike["load_assignment"]["endpoints"][0]["lb_endpoints"]) == 2
    assert "lb_policy" not in alike and "outlier_detection" in alike


@pytest.mark.parametrize(
    ("back", "field"),
    [
        ({"shard_by": "x-citemesh-tenant"}, "mesh.yaml.services.back.shard_by"),
        ({"replicas": 0}, "mesh.yaml.services.back.replicas"),
        ({"ports": {"ingress": 1, "egress": 101}}, "mesh.yaml.services.back-1.ports.ingress"),
    ],
)
def test_a_fault_is_named(back: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_topology(changed(**back))
    assert caught.value.field == field


def test_a_service_with_the_name_of_a_replica_is_refused() -> None:
    document = yaml.safe_load(changed())
    twin = {
        **document["services"]["back"],
        "ports": {"ingress": 8, "egress": 9},
        "package": "acme.twin.v1",
        "replicas": 1,
    }
    document["services"]["back-1"] = twin
    with pytest.raises(InvalidInput, match="name of a replica"):
        parse_topology(yaml.safe_dump(document, sort_keys=False))


def test_a_mesh_of_shards_is_laid_out_with_a_store_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "deploy/mesh.yaml").read_text(encoding="utf-8").replace("    replicas: 1\n", "    replicas: 2\n")
    topology = parse_topology(text)
    layout = Layout(StackOptions(tmp_path), topology)
    assert layout.app_command("retrieval-1")[-1] == "services.retrieval.main"
    env = layout.app_env("retrieval-1")
    assert env["CITEMESH_RETRIEVAL_SHARD"] == "1"
    assert env["CITEMESH_RETRIEVAL_LISTEN"].endswith("/retrieval-1.sock")
    assert env["CITEMESH_RETRIEVAL_KEY_FILE"].endswith("/retrieval.key")
    assert layout.app_env("gateway")["CITEMESH_GATEWAY_RETRIEVAL_SHARDS"] == "2"
    assert layout.shards() == 2
    assert layout.targets()["retrieval"] == layout.targets()["gateway"].replace(":8080", ":8190")
    with pytest.raises(PreconditionFailed, match="sidecars"):
        Layout(StackOptions(tmp_path, mesh=False), topology)
    assert "CITEMESH_RETRIEVAL_SHARD" not in Layout(StackOptions(tmp_path)).app_env("retrieval")


async def test_one_copy_of_all_replicas_is_refused() -> None:
    async with Mesh({"retrieval": "unix:nowhere.sock"}, shards=2) as mesh:
        with pytest.raises(NotSupported, match="several replicas"):
            await mesh.collections.snapshot()

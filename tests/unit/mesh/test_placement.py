"""Where a mesh runs: loopback only, ports within range, short socket paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from citemesh.errors import InvalidInput, PreconditionFailed
from citemesh.mesh.dial import dial_targets, ingress_targets
from citemesh.mesh.placement import Placement, find_identity_wasm, split_endpoint
from citemesh.mesh.topology import load_topology


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "localhost", "", "example.org"])  # noqa: S104 - refused
def test_only_loopback_addresses(host: str) -> None:
    with pytest.raises(InvalidInput, match="host"):
        Placement(host=host)


@pytest.mark.parametrize("base", [0, -1, 65_536])
def test_a_base_that_is_no_port(base: int) -> None:
    with pytest.raises(InvalidInput, match="port_base"):
        Placement(port_base=base)


def test_an_offset_past_the_last_port() -> None:
    with pytest.raises(InvalidInput, match="past 65535"):
        Placement(port_base=65_500).port(101)


def test_a_socket_path_the_kernel_would_not_take() -> None:
    with pytest.raises(InvalidInput, match="longer than 100 bytes"):
        Placement(run_dir="深い/" * 30).app_socket("gateway")


@pytest.mark.parametrize(
    ("endpoint", "parts"),
    [
        ("http://127.0.0.1:4317", ("127.0.0.1", 4317)),
        ("collector:4317", ("collector", 4317)),
        ("http://[::1]:4317/", ("::1", 4317)),
    ],
)
def test_otlp_endpoints(endpoint: str, parts: tuple[str, int]) -> None:
    assert split_endpoint(endpoint) == parts


@pytest.mark.parametrize(
    "endpoint",
    ["", "https://collector:4317", "collector", "http://collector", "http://c:99999", "http://c:1/v1", "c:x"],
)
def test_other_otlp_endpoints_are_refused(endpoint: str) -> None:
    with pytest.raises(InvalidInput, match="otlp_endpoint"):
        Placement(otlp_endpoint=endpoint)


def test_the_artefact_is_found_when_there_is_just_one(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    with pytest.raises(PreconditionFailed, match="no identity"):
        find_identity_wasm(tmp_path)
    (tmp_path / "dist/identity-0123456789ab.wasm").touch()
    assert find_identity_wasm(tmp_path) == f"{tmp_path}/dist/identity-0123456789ab.wasm"
    (tmp_path / "dist/identity-ffff56789abc.wasm").touch()
    with pytest.raises(PreconditionFailed, match="several"):
        find_identity_wasm(tmp_path)


def test_an_app_dials_its_own_sidecar_and_only_what_it_may_call() -> None:
    gateway = "127.0.0.1:8190"
    assert dial_targets("gateway", Placement()) == {
        "tokenizer": gateway,
        "retrieval": gateway,
        "generation": gateway,
        "reranker": gateway,
    }
    assert dial_targets("retrieval", Placement()) == {"tokenizer": "127.0.0.1:8192"}
    assert dial_targets("tokenizer", Placement()) == {}


def test_without_the_mesh_it_dials_the_apps() -> None:
    targets = dial_targets("retrieval", Placement(), mesh=False, topology=load_topology())
    assert targets == {"tokenizer": "unix:.citemesh/run/tokenizer.sock"}


def test_the_doors_have_the_ports_of_the_plan() -> None:
    doors = {name: target.rsplit(":", 1)[1] for name, target in ingress_targets(Placement()).items()}
    assert doors == {
        "gateway": "8080",
        "tokenizer": "8181",
        "retrieval": "8182",
        "generation": "8183",
        "reranker": "8184",
    }
    assert ingress_targets(Placement(), mesh=False)["gateway"] == "unix:.citemesh/run/gateway.sock"

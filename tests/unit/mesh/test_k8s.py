"""What is rendered for Kubernetes: valid by its own schemas, and as careful as it says."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from citemesh.errors import InvalidInput
from citemesh.mesh.k8s.milvus import CALLER, DIRECTORY
from citemesh.mesh.render import check_committed, render_cluster
from citemesh.mesh.topology import Topology, load_topology, parse_topology
from citemesh.mesh.validate import validate

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
MESH = ROOT / "deploy/mesh.yaml"
VERSIONS = ("1.30", kubernetes_validate.latest_version())


def topology() -> Topology:
    return load_topology(MESH)


def objects() -> list[dict[str, Any]]:
    files = render_cluster(topology(), "policies/dist/identity-x.wasm")
    return [document for text in files.values() for document in yaml.safe_load_all(text)]


def named(kind: str, name: str = "") -> list[dict[str, Any]]:
    return [it for it in objects() if it["kind"] == kind and (not name or it["metadata"]["name"] == name)]


def pods() -> list[dict[str, Any]]:
    return [it["spec"]["template"] for it in objects() if "template" in it.get("spec", {})]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_is_valid(version: str) -> None:
    found = objects()
    assert len(found) >= 12
    for document in found:
        kubernetes_validate.validate(document, version, strict=True)


def test_the_schemas_find_faults() -> None:
    """So that the test above can fail."""
    broken = copy.deepcopy(named("Deployment")[0])
    broken["spec"]["template"]["spec"]["containers"][0]["imagePullPolicyy"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, VERSIONS[-1], strict=True)


def test_what_is_committed_is_what_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert check_committed() == "", "run `citemesh mesh render`"
    assert {path.name for path in (ROOT / DIRECTORY).iterdir()} == render_cluster(topology(), "x").keys()


def test_no_pod_runs_as_root_or_without_limits() -> None:
    assert len(pods()) == 3
    for template in pods():
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        for container in spec["containers"]:
            assert container["resources"]["limits"].keys() == {"cpu", "memory"}
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["securityContext"]["readOnlyRootFilesystem"] is (container["name"] != "milvus")
        assert any("readinessProbe" in container for container in spec["containers"])


def test_every_volume_that_is_mounted_is_there() -> None:
    for it in objects():
        template = it.get("spec", {}).get("template")
        if template:
            claims = [claim["metadata"]["name"] for claim in it["spec"].get("volumeClaimTemplates", [])]
            there = {volume["name"] for volume in template["spec"].get("volumes", [])} | set(claims)
            mounted = {mount["name"] for c in template["spec"]["containers"] for mount in c.get("volumeMounts", [])}
            assert mounted == there
            assert it["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]


def test_every_pod_has_a_network_policy_and_only_named_ones_call_it() -> None:
    chosen = [it["spec"]["podSelector"]["matchLabels"] for it in named("NetworkPolicy")]
    assert sorted(map(str, chosen)) == sorted(str(template["metadata"]["labels"]) for template in pods())
    for it in named("NetworkPolicy"):
        assert it["spec"]["policyTypes"] == ["Ingress", "Egress"]
        assert all(rule["from"] and rule["ports"] for rule in it["spec"]["ingress"])
    (service_name,) = named("NetworkPolicy", "citemesh-retrieval")
    assert service_name["spec"]["ingress"][0]["from"] == [{"podSelector": {"matchLabels": CALLER}}]


def test_services_find_their_pods_at_the_ports_that_they_have() -> None:
    for service in named("Service"):
        labels = service["spec"]["selector"]
        (template,) = [it for it in pods() if it["metadata"]["labels"] == labels]
        ports = {p["containerPort"] for c in template["spec"]["containers"] for p in c.get("ports", [])}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


def test_the_topologys_words_are_followed_and_no_secret_is_written() -> None:
    settings = topology().kubernetes
    assert settings is not None
    (service_name,) = named("Deployment", "citemesh-retrieval")
    assert service_name["spec"]["replicas"] == settings.replicas
    images = {container["image"] for template in pods() for container in template["spec"]["containers"]}
    assert images == {
        settings.retrieval_image,
        settings.sidecar_image,
        settings.milvus_image,
        settings.etcd_image,
    }
    assert {it["metadata"]["namespace"] for it in objects()} == {settings.namespace}
    assert not named("Secret")
    env = {one["name"]: one.get("value") for one in service_name["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert env["CITEMESH_RETRIEVAL_ENGINE"] == "milvus"


def test_the_services_settings_are_ones_that_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    from citemesh.kit.settings import load
    from services.retrieval.settings import RetrievalSettings

    (service_name,) = named("Deployment", "citemesh-retrieval")
    for one in service_name["spec"]["template"]["spec"]["containers"][0]["env"]:
        monkeypatch.setenv(one["name"], one["value"])
    settings = load(RetrievalSettings)
    assert settings.engine == "milvus"
    assert settings.milvus_uri == "http://citemesh-milvus:19530"
    assert settings.shard is None


@pytest.mark.real
def test_envoy_takes_the_sidecars_configuration(short_dir: Path) -> None:
    (config,) = named("ConfigMap", "citemesh-retrieval")
    for name in ("policy/retrieval.identity.yaml", "log/x"):
        (short_dir / name).parent.mkdir()
        (short_dir / name).touch()
    text = config["data"]["retrieval.yaml"].replace("/run/citemesh", str(short_dir))
    verdict = validate(yaml.safe_load(text))
    assert verdict.ok, verdict.message


@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        (("images", "milvus"), "milvusdb/milvus", "images.milvus"),
        (("replicas",), 0, "replicas"),
        (("sizes", "milvus", "memory"), "lots", "sizes.milvus.memory"),
        (("sizes", "retrieval", "storage"), "1Gi", "sizes.retrieval.storage"),
        (("object_store", "address"), "s3:99999", "object_store.address"),
        (("object_store", "tls"), "yes", "object_store.tls"),
        (("namespace",), "City Mesh", "namespace"),
    ],
)
def test_a_fault_is_named(place: tuple[str, ...], value: object, field: str) -> None:
    document = yaml.safe_load(MESH.read_text(encoding="utf-8"))
    node = document["kubernetes"]
    for name in place[:-1]:
        node = node[name]
    node[place[-1]] = value
    with pytest.raises(InvalidInput) as caught:
        parse_topology(yaml.safe_dump(document))
    assert caught.value.field == f"mesh.yaml.kubernetes.{field}"


def test_a_topology_without_the_section_renders_nothing() -> None:
    document = yaml.safe_load(MESH.read_text(encoding="utf-8"))
    del document["kubernetes"]
    assert render_cluster(parse_topology(yaml.safe_dump(document)), "x") == {}

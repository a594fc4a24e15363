"""Parts that several objects share: what a pod may do, what it gets, who may talk to whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from citemesh.mesh.envoy.types import Json
from citemesh.mesh.kubernetes import Kubernetes, Size

USER = 10_001
"""Who all containers run as: nobody that the images know."""
DNS = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}


def labels(name: str) -> dict[str, str]:
    """By which a thing's pods are found."""
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "citemesh"}


def thing(settings: Kubernetes, api: str, kind: str, name: str, **fields: object) -> Json:
    """An object in the namespace."""
    metadata = {"name": name, "namespace": settings.namespace, "labels": labels(name)}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def service(settings: Kubernetes, name: str, ports: Mapping[str, int], headless: bool = True) -> Json:
    """A name in DNS. Headless where callers hold their own connections; readiness doesn't hide what is starting."""
    listed = [{"name": port, "port": number, "targetPort": number} for port, number in ports.items()]
    spec: Json = {"selector": labels(name), "ports": listed}
    return thing(settings, "v1", "Service", name, spec=spec | ({"clusterIP": "None"} if headless else {}))


def pod(name: str, containers: Sequence[Json], volumes: Sequence[Json] = ()) -> Json:
    """A pod that may do nothing to its node or to the cluster."""
    spec: Json = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": list(containers),
        "terminationGracePeriodSeconds": 60,
    }
    return {"metadata": {"labels": labels(name)}, "spec": spec | ({"volumes": list(volumes)} if volumes else {})}


def container(name: str, image: str, size: Size, read_only: bool = True, **fields: object) -> Json:
    """A container with its limits: of memory what it gets, of processor what it is promised, and no more memory."""
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {
            "requests": {"cpu": size.cpu, "memory": size.memory},
            "limits": {"memory": size.memory, "cpu": size.cpu},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": read_only,
            "capabilities": {"drop": ["ALL"]},
        },
        **fields,
    }


def stateful(settings: Kubernetes, name: str, template: Json, storage: str) -> Json:
    """One pod that keeps its volume, `data`."""
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}},
    }
    spec = {
        "serviceName": name,
        "replicas": 1,
        "selector": {"matchLabels": labels(name)},
        "template": template,
        "volumeClaimTemplates": [claim],
    }
    return thing(settings, "apps/v1", "StatefulSet", name, spec=spec)


def http_probe(path: str, port: int, failures: int) -> Json:
    """Asks over HTTP every ten seconds."""
    return {
        "httpGet": {"path": path, "port": port},
        "periodSeconds": 10,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def policy(settings: Kubernetes, name: str, ingress: Sequence[Json], egress: Sequence[Json]) -> Json:
    """What a thing's pods may be called by and may call; everything else is cut off."""
    spec = {
        "podSelector": {"matchLabels": labels(name)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": list(ingress),
        "egress": [DNS, *egress],
    }
    return thing(settings, "networking.k8s.io/v1", "NetworkPolicy", name, spec=spec)


def pods_at(matching: Mapping[str, str], port: int, side: str) -> Json:
    """A rule: pods with these labels, at a port. side: `from` or `to`."""
    return {side: [{"podSelector": {"matchLabels": dict(matching)}}], "ports": [{"port": port, "protocol": "TCP"}]}

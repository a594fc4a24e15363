"""Retrieval on Milvus: the service with its sidecar, Milvus in one pod, etcd for what Milvus must not forget.

The object store, which holds the rows, is the operator's own: any that speaks S3. Milvus grows into a cluster of
its own components by its operator or chart; the service then needs another address and nothing else.
"""

from __future__ import annotations

from dataclasses import replace

from citemesh.errors import InvalidInput
from citemesh.mesh.envoy.bootstrap import bootstrap
from citemesh.mesh.envoy.types import Json
from citemesh.mesh.k8s import parts
from citemesh.mesh.kubernetes import Kubernetes, Size
from citemesh.mesh.placement import Placement
from citemesh.mesh.text import digest, to_yaml
from citemesh.mesh.topology import Service, Topology

DIRECTORY = "deploy/k8s/milvus"
MILVUS, ETCD, RETRIEVAL = "citemesh-milvus", "citemesh-milvus-etcd", "citemesh-retrieval"
CALLER = {"citemesh.dev/calls-retrieval": "true"}
"""Label of the pods that may call the service, in the same namespace."""
_GRPC, _HEALTH, _ETCD = 19_530, 9_091, 2_379
_RUN = "/run/citemesh"
_SIDECAR = Size("500m", "256Mi")
_SECRETS = ("citemesh-identity", "citemesh-milvus-token")
"""Made by the operator: the policy's document, and Milvus's user and password."""


def milvus_files(topology: Topology, wasm: str) -> dict[str, str]:
    """File name to text; empty where the topology says nothing of Kubernetes. wasm: path in the image."""
    settings = topology.kubernetes
    if settings is None:
        return {}
    service_name = _alone(topology)
    files = {
        "etcd.yaml": _etcd(settings),
        "milvus.yaml": _milvus(settings),
        "retrieval.yaml": _retrieval(settings, service_name, topology, wasm),
        "network.yaml": _network(settings, service_name),
    }
    return {name: "---\n".join(map(to_yaml, objects)) for name, objects in files.items()}


def _alone(topology: Topology) -> Service:
    """The service as one of many alike: Milvus keeps the collections, so nothing is shared out."""
    if "retrieval" not in topology.service_names():
        raise InvalidInput("kubernetes", "there is no service named retrieval", "leave the section out, or add it")
    return replace(topology.service("retrieval"), calls=(), replicas=1, shard_by="")


def _etcd(settings: Kubernetes) -> list[Json]:
    command = [
        "etcd",
        "--name=only",
        "--data-dir=/data/etcd",
        f"--listen-client-urls=http://0.0.0.0:{_ETCD}",
        f"--advertise-client-urls=http://{ETCD}:{_ETCD}",
        "--auto-compaction-mode=revision",
        "--auto-compaction-retention=1000",
        "--quota-backend-bytes=4294967296",
    ]
    container = parts.container(
        "etcd",
        settings.etcd_image,
        settings.etcd,
        command=command,
        ports=[{"name": "client", "containerPort": _ETCD}],
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
        readinessProbe=parts.http_probe("/health", _ETCD, 3),
        livenessProbe=parts.http_probe("/health", _ETCD, 6),
    )
    pod = parts.pod(ETCD, [container])
    return [
        parts.service(settings, ETCD, {"client": _ETCD}),
        parts.stateful(settings, ETCD, pod, settings.etcd.storage),
    ]


def _milvus(settings: Kubernetes) -> list[Json]:
    store = settings.object_store
    # Beside its own defaults; what is secret comes from Secrets.
    user = {
        "common": {"security": {"authorizationEnabled": True}},
        "etcd": {"endpoints": [f"{ETCD}:{_ETCD}"], "rootPath": "citemesh"},
        "minio": {
            "address": store.address.rsplit(":", 1)[0],
            "port": store.port,
            "bucketName": store.bucket,
            "useSSL": store.tls,
            "rootPath": "citemesh",
        },
    }
    text = to_yaml(user)
    keys = {"MINIO_ACCESS_KEY_ID": "access-key", "MINIO_SECRET_ACCESS_KEY": "secret-key"}
    container = parts.container(
        "milvus",
        settings.milvus_image,
        settings.milvus,
        read_only=False,  # it writes beside its program
        command=["milvus", "run", "standalone"],
        env=[_secret(name, store.secret, key) for name, key in keys.items()],
        ports=[{"name": "grpc", "containerPort": _GRPC}, {"name": "health", "containerPort": _HEALTH}],
        volumeMounts=[
            {"name": "data", "mountPath": "/var/lib/milvus"},
            {"name": "config", "mountPath": "/milvus/configs/user.yaml", "subPath": "user.yaml", "readOnly": True},
        ],
        startupProbe=parts.http_probe("/healthz", _HEALTH, 60),
        readinessProbe=parts.http_probe("/healthz", _HEALTH, 3),
        livenessProbe=parts.http_probe("/healthz", _HEALTH, 6),
    )
    pod = parts.pod(MILVUS, [container], [{"name": "config", "configMap": {"name": MILVUS}}])
    pod["metadata"]["annotations"] = {"citemesh.dev/config": digest(text)}
    return [
        parts.thing(settings, "v1", "ConfigMap", MILVUS, data={"user.yaml": text}),
        parts.service(settings, MILVUS, {"grpc": _GRPC}),
        parts.stateful(settings, MILVUS, pod, settings.milvus.storage),
    ]


def _retrieval(settings: Kubernetes, service_name: Service, topology: Topology, wasm: str) -> list[Json]:
    place = Placement(_RUN, f"{_RUN}/log", identity_wasm=wasm, ingress_host="0.0.0.0")  # noqa: S104 - a pod's own
    port = place.port(service_name.ports.ingress)
    config = to_yaml(bootstrap(service_name, topology, place))
    pod = parts.pod(RETRIEVAL, [_app(settings, place), _sidecar(settings, place, port)], _volumes())
    pod["metadata"]["annotations"] = {"citemesh.dev/config": digest(config)}
    spec = {
        "replicas": settings.replicas,
        "selector": {"matchLabels": parts.labels(RETRIEVAL)},
        "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "template": pod,
    }
    return [
        parts.thing(settings, "v1", "ConfigMap", RETRIEVAL, data={"retrieval.yaml": config}),
        parts.service(settings, RETRIEVAL, {"grpc": port}),
        parts.thing(settings, "apps/v1", "Deployment", RETRIEVAL, spec=spec),
        parts.thing(
            settings,
            "policy/v1",
            "PodDisruptionBudget",
            RETRIEVAL,
            spec={"maxUnavailable": 1, "selector": {"matchLabels": parts.labels(RETRIEVAL)}},
        ),
    ]


def _app(settings: Kubernetes, place: Placement) -> Json:
    env = {
        "CITEMESH_STATE_DIR": "/var/lib/citemesh",
        "CITEMESH_MODELS_DIR": "/var/lib/citemesh/models",
        "CITEMESH_RETRIEVAL_LISTEN": f"unix:{place.app_socket('retrieval')}",
        "CITEMESH_RETRIEVAL_ENGINE": "milvus",
        "CITEMESH_RETRIEVAL_MILVUS_URI": f"http://{MILVUS}:{_GRPC}",
        "CITEMESH_RETRIEVAL_MILVUS_TOKEN_FILE": "/run/secrets/milvus/token",
        "HOME": "/tmp",  # noqa: S108 - the container's own
        "PYTHONUNBUFFERED": "1",
    }
    return parts.container(
        "retrieval",
        settings.retrieval_image,
        settings.retrieval,
        command=["python", "-P", "-m", "services.retrieval.main"],
        env=[{"name": name, "value": value} for name, value in env.items()],
        volumeMounts=[
            {"name": "run", "mountPath": _RUN},
            {"name": "state", "mountPath": "/var/lib/citemesh"},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the container's own
            {"name": "milvus-token", "mountPath": "/run/secrets/milvus", "readOnly": True},
        ],
    )


def _sidecar(settings: Kubernetes, place: Placement, port: int) -> Json:
    command = ["envoy", "-c", "/etc/citemesh/retrieval.yaml", "--concurrency", "1", "--disable-hot-restart"]
    probe = {"grpc": {"port": port}, "periodSeconds": 10, "timeoutSeconds": 5}
    return parts.container(
        "sidecar",
        settings.sidecar_image,
        _SIDECAR,
        command=[*command, "--log-level", "warning"],
        ports=[{"name": "grpc", "containerPort": port}],
        volumeMounts=[
            {"name": "run", "mountPath": _RUN},
            {"name": "log", "mountPath": place.log_dir},
            {"name": "config", "mountPath": "/etc/citemesh", "readOnly": True},
            {"name": "identity", "mountPath": f"{_RUN}/policy", "readOnly": True},
        ],
        # The app's own health, through the ingress: a first start prepares the embedding model.
        startupProbe=probe | {"failureThreshold": 60},
        readinessProbe=probe | {"failureThreshold": 3},
    )


def _volumes() -> list[Json]:
    empty = {"run": "64Mi", "log": "256Mi", "state": "4Gi", "tmp": "4Gi"}
    identity, token = _SECRETS
    return [
        *({"name": name, "emptyDir": {"sizeLimit": size}} for name, size in empty.items()),
        {"name": "config", "configMap": {"name": RETRIEVAL}},
        {"name": "identity", "secret": {"secretName": identity, "defaultMode": 0o440}},
        {"name": "milvus-token", "secret": {"secretName": token, "defaultMode": 0o440}},
    ]


def _network(settings: Kubernetes, service_name: Service) -> list[Json]:
    port = Placement().port(service_name.ports.ingress)
    milvus, etcd, retrieval = (parts.labels(name) for name in (MILVUS, ETCD, RETRIEVAL))
    store = {"ports": [{"port": settings.object_store.port, "protocol": "TCP"}]}
    return [
        parts.policy(
            settings,
            RETRIEVAL,
            [parts.pods_at(CALLER, port, "from")],
            [parts.pods_at(milvus, _GRPC, "to")],
        ),
        parts.policy(
            settings,
            MILVUS,
            [parts.pods_at(retrieval, _GRPC, "from")],
            [parts.pods_at(etcd, _ETCD, "to"), store],
        ),
        parts.policy(settings, ETCD, [parts.pods_at(milvus, _ETCD, "from")], []),
    ]


def _secret(name: str, secret: str, key: str) -> Json:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}

"""What the topology says of Kubernetes: images, sizes and where the object store is."""

from __future__ import annotations

from dataclasses import dataclass

from citemesh.mesh.reader import Node

_IMAGE = r"[a-z0-9][a-z0-9._/-]*(:[0-9]+/[a-z0-9._/-]+)?:[A-Za-z0-9._-]+"
_NAME = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_QUANTITY = r"[1-9][0-9]*(m|Mi|Gi|Ti)?"
_ADDRESS = r"[A-Za-z0-9.-]+:[0-9]{1,5}"
MIN_PORT, MAX_PORT = 1, 65_535


@dataclass(frozen=True, slots=True)
class Size:
    """What one pod gets; storage is empty where it keeps nothing."""

    cpu: str
    memory: str
    storage: str = ""


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """An S3-compatible store; `secret` holds `access-key` and `secret-key`."""

    address: str
    bucket: str
    tls: bool
    secret: str

    @property
    def port(self) -> int:
        """Its port."""
        return int(self.address.rsplit(":", 1)[1])


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """Retrieval on Milvus in one namespace."""

    namespace: str
    retrieval_image: str
    sidecar_image: str
    milvus_image: str
    etcd_image: str
    replicas: int
    """Of the retrieval service; all are alike."""
    retrieval: Size
    milvus: Size
    etcd: Size
    object_store: ObjectStore


def read_kubernetes(node: Node) -> Kubernetes:
    """Reads the section. Raises InvalidInput, which names the place."""
    fields = node.fields(["namespace", "images", "replicas", "sizes", "object_store"])
    images = fields["images"].fields(["retrieval", "sidecar", "milvus", "etcd"])
    sizes = fields["sizes"].fields(["retrieval", "milvus", "etcd"])
    return Kubernetes(
        namespace=fields["namespace"].text(_NAME, "a name of Kubernetes"),
        retrieval_image=_image(images["retrieval"]),
        sidecar_image=_image(images["sidecar"]),
        milvus_image=_image(images["milvus"]),
        etcd_image=_image(images["etcd"]),
        replicas=fields["replicas"].integer(1, 1000),
        retrieval=_size(sizes["retrieval"], stores=False),
        milvus=_size(sizes["milvus"], stores=True),
        etcd=_size(sizes["etcd"], stores=True),
        object_store=_object_store(fields["object_store"]),
    )


def _image(node: Node) -> str:
    return node.text(_IMAGE, "an image with its tag, such as citemesh-retrieval:0.1.0")


def _size(node: Node, stores: bool) -> Size:
    fields = node.fields(["cpu", "memory", *(["storage"] if stores else [])])
    values = {name: field.text(_QUANTITY, "a quantity such as 2, 500m or 8Gi") for name, field in fields.items()}
    return Size(**values)


def _object_store(node: Node) -> ObjectStore:
    fields = node.fields(["address", "bucket", "tls", "secret"])
    store = ObjectStore(
        address=fields["address"].text(_ADDRESS, "host:port"),
        bucket=fields["bucket"].text(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "a bucket's name"),
        tls=fields["tls"].boolean(),
        secret=fields["secret"].text(_NAME, "the name of a Secret"),
    )
    if not MIN_PORT <= store.port <= MAX_PORT:
        raise fields["address"].refuse(f"{store.port} is no port", "write host:port")
    return store

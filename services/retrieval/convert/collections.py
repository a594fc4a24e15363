"""Collections and copies of them as messages, and names of collections."""

import re

from citemesh.api.retrieval.v1 import collection_service_pb2 as pb
from citemesh.contract.bounds import DEFAULT_COLLECTION
from citemesh.errors import InvalidInput
from citemesh.kit.timestamps import timestamp
from services.retrieval.types.collection import CollectionInfo, StoreCopy

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def name_of(name: str) -> str:
    """A collection's name; the default's for an empty one."""
    return name or DEFAULT_COLLECTION


def new_name(name: str) -> str:
    """A name that a collection may have."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "name", f"{name[:80]!r} is no name", 'use 1 to 64 of a-z, 0-9, "-" and "_", a letter or digit first'
        )
    return name


def collection(info: CollectionInfo) -> pb.Collection:
    """A collection."""
    return pb.Collection(
        name=info.name,
        embedding_model=info.embedding.model,
        dimension=info.embedding.dimension,
        documents=info.documents,
        chunks=info.chunks,
        created_at=timestamp(info.created_at),
        unreadable_chunks=info.unreadable_chunks,
        index=info.index,
    )


def snapshot(copy: StoreCopy) -> pb.SnapshotResponse:
    """A copy of the store."""
    return pb.SnapshotResponse(
        directory=str(copy.directory),
        sequence_number=copy.sequence,
        documents=copy.documents,
        chunks=copy.chunks,
    )

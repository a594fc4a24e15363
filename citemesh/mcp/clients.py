"""The clients of a mesh that an assistant needs."""

from dataclasses import dataclass

from citemesh.client.collections import CollectionClient
from citemesh.client.documents import DocumentClient
from citemesh.client.mesh import Mesh
from citemesh.client.query import QueryClient


@dataclass(frozen=True, slots=True)
class MeshClients:
    """The gateway, which answers, and retrieval, which keeps the documents."""

    gateway: Mesh
    retrieval: Mesh

    @property
    def query(self) -> QueryClient:
        """The client that answers and searches."""
        return self.gateway.query

    @property
    def documents(self) -> DocumentClient:
        """The client that reads documents."""
        return self.retrieval.documents

    @property
    def collections(self) -> CollectionClient:
        """The client that lists collections."""
        return self.retrieval.collections

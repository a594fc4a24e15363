"""Clients of the services. Channels are opened here alone; every call carries deadline, priority, identity, trace."""

from citemesh.client.mesh import Mesh

__all__ = ["Mesh"]

"""The only place where channels are opened: every call carries deadline, priority, identity and trace."""

from citemesh.client.mesh import Mesh

__all__ = ["Mesh"]

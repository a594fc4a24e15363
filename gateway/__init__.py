"""The gateway: the mesh's public door, which turns a question into a cited answer."""

"""The gateway: the mesh's public service, which turns a question into a cited answer."""

"""CiteMesh for assistants: a server of the Model Context Protocol over the mesh's clients."""

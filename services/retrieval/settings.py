"""Settings of the retrieval room."""

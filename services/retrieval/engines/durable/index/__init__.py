"""The FAISS index of each collection. It is derived from the store and can be deleted at any time."""

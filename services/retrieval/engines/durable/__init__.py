"""The engine on SQLite and FAISS: what it acknowledged survives a crash."""

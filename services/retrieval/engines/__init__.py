"""The engines: `fake` in memory, `durable` on SQLite and FAISS."""

"""The store: one SQLite database that is the truth about collections, documents, chunks, vectors and words."""

"""Takes documents in, keeps them, and finds the passages that fit a question."""

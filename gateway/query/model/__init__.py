"""The language model: its choice, its grammar, and answers of a given shape."""

"""Bounds that more than one service or client keeps: whoever sends checks them before, whoever receives refuses."""

DEFAULT_COLLECTION = "default"
"""The collection that an empty name stands for."""

LONGEST_QUERY = 32_768
"""Characters of a question or a query."""
MOST_RESULTS = 1000
"""Passages that retrieval answers to one search."""
MOST_SOURCES = 100
"""Passages that the gateway answers to one search."""
DEFAULT_RESULTS = 10
MOST_SEARCHES = 256
"""Searches in one call, and texts to embed in one call."""
MOST_VECTOR_BYTES = 8 << 20
"""Token vectors in one message: half of what a message may be by default."""
MOST_PAGE = 1000
DEFAULT_PAGE = 100
"""Entries of one page of a list."""
MOST_DELETED = 1000
"""Documents that one call deletes."""
MOST_DOCUMENT_MIB = 64
"""Largest document that retrieval takes unless it is set otherwise."""
PART_BYTES = 256 * 1024
"""Bytes of a document that a client sends in one message."""
MOST_PART_BYTES = 1024 * 1024
"""Bytes of a document that retrieval takes in one message."""

LONGEST_CLAIM = 8192
"""Characters of a sentence whose support is asked for."""
MOST_SUPPORT = 16
"""Passages that are named as support of one sentence."""

MOST_ANSWER_TOKENS = 4096
MOST_HOPS = 5
MOST_RELATED_QUESTIONS = 10

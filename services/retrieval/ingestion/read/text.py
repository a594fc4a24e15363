"""Plain text: paragraphs."""

from services.retrieval.ingestion.read.parsed import Parsed, paragraphs


def parse(text: str) -> Parsed:
    """Parses plain text. It says nothing of itself."""
    return Parsed(text=text, blocks=tuple(paragraphs(text)))

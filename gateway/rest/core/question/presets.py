"""The names that stand for ways to answer where an API wants a model."""

from collections.abc import Mapping
from dataclasses import dataclass

from citemesh.errors import NotFound


@dataclass(frozen=True, slots=True)
class Preset:
    """How a model's name answers; see Question."""

    mode: str = ""
    length: str = ""
    max_hops: int = 0


OWN: Mapping[str, Preset] = {"citemesh": Preset(), "citemesh-extractive": Preset(mode="extractive")}
SONAR: Mapping[str, Preset] = {
    "sonar": Preset(),
    "sonar-pro": Preset(length="detailed"),
    "sonar-reasoning": Preset(max_hops=3),
    "sonar-reasoning-pro": Preset(length="detailed", max_hops=3),
    "sonar-deep-research": Preset(length="detailed", max_hops=5),
}
BOTH: Mapping[str, Preset] = {**OWN, **SONAR}


class UnknownModel(NotFound):
    """There is no model of a name."""

    reason = "MODEL_NOT_FOUND"


def preset(model: str, presets: Mapping[str, Preset]) -> Preset:
    """What a name stands for. Raises UnknownModel."""
    if model not in presets:
        raise UnknownModel("model", model[:80], f"use {' or '.join(presets)}")
    return presets[model]

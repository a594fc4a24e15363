"""The settings of all services."""

from __future__ import annotations

from citemesh.kit.settings import ServiceSettings, load
from gateway.settings import GatewaySettings
from services.generation.settings import GenerationSettings
from services.reranker.settings import RerankerSettings
from services.retrieval.settings import RetrievalSettings
from services.tokenizer.settings import TokenizerSettings

SETTINGS: dict[str, type[ServiceSettings]] = {
    "tokenizer": TokenizerSettings,
    "retrieval": RetrievalSettings,
    "generation": GenerationSettings,
    "reranker": RerankerSettings,
    "gateway": GatewaySettings,
}
"""By service, in the order of the documentation."""


def model_references() -> dict[str, list[str]]:
    """The models that the services are set to load, and by which services.

    Raises:
        InvalidInput: a service's setting is out of bounds or unknown.
    """
    services: dict[str, list[str]] = {}
    for service, settings in SETTINGS.items():
        for reference in _references(load(settings)):
            services.setdefault(reference, []).append(service)
    return services


def _references(settings: ServiceSettings) -> list[str]:
    if getattr(settings, "engine", "") == "fake":
        return []
    references: list[str] = []
    for name in type(settings).model_fields:
        if name.split("_")[-1] in ("model", "models"):
            value = getattr(settings, name)
            references += [value] if isinstance(value, str) else [str(item) for item in value or ()]
    return [reference for reference in references if reference]

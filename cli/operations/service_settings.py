"""The settings of all services."""

from __future__ import annotations

from citemesh.kit.settings import ServiceSettings, load


def settings_by_service() -> dict[str, type[ServiceSettings]]:
    """Each service's settings, in the order of the documentation. Imported here: most commands never need them."""
    from gateway.settings import GatewaySettings
    from services.generation.settings import GenerationSettings
    from services.reranker.settings import RerankerSettings
    from services.retrieval.settings import RetrievalSettings
    from services.tokenizer.settings import TokenizerSettings

    return {
        "tokenizer": TokenizerSettings,
        "retrieval": RetrievalSettings,
        "generation": GenerationSettings,
        "reranker": RerankerSettings,
        "gateway": GatewaySettings,
    }


def model_references() -> dict[str, list[str]]:
    """The models that the services are set to load, and by which services.

    Raises:
        InvalidInput: a service's setting is out of bounds or unknown.
    """
    services: dict[str, list[str]] = {}
    for service, settings in settings_by_service().items():
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

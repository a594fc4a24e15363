"""The identity policy's documents, as the sidecars read them (ECDS), and where they lie.

One document serves every service: the filter, its code's path and its configuration. Its version is the digest
of its content, so that the same policy is the same text and Envoy has nothing to reload.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from citemesh.errors import InvalidInput, PreconditionFailed
from citemesh.mesh.envoy.filters import IDENTITY
from citemesh.mesh.envoy.types import Json, tcp, typed
from citemesh.mesh.placement import Placement
from citemesh.mesh.text import digest, replace_file, to_yaml
from citemesh.mesh.validate import Verdict, validate

SECRET_MODE = 0o600
"""Documents hold salted hashes of keys: only the owner reads them."""


def identity_filter(placement: Placement, config: Mapping[str, Any]) -> Json:
    """Envoy's WASM filter for the identity policy.

    `FAIL_RELOAD` fails closed: while the policy's VM is broken every call is refused, and a new VM is tried
    with back-off.

    Raises:
        PreconditionFailed: the placement names no artefact.
        InvalidInput: the configuration is not JSON.
    """
    if not placement.identity_wasm:
        remedy = "give Placement(identity_wasm=...), as find_identity_wasm() finds it"
        raise PreconditionFailed("IDENTITY_POLICY_MISSING", "the placement names no identity policy file", remedy)
    plugin = {
        "name": IDENTITY,
        "root_id": IDENTITY,
        "vm_config": {
            "vm_id": IDENTITY,
            "runtime": "envoy.wasm.runtime.v8",
            "code": {"local": {"filename": placement.identity_wasm}},
        },
        "configuration": {"@type": "type.googleapis.com/google.protobuf.StringValue", "value": _json(config)},
        "failure_policy": "FAIL_RELOAD",
        "reload_config": {"backoff": {"base_interval": "1s"}},
    }
    return typed("extensions.filters.http.wasm.v3.Wasm", config=plugin)


def ecds_document(name: str, typed_config: Json) -> str:
    """The file a sidecar watches for the policy `name`."""
    resource = {
        "@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
        "name": f"citemesh.{name}",
        "typed_config": typed_config,
    }
    return to_yaml({"resources": [resource], "version_info": digest(to_yaml(resource))})


def document_version(text: str) -> str:
    """The version a document carries; empty when it is none of ours."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return ""
    return str(document.get("version_info", "")) if isinstance(document, dict) else ""


def judge_identity(placement: Placement, config: Mapping[str, Any]) -> Verdict:
    """Envoy's verdict on a configuration: it loads the code and lets the policy read it.

    Raises:
        PreconditionFailed: no Envoy, or no policy file.
        DeadlineExceeded: Envoy did not come to an end.
    """
    if not Path(placement.identity_wasm).is_file():
        fault = f"{placement.identity_wasm or 'no file'} is not there"
        raise PreconditionFailed(
            "IDENTITY_POLICY_MISSING", fault, "run `make policies`, or start in the project's directory"
        )
    return validate(_probe(identity_filter(placement, config)))


def install_identity(placement: Placement, services: Sequence[str], config: Mapping[str, Any]) -> str:
    """Puts the policy in place before the sidecars start (a watched file that is missing stops Envoy); its
    version.

    Raises:
        InvalidInput: the policy refuses the configuration; `fault` is what it said.
        PreconditionFailed, DeadlineExceeded: as `judge_identity`.
        OSError: the directory can't be written.
    """
    verdict = judge_identity(placement, config)
    if not verdict.ok:
        raise InvalidInput("identity", verdict.message, "correct the policy's configuration")
    text = ecds_document("identity", identity_filter(placement, config))
    for service in services:
        replace_file(Path(placement.policy_file(service, "identity")), text, SECRET_MODE)
    return document_version(text)


def _json(config: Mapping[str, Any]) -> str:
    try:
        return json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput("identity", f"not JSON: {error}", "use text, numbers, lists and mappings only") from error


def _probe(wasm: Json) -> Json:
    """The smallest bootstrap that loads the filter."""
    router = {
        "name": "envoy.filters.http.router",
        "typed_config": typed("extensions.filters.http.router.v3.Router"),
    }
    manager = typed(
        "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        stat_prefix="probe",
        route_config={"name": "probe", "virtual_hosts": []},
        http_filters=[{"name": IDENTITY, "typed_config": wasm}, router],
    )
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    listener = {"name": "probe", "address": tcp("127.0.0.1", 0), "filter_chains": [chain]}
    return {"static_resources": {"listeners": [listener]}}

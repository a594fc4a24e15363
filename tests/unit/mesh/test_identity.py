"""Keys, and configurations that are told apart from faulty ones with field, fault and remedy."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.errors import InvalidInput
from citemesh.mesh.identity import (
    MAX_BYTES,
    IdentityConfig,
    KeyRecord,
    dump,
    identity_config,
    load,
    new_key,
    record_of,
)
from citemesh.mesh.identity_rules import check_block, check_name, check_pattern, is_plain_path

POLICY_TESTS = Path(__file__).resolve().parents[2] / "policy"
TEXT, RECORD = new_key("user:ann", "acme", ["*"])


def document(**changes: Any) -> dict[str, Any]:
    return identity_config([RECORD], ["127.0.0.0/8"], ["GET /healthz"]) | changes


def fault(value: Any) -> InvalidInput:
    text = value if isinstance(value, str | bytes) else json.dumps(value)
    with pytest.raises(InvalidInput) as caught:
        load(text)
    assert caught.value.fault and caught.value.remedy
    return caught.value


def key_fault(**changes: Any) -> str:
    return fault(document(keys=[document()["keys"][0] | changes])).field


def test_a_key_is_kept_as_a_salted_digest() -> None:
    assert re.fullmatch(r"cm_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", TEXT)
    assert RECORD.id == TEXT[3:11]
    digest = hashlib.sha256(bytes.fromhex(RECORD.salt) + TEXT.encode()).hexdigest()
    assert digest == RECORD.sha256
    assert TEXT[12:] not in repr(RECORD)


def test_keys_differ_and_so_do_salts() -> None:
    texts = {new_key("a", "b", ["*"])[0] for _ in range(50)}
    assert len(texts) == 50
    assert record_of(TEXT, "a", "b", ["*"]).salt != RECORD.salt


def test_the_policy_takes_a_key_made_here() -> None:
    """Cross check with the committed file, where the WASM host is installed."""
    pytest.importorskip("wasmtime")
    sys.path.insert(0, str(POLICY_TESTS))
    try:
        policy_host = importlib.import_module("policy_host")
    finally:
        sys.path.remove(str(POLICY_TESTS))
    host = policy_host.PolicyHost(policy_host.Policy.load(policy_host.artefact("identity")))
    root = host.configure(dump(IdentityConfig((RECORD,), ("127.0.0.0/8",))).encode())
    assert root is not None, host.log
    call = [(b":method", b"GET"), (b":path", b"/v1/models"), (b"x-api-key", TEXT.encode())]
    outcome = host.request(root, call, b"127.0.0.1:1")
    assert outcome.passed and outcome.value("x-citemesh-subject") == "user:ann"


@pytest.mark.parametrize(
    ("subject", "tenant", "methods", "field"),
    [
        ("", "acme", ["*"], "key.subject"),
        ("用户", "acme", ["*"], "key.subject"),
        ("a", "a b", ["*"], "key.tenant"),
        ("a", "b", [], "key.methods"),
        ("a", "b", ["*", "GET v1"], "key.methods[1]"),
        ("a", "b", ["*"] * 65, "key.methods"),
    ],
)
def test_new_keys_are_checked(subject: str, tenant: str, methods: list[str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        new_key(subject, tenant, methods)
    assert caught.value.field == field


def test_what_is_dumped_is_loaded() -> None:
    delegate = new_key("service:gateway", "mesh", ["/p.S/*", "GET /v1/*"], delegate=True)[1]
    config = IdentityConfig((RECORD, delegate), ("127.0.0.0/8", "::1/128"), ("/grpc.health.v1.Health/*",))
    assert load(dump(config)) == config
    assert dump(load(dump(config))) == dump(config)


def test_the_form_is_the_policys() -> None:
    assert document() == {
        "version": 1,
        "keys": [dataclasses.asdict(RECORD) | {"methods": ["*"], "collections": ["*"]}],
        "allow": ["127.0.0.0/8"],
        "public": ["GET /healthz"],
    }
    assert list(KeyRecord.__dataclass_fields__) == [
        "id",
        "salt",
        "sha256",
        "subject",
        "tenant",
        "methods",
        "delegate",
        "collections",
    ]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"version": 2}, "version"),
        ({"version": True}, "version"),
        ({"keys": {}}, "keys"),
        ({"keys": ["x"]}, "keys[0]"),
        ({"allow": []}, "allow"),
        ({"allow": ["10.0.0.1/8"]}, "allow[0]"),
        ({"allow": ["127.0.0.0/8", "host"]}, "allow[1]"),
        ({"allow": "127.0.0.0/8"}, "allow"),
        ({"allow": ["127.0.0.0/8"] * 1_025}, "allow"),
        ({"public": ["/healthz"]}, "public[0]"),
        ({"publik": []}, "configuration.publik"),
    ],
)
def test_the_field_is_named(changes: dict[str, Any], field: str) -> None:
    assert fault(document(**changes)).field == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"id": "ABCDEF01"}, "id"),
        ({"salt": "00"}, "salt"),
        ({"sha256": "zz"}, "sha256"),
        ({"subject": ""}, "subject"),
        ({"tenant": 5}, "tenant"),
        ({"methods": []}, "methods"),
        ({"methods": [1]}, "methods[0]"),
        ({"delegate": "yes"}, "delegate"),
        ({"note": "x"}, "note"),
    ],
)
def test_the_field_of_the_key_is_named(changes: dict[str, Any], field: str) -> None:
    assert key_fault(**changes) == f"keys[0].{field}"


def test_a_missing_field_is_named() -> None:
    whole = document()
    del whole["public"]
    assert fault(whole).field == "configuration.public"


def test_an_id_twice() -> None:
    with pytest.raises(InvalidInput, match=f"the id {RECORD.id} is there twice"):
        identity_config([RECORD, RECORD], ["127.0.0.0/8"], [])


@pytest.mark.parametrize("text", [b"", b"\xff", b"{", "[" * 100_000, '{"a": 1, "a": 1}', "NaN", "\ud800", "1" * 5_000])
def test_what_is_no_json(text: str | bytes) -> None:
    assert fault(text).field == "configuration"


def test_a_configuration_too_large() -> None:
    assert fault(" " * (MAX_BYTES + 1)).fault == "larger than 1 MiB"
    keys = [dataclasses.replace(RECORD, id=f"{n:08x}") for n in range(6_000)]
    with pytest.raises(InvalidInput, match="larger than 1 MiB"):
        identity_config(keys, ["127.0.0.0/8"], [])


def test_no_secret_is_told() -> None:
    error = fault(document(keys=[document()["keys"][0] | {"salt": TEXT, "sha256": TEXT}]))
    assert TEXT[12:] not in str(error)


@given(st.text(max_size=60))
def test_checks_raise_nothing_else(text: str) -> None:
    for check in (check_name, check_block, check_pattern):
        with contextlib.suppress(InvalidInput):
            check("field", text)
    is_plain_path(text)


@given(st.binary(max_size=300))
def test_loading_raises_nothing_else(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        load(data)

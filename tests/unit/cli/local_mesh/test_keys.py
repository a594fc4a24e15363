"""The keyring of a state directory."""

import json
import stat
import threading
from pathlib import Path

import pytest

from citemesh.errors import InvalidInput, NotFound, PreconditionFailed
from citemesh.mesh import identity
from citemesh.mesh.topology import load_topology
from cli.local_mesh.keys import Keyring, user_methods

TOPOLOGY = load_topology()


def test_first_start_makes_a_key_for_the_user_and_each_calling_service(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path)
    config = keyring.ensure(TOPOLOGY)
    assert {key.subject for key in config.keys} == {"user:default", "service:gateway", "service:retrieval"}
    assert identity.load(keyring.config_file.read_bytes()) == config
    assert keyring.default_key().startswith("cm_")
    assert keyring.default_key() not in keyring.config_file.read_text()


def test_only_the_owner_reads_them(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path)
    keyring.ensure(TOPOLOGY)
    for path in keyring.directory.glob("*.[kj]*"):
        if path.suffix != ".lock":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(keyring.directory.stat().st_mode) == 0o700


def test_later_starts_keep_them(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path)
    first, key = keyring.ensure(TOPOLOGY), keyring.default_key()
    assert keyring.ensure(TOPOLOGY) == first
    assert keyring.default_key() == key


def test_a_lost_or_changed_text_makes_a_new_key_and_drops_the_old(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path)
    first = keyring.ensure(TOPOLOGY)
    keyring.default_file.unlink()
    keyring.service_key_file("gateway").write_text("cm_00000000_nonsense")
    second = keyring.ensure(TOPOLOGY)
    changed = {key.subject for key in second.keys} - {key.subject for key in second.keys if key in first.keys}
    assert changed == {"user:default", "service:gateway"}
    assert len(second.keys) == len(first.keys)


def test_services_may_call_what_the_topology_says_and_no_more(tmp_path: Path) -> None:
    config = Keyring(tmp_path).ensure(TOPOLOGY)
    methods = {key.subject: key.methods for key in config.keys}
    assert methods["service:retrieval"] == ("/citemesh.api.tokenizer.v1.TokenizerService/*",)
    assert "/citemesh.api.generation.v1.GenerationService/*" in methods["service:gateway"]
    assert not any("generation" in method for method in methods["user:default"])
    assert {key.subject for key in config.keys if key.delegate} == {"service:gateway", "service:retrieval"}


def test_what_a_user_may_call_is_what_the_policy_takes() -> None:
    _, record = identity.new_key("user:x", "default", user_methods(TOPOLOGY))
    assert "POST /v1/*" in record.methods


def test_add_and_remove(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path)
    keyring.ensure(TOPOLOGY)
    text, config = keyring.add("user:ann", "acme", ["*"])
    key_id = text.split("_")[1]
    assert [key.tenant for key in config.keys if key.id == key_id] == ["acme"]
    assert key_id not in [key.id for key in keyring.remove(key_id).keys]
    with pytest.raises(NotFound):
        keyring.remove(key_id)


def test_a_services_key_is_not_removed(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path)
    config = keyring.ensure(TOPOLOGY)
    service = next(key for key in config.keys if key.delegate)
    with pytest.raises(InvalidInput, match="service:"):
        keyring.remove(service.id)


def test_keys_added_at_once_are_all_kept(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path)
    threads = [threading.Thread(target=Keyring(tmp_path).add, args=(f"user:{n}", "t", ["*"])) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key.subject for key in keyring.load().keys} == {f"user:{n}" for n in range(8)}


def test_a_broken_configuration_is_told_and_kept(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path)
    keyring.ensure(TOPOLOGY)
    keyring.config_file.write_text(json.dumps({"version": 2}))
    with pytest.raises(InvalidInput):
        keyring.ensure(TOPOLOGY)
    assert keyring.config_file.read_text() == '{"version": 2}'


def test_no_key_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PreconditionFailed, match="citemesh up"):
        Keyring(tmp_path).default_key()

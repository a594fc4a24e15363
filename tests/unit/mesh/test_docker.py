"""The images: held by reading their recipe, since they can't be built where the tests run."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import pytest

from citemesh.mesh.render import IMAGE_ROOT
from citemesh.mesh.topology import load_topology

ROOT = Path(__file__).parents[3]
RECIPE = ROOT / "deploy/docker/Dockerfile"
EXTRAS = {
    "gateway": {"gateway"},
    "tokenizer": {"tokenizer"},
    "retrieval": {"retrieval"},
    "retrieval-milvus": {"retrieval", "milvus"},
    "reranker": {"reranker"},
    "generation": {"generation-cpu"},
    "generation-gpu": {"generation-gpu"},
    "sidecar": {"mesh"},
}
"""What each image may have: its service's extra and no other's."""


@dataclass
class Stage:
    """One FROM and what follows: instructions as (word, rest)."""

    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def all(self, word: str) -> list[str]:
        return [rest for name, rest in self.steps if name == word]


def parse(text: str) -> dict[str, Stage]:
    """The stages by name. Raises ValueError for what is no instruction, or a stage without a name."""
    stages: dict[str, Stage] = {}
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found = re.fullmatch(r"(\S+) AS ([a-z-]+)", rest)
            if not found:
                raise ValueError(f"a stage without a name: {line}")
            stages[found.group(2)] = Stage(found.group(1))
        elif word not in ("ARG", "ENV", "RUN", "COPY", "WORKDIR", "USER", "CMD"):
            raise ValueError(f"no instruction: {line}")
        elif stages:
            list(stages.values())[-1].steps.append((word, rest))
    return stages


STAGES = parse(RECIPE.read_text(encoding="utf-8"))
TARGETS = {name: stage for name, stage in STAGES.items() if stage.all("CMD")}


def lineage(name: str) -> list[str]:
    """A stage and those that it is made from."""
    return [name, *(lineage(STAGES[name].base) if STAGES[name].base in STAGES else [])]


def installed(name: str) -> set[str]:
    """Extras in the environment that a target copies."""
    [packages] = [rest.split()[0].removeprefix("--from=") for rest in STAGES[name].all("COPY") if "--from=" in rest]
    runs = " ".join(run for stage in lineage(packages) for run in STAGES[stage].all("RUN"))
    return {extra for found in re.findall(r"'\.\[([^]]*)\]'", runs) for extra in found.split(",")}


def test_what_is_no_recipe_is_refused() -> None:
    """So that the tests below can fail."""
    for bad in ("FROM python:3.11", "FROM x AS y\nRUM pip install ."):
        with pytest.raises(ValueError, match=r"no instruction|without a name"):
            parse(bad)


def test_every_service_has_an_image_and_so_has_the_sidecar() -> None:
    services = {service.name for service in load_topology(ROOT / "deploy/mesh.yaml").services}
    assert services | {"sidecar"} <= TARGETS.keys()
    assert TARGETS.keys() == EXTRAS.keys()
    told = re.search(r"^# Targets: (.*)\.$", RECIPE.read_text(), re.M)
    assert told is not None
    assert set(told.group(1).split(", ")) == TARGETS.keys()


@pytest.mark.parametrize("target", EXTRAS)
def test_an_image_has_its_own_extra_alone(target: str) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert installed(target) == EXTRAS[target] <= declared.keys()


def test_images_that_manifests_name_are_made_here() -> None:
    """Not those of others, which have an owner before their name."""
    manifests = [*(ROOT / "deploy/k8s").rglob("*.yaml"), *(ROOT / "deploy/compose").rglob("*.yaml")]
    named = {name for path in manifests for name in re.findall(r"^\s*(?:- )?image: (\S+)$", path.read_text(), re.M)}
    own = {name for name in named if "/" not in name}
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert own, "the manifests name none of ours"
    assert own <= {f"citemesh-{target}:{version}" for target in TARGETS}


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_starts_what_there_is_and_as_nobody(target: str) -> None:
    [command] = [json.loads(rest) for rest in TARGETS[target].all("CMD")]
    if command[0] == "python":
        assert importlib.util.find_spec(command[-1]) is not None
    else:
        assert command[0] == "envoy"
    users = [user for stage in lineage(target) for user in STAGES[stage].all("USER")]
    assert users == ["10001:10001"]


def test_what_is_copied_is_there_and_not_ignored() -> None:
    rules = (RECIPE.with_name("Dockerfile.dockerignore")).read_text().splitlines()
    let_in = [rule.removeprefix("!") for rule in rules if rule.startswith("!")]
    for name, stage in STAGES.items():
        for rest in stage.all("COPY"):
            *sources, _ = rest.split()
            if sources[0].startswith("--from="):
                assert sources[0].removeprefix("--from=") in list(STAGES)[: list(STAGES).index(name)]
                continue
            for source in sources:
                assert (ROOT / source).exists(), source
                assert any(fnmatch(source, rule) for rule in let_in), f"{source} is ignored"
    assert all((ROOT / rule).exists() for rule in let_in)
    assert rules[1] == "*", "keys and stores lie beside the sources"


def test_the_sidecar_has_the_policies_where_its_configuration_looks() -> None:
    assert ("COPY", "policies/dist policies/dist") in TARGETS["sidecar"].steps
    assert [rest for stage in lineage("sidecar") for rest in STAGES[stage].all("WORKDIR")] == [IMAGE_ROOT]


def test_what_the_wheel_is_made_of_is_copied_before_it_is_built() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    copied = {part for rest in STAGES["source"].all("COPY") for part in rest.split()[:-1]}
    assert {*wheel["packages"], *wheel["force-include"]} <= copied

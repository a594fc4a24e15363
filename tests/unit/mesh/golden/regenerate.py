"""The golden cases: `python tests/unit/mesh/golden/regenerate.py` rewrites every `out` from its `in`.

Read the diff before you commit it: it is the change to what Envoy is told.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from citemesh.mesh.placement import Placement
from citemesh.mesh.render import write_all
from citemesh.mesh.topology import Topology, load_topology

HERE = Path(__file__).parent


def cases() -> list[str]:
    """Names of the cases."""
    return sorted(path.parent.parent.name for path in HERE.glob("*/in/mesh.yaml"))


def load(case: str) -> tuple[Topology, Placement]:
    """The input of a case."""
    inputs = HERE / case / "in"
    placement = Placement(**yaml.safe_load((inputs / "placement.yaml").read_text(encoding="utf-8")))
    return load_topology(inputs / "mesh.yaml"), placement


if __name__ == "__main__":
    for name in cases():
        for written in write_all(*load(name), HERE / name / "out"):
            print(written)

"""Arguments that every bench takes."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SEED = 20250


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a bench.

    Attributes:
        quick: fewer rounds, to see that it works; its figures have a wide spread.
        json: file for the report as JSON, see bench/common/report.py for its form.
        seed: of everything that is drawn by chance: orders, samples, resampling.
    """

    quick: bool = False
    json: Path | None = None
    seed: int = SEED

    def pick(self, whole: int, quick: int) -> int:
        """A number of rounds for either kind of run."""
        return quick if self.quick else whole


def keep() -> tuple[Path | None, list[str]]:
    """Reads --keep, and makes its directory; what else the command line has is left to `options`."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--keep", type=Path, metavar="DIR")
    given, rest = parser.parse_known_args()
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
    return given.keep, rest


def options(about: str, arguments: Sequence[str] | None = None) -> Options:
    """Reads the command line; ends the process with a message where it is wrong."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a look, not a figure to quote")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the report here, as JSON")
    parser.add_argument("--seed", type=int, default=SEED, help="of orders and resampling (%(default)s)")
    found = parser.parse_args(arguments)
    if found.json and not found.json.absolute().parent.is_dir():
        parser.error(f"--json: {found.json.parent} is no directory; make it first")
    return Options(found.quick, found.json, found.seed)

"""Is a second hop worth it in whole answers? `citemesh eval` on labelled sets, one hop and two, through a real mesh.

Starts a mesh behind its sidecars, takes a set in, and runs the command itself, twice a set: with one search a question
and with two, compared question by question. Each run has a mesh of its own over the same store, so that none finds
in a cache what another left there: prompts, vectors of questions. The reports (`SET-hops-N.json` and `.html`) are left
in `--out`; a run that is there already is not made again, so that one that was ended goes on. `--keep DIR` keeps the
store.

`python -m bench.evaluated --out DIR [--keep DIR] [--sets xquad-en multihop] [--questions 50] [--quick]`
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.citing import question_files
from bench.common import meshes, show
from bench.common.args import SEED
from bench.retrieving.mesh_services import fill
from bench.retrieving.sets import SETS
from citemesh.errors import CiteMeshError
from cli.local_mesh.layout import StackOptions
from cli.local_mesh.stack import Stack

HOPS = (1, 2)


@dataclass(frozen=True, slots=True)
class Options:
    """What to run; state is where the store lies."""

    out: Path
    keep: Path | None
    sets: Sequence[str]
    questions: int

    def file(self, name: str, hops: int, ending: str) -> Path:
        """Where a run's report goes."""
        return self.out / f"{name}-hops-{hops}.{ending}"


async def measure(options: Options) -> int:
    """Runs what isn't there yet; answers the highest exit status."""
    with meshes.state_dir() as own:
        runs = [(name, hops) for name in options.sets for hops in HOPS]
        left = [(name, hops) for name, hops in runs if not options.file(name, hops, "json").exists()]
        return max([await _started(options, options.keep or own, name, hops) for name, hops in left], default=0)


async def _started(options: Options, state: Path, name: str, hops: int) -> int:
    """One run, with a mesh of its own."""
    async with meshes.bench_mesh(StackOptions(state_dir=state)) as stack:
        async with stack.client(600.0) as client:
            collection, seconds = await fill(client, SETS[name]())
        show.say(f"{name} is in {collection} ({seconds:.0f} s)")
        return await _run(options, stack, name, collection, hops)


async def _run(options: Options, stack: Stack, name: str, collection: str, hops: int) -> int:
    made = await asyncio.create_subprocess_exec(
        *command(options, name, collection, hops, stack.targets["gateway"], stack.key)
    )
    try:
        status = await made.wait()
    except asyncio.CancelledError:
        made.terminate()
        raise
    if not status:
        options.file(name, hops, "part").rename(options.file(name, hops, "json"))
    return status


def command(options: Options, name: str, collection: str, hops: int, target: str, key: str) -> list[str]:
    """`citemesh eval` for one run; the second is compared with the first."""
    questions = options.out / f"{name}.jsonl"
    question_files.write(name, options.questions, questions, SEED)
    words = [sys.executable, "-m", "cli", "eval", str(questions), "--collection", collection]
    words += ["--max-hops", str(hops), "--name", f"{name}, hops: {hops}", "--target", target, "--key", key]
    words += ["--json", str(options.file(name, hops, "part")), "--html", str(options.file(name, hops, "html"))]
    before = options.file(name, HOPS[0], "json")
    return [*words, "--compare", str(before)] if hops != HOPS[0] and before.exists() else words


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the command line and measures; the exit status is that of the worst run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the reports go")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the store there, so that sets are embedded once")
    parser.add_argument("--sets", nargs="+", default=["xquad-en", "multihop"], choices=sorted(set(SETS) - {"scifact"}))
    parser.add_argument("--questions", type=int, default=50, help="of each set (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="five questions a set: a look, not a figure to quote")
    given = parser.parse_args(arguments)
    for folder in filter(None, (given.out, given.keep)):
        folder.mkdir(parents=True, exist_ok=True)
    options = Options(given.out, given.keep, given.sets, 5 if given.quick else given.questions)
    try:
        return asyncio.run(measure(options))
    except CiteMeshError as error:
        show.errors.print(f"evaluated: {error}", style="red", markup=False)
        return 1


if __name__ == "__main__":
    sys.exit(main())

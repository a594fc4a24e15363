"""Kills the store's process at random instants and looks for all that it acknowledged: what is lost, what comes back?

A process ingests one by one and many in one step, replaces, deletes, searches, takes in tables, lets tables and
documents take each other's place, makes and drops collections and copies the store, several things at once, on an
index so small that it is rebuilt and moved all the time. It is killed (SIGKILL), while it starts too. After each kill
the store is opened and looked at: each document that was acknowledged is there, whole, and found by its own text by
words and by vector; no deleted one is; what changes in one step has changed as a whole or not at all; the counts are
right; the index holds the numbers that the database has vectors of. Every fifth time the database and the last
acknowledged copy are proved whole.
"""

import sys
import tempfile
from pathlib import Path

from bench.common.report import Aim, Prediction, Question, Report, Table
from bench.common.run import run
from bench.common.stats import Estimate, median
from bench.crashing.killing import Outcome, kill_again_and_again

LOST = Question(
    "lost or wrong after a kill",
    "documents",
    Prediction(0, 0, "a commit is on the disk before it is told"),
    Aim(None, 0),
)
OPEN_P50 = Question("opening after a kill, p50", "ms", Prediction(5, 100, "a small store; the log of changes is short"))
OPEN_MAX = Question(
    "opening after a kill, longest", "ms", Prediction(20, 1000, "the disk is the tests' too"), Aim(None, 5000)
)


async def measure(report: Report) -> None:
    """Kills, or ends at the first thing that is lost."""
    kills = report.options.pick(200, 20)
    report.setting.update(kills=kills)
    with tempfile.TemporaryDirectory(prefix="citemesh-crash-") as folder:
        outcome = await kill_again_and_again(Path(folder), kills, report.options.seed)
    _tell(report, outcome)


def _tell(report: Report, outcome: Outcome) -> None:
    opened = [1e3 * seconds for seconds in outcome.open_s]
    lost = float(len(outcome.faults))
    report.answer(LOST, Estimate(lost, lost, lost, outcome.kills))
    report.notes += outcome.faults
    report.answer(OPEN_P50, Estimate(median(opened), min(opened), max(opened), len(opened)))
    report.answer(OPEN_MAX, Estimate(max(opened), max(opened), max(opened), len(opened)))
    rows = [("kills", outcome.kills), ("acknowledged", outcome.acknowledged), ("lost", len(outcome.faults))]
    rows += [("looked for and found", outcome.found), ("deleted, looked for in vain", outcome.gone)]
    rows += [(f"kills within: {name}", count) for name, count in sorted(outcome.within.items())]
    report.tables.append(Table("What was killed and found", ["what", "how many"], rows))


if __name__ == "__main__":
    sys.exit(run("crash", __doc__ or "", [LOST, OPEN_P50, OPEN_MAX], measure))

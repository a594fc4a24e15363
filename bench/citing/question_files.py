"""Writes questions of a labelled set as a file for `citemesh eval`.

`python -m bench.citing.question_files xquad-en 50 questions.jsonl`. The evidence is named by document ids, which are
those that `bench.retrieving.mesh_services.fill` ingests a set with.
"""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.common.args import SEED
from bench.reranking import data
from bench.retrieving.sets import SETS, multihop


def of_xquad(language: str) -> list[dict[str, object]]:
    """Questions that one paragraph answers."""
    source = data.xquad(language)
    return [
        {"question": it.question, "answers": [it.answer], "evidence": [{"document_id": f"p{it.paragraph}"}]}
        for it in source.asked
    ]


def of_multihop() -> list[dict[str, object]]:
    """Questions of HotpotQA and MuSiQue; every paragraph on the way to the answer is evidence."""
    folder = data.folder() / "multihop"
    read = [json.loads((folder / f"{name}_train.json").read_text(encoding="utf-8")) for name in ("hotpotqa", "musique")]
    answers = {item["question"]: item["answer"] for items in read for item in items}
    return [
        {
            "question": it.text,
            "answers": [answers[it.text]],
            "evidence": [{"document_id": name} for name in sorted(it.relevant)],
        }
        for it in multihop().queries
    ]


def of_set(name: str) -> list[dict[str, object]]:
    """All questions of a set, by its name in bench/retrieving/sets.py."""
    return of_multihop() if name == "multihop" else of_xquad(name.removeprefix("xquad-"))


def write(name: str, questions: int, file: Path, seed: int) -> None:
    """Writes so many questions, drawn by the seed."""
    every = of_set(name)
    drawn = random.Random(seed).sample(every, min(questions, len(every)))
    lines = (json.dumps({"id": f"{name}-{at}", **one}, ensure_ascii=False) for at, one in enumerate(drawn, 1))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=[name for name in SETS if name != "scifact"])
    parser.add_argument("questions", type=int)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args(arguments)
    write(given.set, given.questions, given.file, given.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())

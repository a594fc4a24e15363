"""Checks a commit message's subject: imperative, short, with the why in a body behind an empty line.

    python tools/check_commit_subject.py FILE     # as a commit-msg hook; FILE holds the message

As a plain hook: ln -s ../../tools/check_commit_subject.py .git/hooks/commit-msg
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST = 72
MACHINE_MADE = re.compile(r"(Merge|Revert) |(fixup|squash)! ")
NOT_VERBS = frozenset(
    ("a", "an", "the", "this", "that", "these", "it", "its", "all", "each", "every", "some", "more", "no", "new", "now")
)
BASE_FORMS_IN_S = frozenset(("pass", "process", "address", "discuss", "express", "focus", "access", "bypass", "miss"))
BASE_FORMS_IN_ED_OR_ING = frozenset(
    ("embed", "feed", "need", "seed", "shed", "speed", "bring", "ping", "string", "ring")
)


def faults(message: str) -> list[str]:
    """What is wrong with a message, each with what to do; empty where nothing is."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if MACHINE_MADE.match(subject):
        return []
    found = [fault for fault in (_length(subject), _shape(subject), _mood(subject)) if fault]
    if len(lines) > 1 and lines[1].strip():
        found.append("the second line is not empty: leave one between subject and body")
    return found


def _length(subject: str) -> str:
    if not subject.strip():
        return "the subject is empty: say what the commit does"
    if len(subject) > LONGEST:
        return f"the subject has {len(subject)} characters: use up to {LONGEST}, and put the why into the body"
    return ""


def _shape(subject: str) -> str:
    if subject and not subject[0].isupper():
        return "the subject begins with a small letter: write it as a sentence"
    return "the subject ends with a full stop: leave it out" if subject.endswith(".") else ""


def _mood(subject: str) -> str:
    """A rough look at the first word: it is to be a verb's base form, as in "Add", not "Added", "Adds" or "Adding"."""
    word = re.split(r"[^A-Za-z]", subject, maxsplit=1)[0].lower()
    other_form = (word.endswith(("ed", "ing")) and word not in BASE_FORMS_IN_ED_OR_ING) or (
        word.endswith("s") and word not in BASE_FORMS_IN_S
    )
    if word in NOT_VERBS or other_form:
        return f"the subject begins with {word!r}: begin with a verb in the imperative, as in 'Add' or 'Refuse'"
    return ""


def main() -> int:
    """Checks a file's message; returns the exit status."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = faults(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for fault in found:
        print(f"commit message: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Parts of a sentence that can be checked by themselves: what one source says of it, and what another one does."""

import re
from itertools import pairwise

from citemesh.text.scripts import written_without_spaces
from citemesh.text.words import content_words

LEAST_WORDS = 3
"""Telling words of a part: with fewer, nearly any passage would support it."""
LEAST_WIDE = 8
"""Characters of a part in a script without spaces."""
MOST = 4
MOST_JOINTS = 12
"""What has more is a list."""
_JOINT = re.compile(
    r"[;；]\s*|[，,]\s*(?=(?:而|但|并|且|同时|其))|，(?=[^，]{8,})"
    r"|,?\s+(?=(?:and|but|while|whereas|although|which|who|whose)\s)",
    re.IGNORECASE,
)


def clauses(text: str) -> list[str]:
    """The parts, in their order; the text alone where it can't be parted. A short one stays with its neighbour."""
    joints = [match.end() for match in _JOINT.finditer(text)]
    if len(joints) > MOST_JOINTS:
        return [text]
    parts: list[str] = []
    for start, end in pairwise((0, *joints, len(text))):
        part = text[start:end]
        if parts and not (_stands(part) and _stands(parts[-1])):
            parts[-1] += part
        else:
            parts.append(part)
    return [part.strip() for part in parts] if len(parts) <= MOST else [text]


def _stands(part: str) -> bool:
    """Whether a part says enough to be checked."""
    return len(content_words(part)) >= LEAST_WORDS or sum(map(written_without_spaces, part)) >= LEAST_WIDE

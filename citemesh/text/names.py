"""Names in a text, found without a model.

A name is a run of capitalised words, a quoted title, or a word of capitals or digits. Chinese writes none of these, so
there the stretches between function words stand for names. It is a heuristic: it finds too much rather than too little.
"""

import re

from citemesh.text.stop_words import ENGLISH_FUNCTION_WORDS
from citemesh.text.words import chinese_stretches

_PARTICLES = "of the de la le van von der den di da du for &"
_CAPITAL = r"[A-ZÀ-ÖØ-ÞА-ЯΑ-Ω]"
_NAME_WORD = rf"(?:{_CAPITAL}[\w.'’-]*|\d[\w.,-]*\w|\d)"
_JOIN = "|".join(re.escape(particle) for particle in _PARTICLES.split())
_NAME = re.compile(rf"{_CAPITAL}[\w.'’-]*(?:[ \t-]+(?:(?:{_JOIN})[ \t]+){{0,2}}{_NAME_WORD})*")
_QUOTED = re.compile(r"[\"“«《]([^\"”»》\n]{2,80})[\"”»》]")


def names(text: str) -> list[str]:
    """Returns the names in a text, each once; a sentence's first word counts only as part of a longer name.

    Quoted ones stand first, then those of capitals in their order, then stretches of Chinese.
    """
    quoted = [match.group(1).strip() for match in _QUOTED.finditer(text)]
    runs = [_trimmed(match.group(), _begins_sentence(text, match.start())) for match in _NAME.finditer(text)]
    by_key = {name.casefold(): name for name in reversed([*quoted, *filter(None, runs), *chinese_stretches(text)])}
    return [
        name for key, name in reversed(by_key.items()) if not any(key != other and key in other for other in by_key)
    ]


def _trimmed(name: str, first: bool) -> str:
    """Returns a run without function words at its ends; empty for a sentence's lone first word that looks like any."""
    words = name.rstrip(".'’-").split()
    while words and words[0].lower() in ENGLISH_FUNCTION_WORDS:
        words, first = words[1:], False
    while words and words[-1].lower() in ENGLISH_FUNCTION_WORDS:
        words = words[:-1]
    if len(words) == 1 and first and words[0][1:].islower():
        return ""
    trimmed = " ".join(words)
    return trimmed.removesuffix("'s").removesuffix("’s") if len(trimmed) > 1 else ""


def _begins_sentence(text: str, at: int) -> bool:
    before = text[:at].rstrip()
    return not before or before[-1] in ".!?\n:"

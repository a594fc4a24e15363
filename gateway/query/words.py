"""Names and telling words of a text, found without a model.

A name is a run of capitalised words, a quoted title, or a word of capitals or digits. Chinese writes none of these, so
there the stretches between function words stand for names. It is a heuristic: it finds too much rather than too little.
"""

import re
from collections.abc import Sequence

from gateway.query.sentences import is_wide

FUNCTION_WORDS = frozenset(
    re.findall(
        r"\S+",
        "a about above after again all along also although always am an and another any anything are around as at be "
        "became because been before began being below between both but by called came can could did do does doing done "
        "during each either else ever every few first for found from further gave get given go had has have having he "
        "her here hers him his how however i if in into is it its itself just known last later least less like made "
        "make many may me might more most much must my name named near need never no nor not now of off often on once "
        "one only or other our out over own part people per please quite rather really same she should since so some "
        "such take tell than that the their them then there these they thing this those though through thus time to "
        "too two under until up upon us used very was we well were what when where whether which while who whom whose "
        "why will with within without would year years yes yet you your",
    )
)
ASKING = frozenset(("who", "whom", "whose", "what", "which", "when", "where", "why", "how"))
_PARTICLES = "of the de la le van von der den di da du for &"
_CAPITAL = r"[A-ZÀ-ÖØ-ÞА-ЯΑ-Ω]"
_NAME_WORD = rf"(?:{_CAPITAL}[\w.'’-]*|\d[\w.,-]*\w|\d)"
_JOIN = "|".join(re.escape(particle) for particle in _PARTICLES.split())
_NAME = re.compile(rf"{_CAPITAL}[\w.'’-]*(?:[ \t-]+(?:(?:{_JOIN})[ \t]+){{0,2}}{_NAME_WORD})*")
_QUOTED = re.compile(r"[\"“«《]([^\"”»》\n]{2,80})[\"”»》]")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_HAN_BREAK = re.compile(
    r"什么|多少|怎么样|怎么|怎样|如何|为什么|为何|哪些|哪里|哪个|哪|几|谁|何时|何地|请问|告诉我|"
    r"[的了吗呢吧啊是在有和与及或被把对从到于由个年月日时候，。？！、：；“”《》（）\s]"
)
_HAN_RUN = re.compile(r"[\u4e00-\u9fff]{2,}")


def names(text: str) -> list[str]:
    """Names in a text in their order, each once; a sentence's first word counts only as part of a longer name."""
    found = [match.group(1).strip() for match in _QUOTED.finditer(text)]
    for match in _NAME.finditer(text):
        name = _trimmed(match.group(), _begins_sentence(text, match.start()))
        if name:
            found.append(name)
    unique = {name.casefold(): name for name in reversed([*found, *_han(text)])}
    return [name for key, name in reversed(unique.items()) if not any(key != one and key in one for one in unique)]


def telling(text: str) -> list[str]:
    """Words of a text that say what it is about, in lower case and their order, each once."""
    words = (word.lower() for word in _WORD.findall(text) if not is_wide(word[0]))
    return list(dict.fromkeys([*(w for w in words if w not in FUNCTION_WORDS and len(w) > 1), *_han(text)]))


def stems(words: Sequence[str]) -> set[str]:
    """Words without their commonest endings, so that "presidents" meets "president"."""
    return {_stem(word) for word in words}


def _stem(word: str) -> str:
    for ending in ("'s", "’s", "ies", "ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def _trimmed(name: str, first: bool) -> str:
    """A name without function words at its ends; a lone first word of a sentence is none unless it looks like one."""
    words = name.rstrip(".'’-").split()
    while words and words[0].lower() in FUNCTION_WORDS:
        words, first = words[1:], False
    while words and words[-1].lower() in FUNCTION_WORDS:
        words = words[:-1]
    if len(words) == 1 and first and words[0][1:].islower():
        return ""
    found = " ".join(words)
    return found.removesuffix("'s").removesuffix("’s") if len(found) > 1 else ""


def _begins_sentence(text: str, at: int) -> bool:
    before = text[:at].rstrip()
    return not before or before[-1] in ".!?\n:"


def _han(text: str) -> list[str]:
    if text.isascii():
        return []
    return [run for piece in _HAN_BREAK.split(text) for run in _HAN_RUN.findall(piece)]

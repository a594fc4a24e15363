"""Tells where a source says the contrary of a sentence in nearly the same words, which a measure of likeness doesn't.

Two signs, both of words alone: the sentence denies and the source doesn't, or the one says that something rises and
the other that it falls. They are English and Chinese, and find some contradictions, not all: docs/quality.md tells how
many.
"""

import re

_DENIES = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|unrelated|unaffected|unable|fail(?:s|ed)?|lacks?|lacking|"
    r"absence)\b|n['’]t\b|没有|并非|不(?![仅但同断过])|[未无]",
    re.IGNORECASE,
)
_POLES = (
    ("increas|rais|elevat|higher|rise|rising", "decreas|reduc|lower|declin|diminish|drop"),
    ("more", "less|fewer"),
    ("greater|larger|bigger", "smaller|lesser"),
    ("faster|accelerat", "slower|delay"),
    ("activat|induc|promot|stimulat|enhanc", "inhibit|suppress|prevent|block|deactivat|abolish|attenuat|impair"),
    ("improv|better", "worsen|worse|exacerbat"),
    ("positive", "negative"),
    ("upregulat", "downregulat"),
    ("longer", "shorter"),
    ("earlier", "later"),
    ("superior", "inferior"),
    ("maximum", "minimum"),
    ("always", "never"),
    ("before", "after"),
    ("allow|permit", "forbid|prohibit"),
    ("增加|提高|升高|上升", "减少|降低|下降"),
)
_OPPOSED = tuple(
    tuple(re.compile(rf"\b(?:{one})" if one.isascii() else one, re.IGNORECASE) for one in pair) for pair in _POLES
)


def contrary(sentence: str, said: str) -> bool:
    """Whether ``said`` speaks against the sentence that it seems to support."""
    denied = bool(_DENIES.search(sentence)) and not _DENIES.search(said)
    return denied or any(_opposed(sentence, said, one, other) for one, other in _OPPOSED)


def _opposed(sentence: str, said: str, one: re.Pattern[str], other: re.Pattern[str]) -> bool:
    """Whether each has only one of the two, and not the same."""
    rises, falls = bool(one.search(sentence)), bool(other.search(sentence))
    return rises != falls and (bool(one.search(said)), bool(other.search(said))) == (falls, rises)

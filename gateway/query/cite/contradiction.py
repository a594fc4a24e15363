"""Tells where a source says the contrary of a sentence in nearly the same words, which a measure of likeness doesn't.

Three signs, all of words alone: the sentence denies and the source doesn't; the one says that something rises and the
other that it falls; each counts in words, and otherwise (numbers in digits are looked at where support is measured).
They are English and Chinese, and find some contradictions, not all: docs/quality.md tells how many.
"""

import re

_DENIES = re.compile(
    r"\b(?:[Nn]ot|[Nn]o|[Nn]ever|[Nn]one|[Nn]either|[Nn]or|[Ww]ithout|[Cc]annot|unrelated|unaffected|unable|fail(?:s|ed)?)\b"
    r"|n['’]t\b|没有|并非|不(?![仅但同断过])|未",
)
"""``NO`` is a gas."""
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

_COUNTS = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|"
    r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million|billion)\b"
    r"|[〇零一二两三四五六七八九十百千万亿]{2,}",
    re.IGNORECASE,
)


def contradicts(sentence: str, source_text: str) -> bool:
    """Whether ``source_text`` speaks against the sentence that it seems to support."""
    denied = bool(_DENIES.search(sentence)) and not _DENIES.search(source_text)
    return (
        denied
        or _counts_otherwise(sentence, source_text)
        or any(_opposed(sentence, source_text, *pair) for pair in _OPPOSED)
    )


def _counts_otherwise(sentence: str, source_text: str) -> bool:
    """Whether each has a number in words that the other doesn't have."""
    counts, other = ({match.lower() for match in _COUNTS.findall(text)} for text in (sentence, source_text))
    return bool(counts - other and other - counts)


def _opposed(sentence: str, source_text: str, pattern: re.Pattern[str], other: re.Pattern[str]) -> bool:
    """Whether each has only one of the two, and not the same."""
    rises, falls = bool(pattern.search(sentence)), bool(other.search(sentence))
    return rises != falls and (bool(pattern.search(source_text)), bool(other.search(source_text))) == (falls, rises)

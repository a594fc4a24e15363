"""Scripts: the ranges of their characters, and what a text's script says about it.

Ranges are written for a regular expression's set of characters: ``re.compile(f"[{HAN}]+")``.
"""

import re

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
RARE_HAN = "\U00020000-\U0003ffff"
HAN_MARKS = "\u3005-\u3007"
"""Signs that stand for a Han character: 々 (again), 〆 and 〇."""
HIRAGANA = "\u3041-\u3096"
KATAKANA = "\u30a1-\u30fa"
KANA = "\u3040-\u30ff"
"""Both blocks, with their signs."""
KANA_FOR_AINU = "\u31f0-\u31ff"
BOPOMOFO = "\u3105-\u312f"
RADICALS = "\u2e80-\u2fdf"
HANGUL = "\uac00-\ud7af"
HANGUL_JAMO = "\u1100-\u11ff"
CJK = f"{KANA}{HAN}{HANGUL}"
"""Chinese, Japanese and Korean, but for their rare signs."""

SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese and Khmer, which write no spaces between words."""
INDEXED_BY_PAIRS = (
    f"{SOUTH_EAST_ASIAN}{HANGUL_JAMO}{HAN_MARKS}\u3041-\u30ff{BOPOMOFO}{KANA_FOR_AINU}{HAN}{HANGUL}{RARE_HAN}"
)
"""Scripts of which the lexical index holds pairs of characters; part of what stores keep, so it mustn't change.

They write no spaces between words, but for Korean, whose words carry endings.
"""

_LETTERS = {
    "kana": KANA,
    "hangul": HANGUL,
    "han": HAN,
    "cyrillic": "\u0400-\u04ff",
    "greek": "\u0370-\u03ff",
    "hebrew": "\u0590-\u05ff",
    "arabic": "\u0600-\u06ff",
    "devanagari": "\u0900-\u097f",
    "thai": "\u0e00-\u0e7f",
}
SCRIPTS = ("latin", *_LETTERS)
_PATTERNS = {script: re.compile(f"[{letters}]") for script, letters in _LETTERS.items()}
_KANA = re.compile(f"[{KANA}]")
_HAN = re.compile(f"[{HAN}]")


def script_of(text: str) -> str:
    """Returns the script, one of SCRIPTS, that most of a text's letters are of; "latin" where no other is."""
    letters = "".join(filter(str.isalpha, text))
    counts = {script: len(pattern.findall(letters)) for script, pattern in _PATTERNS.items()}
    # A character of these scripts says as much as a few Latin letters.
    script = max(counts, key=lambda name: counts[name])
    return script if counts[script] * 3 > len(letters) - sum(counts.values()) else "latin"


def is_chinese(text: str) -> bool:
    """Says whether a text is Chinese: it has Han characters and no Kana."""
    return _KANA.search(text) is None and _HAN.search(text) is not None


def written_without_spaces(char: str) -> bool:
    """Says whether a character belongs to Chinese or Japanese text: Han, Kana, their punctuation, full-width forms."""
    return "\u2e80" <= char <= "\u9fff" or "\uf900" <= char <= "\uffef" or "\U00020000" <= char <= "\U0003ffff"


def joins_without_space(before: str, after: str) -> bool:
    """Says whether two sentences stand side by side without a space, as in Chinese and Japanese."""
    return bool(before and after) and written_without_spaces(before[-1]) and written_without_spaces(after[0])

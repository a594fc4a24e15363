"""The language of a text, as far as its script tells it."""

import re

_SCRIPTS = {
    "ja": "\u3041-\u3096\u30a1-\u30fa",
    "ko": "\uac00-\ud7a3",
    "th": "\u0e01-\u0e4e",
    "el": "\u0370-\u03ff",
    "he": "\u05d0-\u05ea",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff",
}
_SAMPLE = 20_000
_SHARE = 0.1
_LETTERS = re.compile(r"[^\W\d_]")


def language_of(text: str) -> str:
    """ISO 639-1 code where a script that one language alone uses makes up a tenth of the letters; else empty.

    Kana come before Han characters, since Japanese uses both. Latin, Cyrillic and Arabic letters tell nothing.
    """
    sample = text[:_SAMPLE]
    letters = len(_LETTERS.findall(sample))
    for code, script in _SCRIPTS.items():
        if letters and len(re.findall(f"[{script}]", sample)) >= _SHARE * letters:
            return code
    return ""

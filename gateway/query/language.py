"""Which language and script a text is in, as far as the gateway needs to know."""

from gateway.query.sentences import is_wide


def is_chinese(text: str) -> bool:
    """Whether a text is Chinese: it has Han characters and no Kana."""
    if any("\u3040" <= char <= "\u30ff" for char in text):
        return False
    return any("\u4e00" <= char <= "\u9fff" for char in text)


def joins_without_space(before: str, after: str) -> bool:
    """Whether two sentences are set side by side without a space, as in Chinese and Japanese."""
    return bool(before and after) and is_wide(before[-1]) and is_wide(after[0])


_SCRIPTS = (
    ("kana", "\u3040", "\u30ff"),
    ("hangul", "\uac00", "\ud7af"),
    ("han", "\u4e00", "\u9fff"),
    ("cyrillic", "\u0400", "\u04ff"),
    ("greek", "\u0370", "\u03ff"),
    ("hebrew", "\u0590", "\u05ff"),
    ("arabic", "\u0600", "\u06ff"),
    ("devanagari", "\u0900", "\u097f"),
    ("thai", "\u0e00", "\u0e7f"),
)
SCRIPTS = ("latin", *(name for name, _, _ in _SCRIPTS))


def script_of(text: str) -> str:
    """The script that most of a text's letters are of; "latin" where none of the others is."""
    letters = [char for char in text if char.isalpha()]
    counts = {name: sum(first <= char <= last for char in letters) for name, first, last in _SCRIPTS}
    # A character of these scripts says as much as a few Latin letters.
    name = max(counts, key=lambda script: counts[script])
    return name if counts[name] * 3 > len(letters) - sum(counts.values()) else "latin"

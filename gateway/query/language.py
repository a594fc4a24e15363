"""Which language a text is in, as far as the gateway's own words need to know."""

from gateway.query.sentences import is_wide


def is_chinese(text: str) -> bool:
    """Whether a text is Chinese: it has Han characters and no Kana."""
    if any("\u3040" <= char <= "\u30ff" for char in text):
        return False
    return any("\u4e00" <= char <= "\u9fff" for char in text)


def joins_without_space(before: str, after: str) -> bool:
    """Whether two sentences are set side by side without a space, as in Chinese and Japanese."""
    return bool(before and after) and is_wide(before[-1]) and is_wide(after[0])

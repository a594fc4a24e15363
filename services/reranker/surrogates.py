"""Half characters, which Python strings can hold and no tokenizer takes."""


def whole_characters(text: str) -> str:
    """The text with a replacement character for each lone surrogate; its length stays."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

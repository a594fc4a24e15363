"""Bounds that every engine keeps in the same words."""

from citemesh.errors import InvalidInput


def check_length(tokens: int, max_tokens: int) -> None:
    """Check that a prompt leaves room for at least one token of an answer. Raises InvalidInput."""
    if tokens == 0:
        raise InvalidInput("prompt", "it has no tokens", "send at least one")
    if tokens >= max_tokens:
        raise InvalidInput(
            "prompt",
            f"{tokens} tokens leave no room for an answer in the model's {max_tokens}",
            f"send at most {max_tokens - 1} tokens",
        )

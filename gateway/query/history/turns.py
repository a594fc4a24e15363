"""What was said before a question, within a budget of tokens."""

from collections.abc import Sequence

from citemesh.text.scripts import written_without_spaces
from gateway.query.plan.standalone import Exchange, standalone

MOST_TURNS = 40
LETTERS_A_TOKEN = 4.0
TOKENS_A_HAN = 0.7


def told(history: Sequence[tuple[str, str]]) -> list[Exchange]:
    """Exchanges of (role, text) turns, oldest first; each question made stand-alone from those before it.

    What one side says in a row is one; an answer before any question has none to belong to and is left out, and so
    are turns before the last few.
    """
    exchanges: list[Exchange] = []
    pairs: list[tuple[str, str]] = []
    for role, text in history[-MOST_TURNS:]:
        if pairs and pairs[-1][0] == role:
            text = f"{pairs.pop()[1]}\n{text}"
        pairs.append((role, text))
    for role, text in pairs:
        if role == "user":
            exchanges.append(Exchange(standalone(text, exchanges), ""))
        elif exchanges:
            exchanges[-1] = Exchange(exchanges[-1].question, text)
    return exchanges


def recent(history: Sequence[Exchange], budget: int) -> list[Exchange]:
    """The last exchanges that fit the budget, oldest first; the last one's question is always kept, its answer cut."""
    exchanges: list[Exchange] = []
    for exchange in reversed(history):
        cost = tokens(exchange.question) + tokens(exchange.answer)
        if cost > budget:
            if not exchanges:
                service = max(0, budget - tokens(exchange.question))
                exchanges.append(Exchange(exchange.question, beginning(exchange.answer, service)))
            break
        exchanges.append(exchange)
        budget -= cost
    return exchanges[::-1]


def tokens(text: str) -> int:
    """About how many tokens a text has: models' vocabularies differ, and a budget needs no more."""
    wide = sum(map(written_without_spaces, text))
    return round((len(text) - wide) / LETTERS_A_TOKEN + wide * TOKENS_A_HAN + 0.5)


def beginning(text: str, budget: int) -> str:
    """As much of a text's beginning as fits."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle]) <= budget else (low, middle - 1)
    return text[:low]

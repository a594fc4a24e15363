"""What an answer sends and notes on its way: the one object of the flow that grows."""

from citemesh.client.types import Question
from gateway.query.answers.notices import Key, notice
from gateway.query.answers.transcript import Transcript
from gateway.query.telemetry import Steps
from gateway.query.wording import speaks_chinese


class Record:
    """An answer's transcript, the times of its steps, and what its reader should know at the end.

    Attributes:
        notices: what the gateway itself has to say.
        search_notices: what the search said of its answers.
    """

    def __init__(self, transcript: Transcript, steps: Steps) -> None:
        self.transcript = transcript
        self.steps = steps
        self.notices: list[Key] = []
        self.search_notices: list[str] = []

    def note(self, *keys: Key) -> None:
        """Adds notices for the reader."""
        self.notices += keys

    def notice(self, question: Question, earlier: str = "") -> str:
        """All notices, each once, in the language of the answer; ``earlier`` is what a kept answer said."""
        own = (text_of(key, question) for key in self.notices)
        return " ".join(dict.fromkeys([earlier, *own, *self.search_notices])).strip()


def text_of(key: Key, question: Question) -> str:
    """A notice in the language of the answer."""
    return notice(key, speaks_chinese(question))

"""A planner without a model: names that a passage gives to the question's own words bridge to the next search.

"Who first led the association which published the Journal of X?" finds the journal; its passage names an association
in the sentence that has most of the question's words. The next search is for that name and for the words that the
passage left open. Decision and choice of names are heuristics for English and other languages with capitals; Chinese,
Japanese and Korean have others (bridge_unspaced.py). How their bounds were chosen stands in docs/quality.md.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from citemesh.client.types import Passage
from citemesh.text.names import names
from citemesh.text.sentences import split_sentences
from citemesh.text.stop_words import ENGLISH_QUESTION_WORDS
from citemesh.text.words import content_words, stems
from gateway.query.plan import bridge_unspaced
from gateway.query.plan.name import Name, best_first
from gateway.query.plan.planner import Finding
from gateway.query.plan.unspaced import is_unspaced

WIDTH = 3
LONGEST = 1000
READ = 3
SENTENCES = 16
NEED = 4.0
_CLAUSE = re.compile(r"\b(?:which|that|who|whose|whom|where|when)\b", re.I)
_OF_THE = re.compile(r"\b(?:of|by|in|to|for|from|with|on|at) the\b", re.I)
_OPENING_WORDS = 2
_TITLE_SHARE = 0.9
_RANK_COST = 0.3


class Bridge:
    """Plans by names. Names are found by their letters, so its searches are lexical and need no second judge."""

    lexical = True

    async def next(self, question: str, findings: Sequence[Finding]) -> tuple[str, ...]:
        """At most WIDTH queries, each a name with the words that its passage left open."""
        if len(question) > LONGEST:
            return ()
        if is_unspaced(question):
            return await asyncio.to_thread(self._next_unspaced, question, findings)
        return await asyncio.to_thread(self._next, question, findings) if is_question(question) else ()

    def _next_unspaced(self, question: str, findings: Sequence[Finding]) -> tuple[str, ...]:
        """One more hop at most: what a later passage names is not told from its other words."""
        if findings[-1].hop > 1:
            return ()
        return tuple(dict.fromkeys(bridge_unspaced.queries(question, findings[0].ranked)))[:WIDTH]

    def _next(self, question: str, findings: Sequence[Finding]) -> tuple[str, ...]:
        hop = findings[-1].hop
        read = [
            scored.passage for finding in findings if finding.hop == hop for scored in finding.ranked[: _reads(hop)]
        ]
        if not read or (hop == 1 and need(question, read) < NEED):
            return ()
        earlier = {finding.query for finding in findings}
        queries: dict[str, None] = {}
        for query in (query_of(question, name) for name in bridges(question, read)):
            if query not in earlier:
                queries[query] = None
            if len(queries) == WIDTH:
                break
        return tuple(queries)


def is_question(text: str) -> bool:
    """Whether a text asks: it ends so, or begins with one of English's question words; a claim doesn't."""
    return text.rstrip().endswith("?") or any(
        word in ENGLISH_QUESTION_WORDS for word in text.lower().split()[:_OPENING_WORDS]
    )


def need(question: str, read: Sequence[Passage]) -> float:
    """How much a question asks beyond what one sentence says: words that none has, names, inner clauses."""
    words = stems(content_words(question))
    best = max((len(words & has) for passage in read for _, has in _said(passage.title, passage.text)), default=0)
    rest = " ".join(question.split()[_OPENING_WORDS:])
    clauses = len(_CLAUSE.findall(rest)) + 0.5 * len(_OF_THE.findall(question))
    return len(words) - best + len(names(question)) + clauses


def bridges(question: str, read: Sequence[Passage]) -> list[Name]:
    """Names in passages that the question doesn't have, best first."""
    return best_first(_names(question, read))


def query_of(question: str, name: Name) -> str:
    """A search for a name and for what its passage doesn't say of the question."""
    passage_words = _words(f"{name.passage.title} {name.passage.text}")
    return " ".join([name.text, *(word for word in content_words(question) if not stems([word]) <= passage_words)])


def _names(question: str, read: Sequence[Passage]) -> Iterator[Name]:
    words = stems(content_words(question))
    for rank, passage in enumerate(read):
        cost = 1 + _RANK_COST * rank
        for sentence, has in _said(passage.title, passage.text):
            fit = len(words & has) / max(1, len(words)) / cost
            yield from (
                Name(name, fit, passage) for name in names(f"x {sentence}") if _new(name, question, passage, words)
            )
        if _new(passage.title, question, None, words):
            share = len(words & _words(f"{passage.title} {passage.text}")) / max(1, len(words))
            yield Name(passage.title, _TITLE_SHARE * share / cost, passage)


def _new(name: str, question: str, passage: Passage | None, words: set[str]) -> bool:
    """Whether a name says something that question and passage's title don't."""
    telling_words = stems(content_words(name))
    if not telling_words or telling_words <= words or name[0].isdigit():
        return False
    title = passage.title.casefold() if passage else ""
    return name.casefold() not in question.casefold() and name.casefold() != title


def _reads(hop: int) -> int:
    """Passages that are read of each search of a hop."""
    return READ if hop == 1 else 1


@lru_cache(maxsize=256)
def _said(title: str, text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Each of a passage's first sentences and its words, with those of the title, which says what "it" is."""
    about = _words(title)
    return tuple(
        (sentence.text, frozenset(about | _words(sentence.text))) for sentence in split_sentences(text)[:SENTENCES]
    )


def _words(text: str) -> set[str]:
    return stems(content_words(text))

"""Related questions, made without a model: each is answered by a passage that was found and not used.

A heading that asks is taken as it stands; a sentence that says what something is, or when something was done, gives the
question that it answers; any other heading gives a question about it. Frames are English or Chinese; for a question in
another language only what needs no frame is proposed.
"""

import re
from collections.abc import Iterator, Sequence

from citemesh.client.types import Passage, Source
from citemesh.text.scripts import HAN, is_chinese, script_of
from citemesh.text.sentences import split_sentences
from citemesh.text.stop_words import ENGLISH_FUNCTION_WORDS
from citemesh.text.words import content_words, stems
from gateway.query.pack.packing import Scored

LONGEST = 160
SENTENCES = 12
PASSAGES = 12
ALIKE = 0.6
RELEVANT = 0.15
"""Share of the best passage's score from which a passage is on the matter; what has less was merely found."""
_THING = r"(?P<thing>(?:The |An? )?[A-Z][\w’'-]*(?: [\w’'-]+){0,5}?)"
_IS = re.compile(rf"^{_THING} (?P<verb>is|are|was|were) (?:an?|the|one of) \w+")
_DONE_IN = re.compile(rf"^{_THING} (?P<verb>was|were) (?P<done>\w+(?:ed|en|un|lt|de)) .*?\bin \d{{4}}\b")
_HAN_IS = re.compile(rf"^(?P<thing>[{HAN}A-Za-z0-9·]{{2,16}}?)(?:是一|是指|是中|为一)")
_PRONOUNS = frozenset(("it", "this", "that", "these", "those", "they", "he", "she", "we", "you", "there", "here"))
_NUMBERING = re.compile(r"^[\d.\s§#*-]+")


def related(
    question: str, passages: Sequence[Scored], used: Sequence[Source], earlier: Sequence[str], most: int
) -> tuple[str, ...]:
    """At most ``most`` questions, best passages first, none like another, the question, or one asked before."""
    if most <= 0:
        return ()
    questions: list[str] = []
    for rounds in zip(
        *(_padded(proposed(passage, question)) for passage in unused(passages, used)[:PASSAGES]), strict=True
    ):
        for candidate in filter(None, rounds):
            if len(questions) < most and not any(alike(candidate, other) for other in (question, *earlier, *questions)):
                questions.append(candidate)
    return tuple(questions)


def unused(passages: Sequence[Scored], used: Sequence[Source]) -> list[Passage]:
    """Passages that are no source and on the matter, best first."""
    used_ids = {(source.collection, source.chunk_id) for source in used}
    least = RELEVANT * max((scored.score for scored in passages), default=0.0)
    return [
        scored.passage
        for scored in passages
        if scored.score >= least and (scored.passage.collection, scored.passage.chunk_id) not in used_ids
    ]


def proposed(passage: Passage, question: str) -> Iterator[str]:
    """Questions that a passage answers, best first, in the language of the question."""
    chinese = is_chinese(question)
    if chinese != is_chinese(passage.text):
        return
    headings = [
        _NUMBERING.sub("", heading).strip() for heading in reversed((passage.title, *passage.location.headings))
    ]
    headings = [heading for heading in headings if 1 < len(heading) <= LONGEST]
    yield from (heading for heading in headings if heading[-1] in "?？")
    if chinese:
        yield from _chinese(passage, headings)
    elif is_english(question):
        yield from _english(passage, headings)


def _english(passage: Passage, headings: Sequence[str]) -> Iterator[str]:
    for sentence in split_sentences(passage.text)[:SENTENCES]:
        text = " ".join(sentence.text.split())
        if (match := _DONE_IN.match(text)) and _stands_alone(match["thing"]):
            yield f"When {match['verb']} {_inside(match['thing'])} {match['done']}?"
        elif (match := _IS.match(text)) and _stands_alone(match["thing"]):
            yield f"What {match['verb']} {_inside(match['thing'])}?"
    if headings and headings[0][-1] not in "?？":
        about = f" in “{headings[-1]}”" if len(headings) > 1 and headings[-1] != headings[0] else ""
        yield f"What is said about “{headings[0]}”{about}?"


def _chinese(passage: Passage, headings: Sequence[str]) -> Iterator[str]:
    for sentence in split_sentences(passage.text)[:SENTENCES]:
        if match := _HAN_IS.match(sentence.text.strip()):
            yield f"{match['thing']}是什么？"
    if headings and headings[0][-1] not in "?？":
        prefix = f"《{headings[-1]}》中" if len(headings) > 1 and headings[-1] != headings[0] else ""
        yield f"{prefix}关于“{headings[0]}”有哪些内容？"


def alike(first: str, other: str) -> bool:
    """Whether two questions ask nearly the same: most of the telling words of the shorter are in the longer."""
    left, right = stems(content_words(first)), stems(content_words(other))
    if not left or not right:
        return first.strip("?？ ").casefold() == other.strip("?？ ").casefold()
    return len(left & right) / min(len(left), len(right)) > ALIKE and _asks(first) == _asks(other)


def is_english(text: str) -> bool:
    """Whether a text has one of English's function words."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    return script_of(text) == "latin" and bool(words & ENGLISH_FUNCTION_WORDS)


def _asks(question: str) -> str:
    """The first word: what a thing is and when it was made are two questions."""
    return question.split()[0].casefold() if question.split() else ""


def _stands_alone(thing: str) -> bool:
    return thing.split()[0].lower() not in _PRONOUNS and len(content_words(thing)) > 0


def _inside(thing: str) -> str:
    """A sentence's first words within another sentence: its article is no longer the first."""
    first, _, rest = thing.partition(" ")
    return f"{first.lower()} {rest}" if first in ("The", "A", "An") else thing


def _padded(questions: Iterator[str]) -> list[str | None]:
    padded: list[str | None] = list(dict.fromkeys(q for q in questions if len(q) <= LONGEST))
    return [*padded, *[None] * SENTENCES][:SENTENCES]

"""Plain fakes of the services, with switches for their faults."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from citemesh.client.types import (
    AskEvent,
    Candidate,
    Chat,
    CitationEvent,
    Delta,
    DeltaEvent,
    DoneEvent,
    Encoded,
    Judge,
    Location,
    Model,
    Passage,
    Ranked,
    Sampling,
    Search,
    SearchAnswer,
    SourcesEvent,
    Span,
    Support,
    TokenizerInfo,
    Usage,
)
from gateway.query.limits import Limits
from gateway.query.ports import Upstreams

DIGEST = hashlib.sha256(b"fake").hexdigest()
CONTROLS = {"<|im_start|>": 1, "<|im_end|>": 2, "<|endoftext|>": 3}
FIRST = 10
_TOKEN = re.compile(r"<\|(?:im_start|im_end|endoftext)\|>|[\s\S]")


def ids_of(text: str) -> tuple[int, ...]:
    """One id a character; control tokens have ids of their own, as in real tokenizers."""
    return tuple(CONTROLS.get(token) or ord(token) + FIRST for token in _TOKEN.findall(text))


def text_of(ids: Sequence[int], skip: bool = False) -> str:
    names = {value: "" if skip else key for key, value in CONTROLS.items()}
    return "".join(names[i] if i in names else chr(i - FIRST) for i in ids)


@dataclass
class FakeTokenizer:
    calls: list[list[str]] = field(default_factory=list)
    renders: int = 0
    error: Exception | None = None

    async def encode(self, texts: Sequence[str], tokenizer: str = "", add_special_tokens: bool = False) -> Encoded:
        self.calls.append(list(texts))
        if self.error:
            raise self.error
        return Encoded(tuple(ids_of(text) for text in texts), "fake", DIGEST)

    async def decode(
        self, sequences: Sequence[Sequence[int]], tokenizer: str = "", skip_special_tokens: bool = True
    ) -> tuple[str, ...]:
        return tuple(text_of(ids, skip_special_tokens) for ids in sequences)

    async def render_chat(
        self, messages: Sequence[tuple[str, str]], tokenizer: str = "", add_generation_prompt: bool = True
    ) -> Chat:
        self.renders += 1
        text = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in messages)
        text += "<|im_start|>assistant\n" if add_generation_prompt else ""
        return Chat(text, ids_of(text), DIGEST)

    async def list(self) -> tuple[TokenizerInfo, ...]:
        return (TokenizerInfo("fake", DIGEST, 200_000, 0, True),)


@dataclass
class FakeRetrieval:
    passages: tuple[Passage, ...] = ()
    error: Exception | None = None
    asked: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)
    elsewhere: dict[str, tuple[Passage, ...]] = field(default_factory=dict)
    sequence: int = 1
    sequences: dict[str, int] = field(default_factory=dict)
    """Last change by collection, where it isn't ``sequence``."""
    notices: tuple[str, ...] = ()

    async def find(self, search: Search) -> SearchAnswer:
        """Passages of a collection named in ``elsewhere``, else ``passages``, whatever is asked."""
        self.searches.append(search)
        self.asked.append((search.query, search.collection, tuple(search.filter.source_types)))
        if self.error:
            raise self.error
        passages = self.elsewhere.get(search.collection, self.passages)
        sequence = self.sequences.get(search.collection, self.sequence)
        return SearchAnswer(passages[: search.top_k], sequence, self.notices)


@dataclass
class FakeGeneration:
    """Writes ``deltas``; then raises ``error``, waits for good where ``hang`` is set, or finishes."""

    deltas: Sequence[str] = ("The pump runs at 40 bar. ", "It was built in 1987.")
    finish: str = "stop"
    error: Exception | None = None
    list_error: Exception | None = None
    hang: bool = False
    model: Model = field(default_factory=lambda: Model("fake-model", 4096, DIGEST, "fake", 0, 0))
    prompts: list[tuple[int, ...]] = field(default_factory=list)
    sampling: Sampling | None = None
    running: int = 0
    ended: int = 0
    """Streams that were read to their own end."""
    lingers: bool = False
    """The stream stays open after its finish."""
    pause: Callable[[], Awaitable[None]] | None = None

    async def generate(
        self, ids: Sequence[int], digest: str = "", sampling: Sampling | None = None, model: str = ""
    ) -> AsyncIterator[Delta]:
        self.prompts.append(tuple(ids))
        self.sampling = sampling
        self.running += 1
        try:
            for text in self.deltas:
                await (self.pause() if self.pause else asyncio.sleep(0))
                yield Delta(text, (1,))
            if self.hang:
                await asyncio.Event().wait()
            if self.error:
                raise self.error
            yield Delta("", (), self.finish, Usage(len(ids), len(self.deltas), 0))
            if self.lingers:
                await asyncio.Event().wait()
            self.ended += 1
        finally:
            self.running -= 1

    async def list(self) -> tuple[Model, ...]:
        if self.list_error:
            raise self.list_error
        return (self.model,)


@dataclass
class FakeReranker:
    """Judges by shared words: a sentence is supported by a passage that has most of its words in one sentence."""

    error: Exception | None = None
    attributed: list[list[str]] = field(default_factory=list)
    gate: asyncio.Event | None = None
    judge: Judge | Exception = field(default_factory=lambda: Judge("fake", 1.0, "d" * 64))
    reranked: list[list[Candidate]] = field(default_factory=list)
    told: int = 0
    """How often it was asked which model judges."""

    async def model(self) -> Judge:
        self.told += 1
        if self.error or isinstance(self.judge, Exception):
            raise self.error or self.judge  # type: ignore[misc]  # one of them is an exception
        return self.judge

    async def rerank(self, query: str, candidates: Sequence[Candidate], top_k: int = 0) -> tuple[Ranked, ...]:
        self.reranked.append(list(candidates))
        if self.error:
            raise self.error
        scored = [(share(query, c.text), -at, c.id) for at, c in enumerate(candidates)]
        return tuple(Ranked(id_, score, score) for score, _, id_ in sorted(scored, reverse=True))[: top_k or None]

    async def attribute(
        self, sentences: Sequence[str], passages: Sequence[Candidate], max_support: int = 3
    ) -> tuple[tuple[Support, ...], ...]:
        self.attributed.append(list(sentences))
        if self.gate:
            await self.gate.wait()
        if self.error:
            raise self.error
        return tuple(tuple(self._support(s, passages)[:max_support]) for s in sentences)

    def _support(self, sentence: str, passages: Sequence[Candidate]) -> list[Support]:
        found = []
        for passage in passages:
            spans = [m.span() for m in re.finditer(r"[^.。]+[.。]?", passage.text)]
            score, span = max((share(sentence, passage.text[a:b]), (a, b)) for a, b in spans)
            found.append(Support(passage.id, score, Span(*span), score >= 0.6))
        return sorted(found, key=lambda s: -s.score)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.lower()))


def share(one: str, other: str) -> float:
    return len(words(one) & words(other)) / max(1, len(words(one)))


def passage(
    text: str, document: str = "d1", start: int = 0, title: str = "Pump manual", stored: bool = True, page: int = 0
) -> Passage:
    location = Location(Span(start, start + len(text)), page, ("Pumps",))
    ids = ids_of(text) if stored else ()
    chunk = hashlib.sha256(f"{document}{start}{text}".encode()).hexdigest()[:32]
    return Passage(
        chunk, document, "default", title, f"docs/{document}.md", location, text, ids, DIGEST if stored else "", 0.5
    )


PASSAGES = (
    passage("The pump runs at 40 bar. It needs oil.", "d1", 100),
    passage("It was built in 1987 by Acme. The housing is steel.", "d2", 7, "History"),
    passage("Whales live in the sea.", "d3", 0, "Whales"),
)


@dataclass
class Mesh:
    """All the fakes of one test."""

    tokenizer: FakeTokenizer = field(default_factory=FakeTokenizer)
    retrieval: FakeRetrieval = field(default_factory=lambda: FakeRetrieval(PASSAGES))
    generation: FakeGeneration = field(default_factory=FakeGeneration)
    reranker: FakeReranker = field(default_factory=FakeReranker)

    @property
    def services(self) -> Upstreams:
        return Upstreams(self.tokenizer, self.retrieval, self.generation, self.reranker)


LIMITS = Limits(context_tokens=2000)


def answer_of(events: Sequence[AskEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, DeltaEvent))


def done_of(events: Sequence[AskEvent]) -> DoneEvent:
    assert isinstance(events[-1], DoneEvent)
    return events[-1]


def citations_of(events: Sequence[AskEvent]) -> list[CitationEvent]:
    return [event for event in events if isinstance(event, CitationEvent)]


def sources_of(events: Sequence[AskEvent]) -> SourcesEvent:
    return next(event for event in events if isinstance(event, SourcesEvent))


def assert_sound(events: Sequence[AskEvent], passages: Sequence[Passage] = PASSAGES) -> None:
    """What holds for every answer: spans tile the text, citations follow their text and quote the very document."""
    answer, at, said = answer_of(events), 0, 0
    sources = {source.number: source for source in sources_of(events).sources}
    assert list(sources) == list(range(1, len(sources) + 1))
    for event in events:
        if isinstance(event, DeltaEvent):
            assert event.text
            said += len(event.text)
        if isinstance(event, CitationEvent):
            assert event.sentence.start == at
            assert event.sentence.end <= said
            at = event.sentence.end
            assert event.supported == bool(event.citations)
            for citation in event.citations:
                source = sources[citation.number]
                assert citation.document_id == source.document_id
                span, base = citation.location.span, source.location.span.start
                assert citation.quote == source.text[span.start - base : span.end - base]
                assert citation.quote == citation.quote.strip()
    assert at == len(answer)
    assert set(done_of(events).cited) <= set(sources)

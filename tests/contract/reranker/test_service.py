"""What the reranker promises its callers, over a real socket: on the fake engine and on the real ones."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from citemesh.api.reranker.v1 import reranker_service_pb2 as pb
from citemesh.api.reranker.v1.reranker_service_pb2_grpc import RerankerServiceStub
from citemesh.client import Mesh
from citemesh.client.types import Candidate, Judge
from citemesh.errors import DeadlineExceeded, InvalidInput, Overloaded
from citemesh.kit import call_context
from citemesh.kit.server import Server
from citemesh.models.tokens.token_vectors import StoredVectors, pack
from services.reranker.engine import Alive, PassageSupport, RerankerEngine, TextVectors, VectorForm
from services.reranker.main import service_of
from services.reranker.pool import RerankerPool
from services.reranker.settings import RerankerSettings
from tests.contract.reranker.reranker_engines import SERVED, make_engine

MODELS = Path("~/.cache/citemesh/models").expanduser()
PARIS = Candidate("paris", "Paris is the capital of France. About 2.1 million people live there.", 0.5)
BERLIN = Candidate("berlin", "Berlin is the capital of Germany. The wall fell in 1989.", 0.4)
CHINA = Candidate("china", "北京是中国的首都。长城很长。😀")
ALL_THREE = [BERLIN, PARIS, CHINA]


class SlowEngine:
    """Works until it is released or nobody waits; remembers what it saw."""

    name = "slow"
    vector_form = VectorForm("d" * 64, 4)

    def __init__(self) -> None:
        self.release = threading.Event()
        self.begun: list[str] = []
        self.left: list[str] = []
        self.fault: Exception | None = None
        self.vectors: list[list[StoredVectors | None]] = []

    def load(self) -> None:
        pass

    def relevance(self, query: str, texts: Sequence[str], alive: Alive, vectors: TextVectors = ()) -> list[float]:
        self.vectors.append(list(vectors))
        self.begun.append(query)
        while not self.release.wait(0.005):
            if not alive():
                self.left.append(query)
                raise DeadlineExceeded("reranking")
        if self.fault:
            raise self.fault
        return [1.0] * len(texts)

    def support(
        self, sentences: Sequence[str], texts: Sequence[str], alive: Alive, vectors: TextVectors = ()
    ) -> list[list[PassageSupport]]:
        self.vectors.append(list(vectors))
        return [[] for _ in sentences]


@asynccontextmanager
async def serving(
    engine: RerankerEngine, folder: Path, pool: RerankerPool | None = None, **changes: object
) -> AsyncIterator[Mesh]:
    fields = {"blend_weight": 0.5, **changes}
    settings = RerankerSettings(listen=f"unix:{folder / 'r.sock'}", drain_s=1, **fields)  # type: ignore[arg-type]  # names differ a test
    server = Server(service_of(engine, pool or RerankerPool(2, 64), settings), settings)
    await server.start()
    try:
        async with Mesh({"reranker": settings.address}) as mesh:
            yield mesh
    finally:
        await server.stop()


async def until(condition: Callable[[], bool], within_s: float = 5.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RerankerEngine:
    return make_engine(getattr(request, "param", "fake"), tmp_path_factory.mktemp("engine"), MODELS)


@pytest.fixture
async def mesh(engine: RerankerEngine, tmp_path: Path) -> AsyncIterator[Mesh]:
    async with serving(engine, tmp_path) as running:
        yield running


@pytest.mark.parametrize("engine", SERVED, indirect=True)
class TestOverEveryEngine:
    async def test_rerank_loses_no_passage(self, mesh: Mesh) -> None:
        ranked = await mesh.reranker.rerank("What is the capital of France?", ALL_THREE)
        assert {r.id for r in ranked} == {"paris", "berlin", "china"}
        assert [r.score for r in ranked] == sorted((r.score for r in ranked), reverse=True)
        assert all(0 <= r.score <= 1 for r in ranked)

    async def test_top_k_answers_the_best(self, mesh: Mesh) -> None:
        ranked = await mesh.reranker.rerank("capital of France", ALL_THREE)
        best = await mesh.reranker.rerank("capital of France", ALL_THREE, top_k=2)
        assert [r.id for r in best] == [r.id for r in ranked[:2]]

    async def test_nothing_in_nothing_out(self, mesh: Mesh) -> None:
        assert await mesh.reranker.rerank("anything", []) == ()
        assert await mesh.reranker.attribute(["A sentence.", "Another."], []) == ((), ())

    async def test_equal_passages_keep_the_order_of_the_request(self, mesh: Mesh) -> None:
        same = [Candidate(f"c{n}", "The same text.", 0.5) for n in range(20)]
        ranked = await mesh.reranker.rerank("text", same)
        assert [r.id for r in ranked] == [c.id for c in same]

    async def test_attribute_answers_each_sentence(self, mesh: Mesh) -> None:
        sentences = ["The wall fell in 1989.", "😀", "北京是中国的首都", "x"]
        answers = await mesh.reranker.attribute(sentences, ALL_THREE, max_support=1)
        texts = {c.id: c.text for c in ALL_THREE}
        assert len(answers) == 4
        assert answers[1] == ()
        assert texts["berlin"][answers[0][0].span.start : answers[0][0].span.end] != ""
        assert answers[2][0].passage_id == "china"
        assert "北京" in texts["china"][answers[2][0].span.start : answers[2][0].span.end]
        assert all(len(supports) <= 1 for supports in answers)

    async def test_many_at_once_get_their_own_answers(self, mesh: Mesh) -> None:
        async def ask(n: int) -> str:
            text = f"Number {n} is here."
            [support] = (await mesh.reranker.attribute([text], [Candidate(f"p{n}", text)]))[0]
            return support.passage_id

        assert await asyncio.gather(*map(ask, range(32))) == [f"p{n}" for n in range(32)]

    async def test_the_largest_request_is_answered(self, mesh: Mesh) -> None:
        sentence = ("Long sentence about water and stone. " * 300)[:8192]
        [supports] = await mesh.reranker.attribute([sentence], [PARIS, Candidate("long", "石" * 3000)])
        assert all(s.span.end <= 3000 for s in supports)


BAD = [
    (pb.RerankRequest(), "query: is empty"),
    (pb.RerankRequest(query=" \n"), "query: is empty"),
    (pb.RerankRequest(query="q" * 32769), "query: has 32769 characters"),
    (pb.RerankRequest(query="q", top_k=-1), "top_k: is -1"),
    (pb.RerankRequest(query="q", top_k=1001), "top_k: is 1001"),
    (pb.RerankRequest(query="q", candidates=[pb.Candidate(text="t")]), r"candidates\[0\]\.id: is empty"),
    (pb.RerankRequest(query="q", candidates=[pb.Candidate(id="a")]), r"candidates\[0\]\.text: is empty"),
    (
        pb.RerankRequest(query="q", candidates=[pb.Candidate(id=i, text="t") for i in "abca"]),
        r"candidates\[3\]\.id: 'a' is the id of candidates\[0\] too",
    ),
    (
        pb.RerankRequest(query="q", candidates=[pb.Candidate(id="a", text="t", retrieval_score=float("nan"))]),
        r"candidates\[0\]\.retrieval_score: is nan",
    ),
    (
        pb.RerankRequest(query="q", candidates=[pb.Candidate(id=str(n), text="t") for n in range(1001)]),
        "candidates: has 1001 entries",
    ),
    (pb.RerankRequest(query="q", candidates=[pb.Candidate(id="a", text="t" * 65537)]), r"candidates\[0\]\.text: has"),
    (pb.AttributeRequest(), "sentences: has 0 entries"),
    (pb.AttributeRequest(sentences=["a", ""]), r"sentences\[1\]: is empty"),
    (pb.AttributeRequest(sentences=["a" * 8193]), r"sentences\[0\]: has 8193 characters"),
    (pb.AttributeRequest(sentences=["a"] * 257), "sentences: has 257 entries"),
    (pb.AttributeRequest(sentences=["a"], max_support=17), "max_support: is 17"),
    (pb.AttributeRequest(sentences=["a"], passages=[pb.Candidate(id="a", text="t")] * 2), r"passages\[1\]\.id"),
]


@pytest.mark.parametrize(("request_", "fault"), BAD, ids=[fault[:40] for _, fault in BAD])
async def test_bad_input_names_the_field(mesh: Mesh, request_: object, fault: str) -> None:
    caller = mesh.reranker._caller
    stub = RerankerServiceStub(caller.channel)
    method = stub.Rerank if isinstance(request_, pb.RerankRequest) else stub.Attribute
    with pytest.raises(InvalidInput, match=fault):
        await caller.unary(method, request_)


async def test_a_passage_without_retrieval_score_counts_as_the_lowest(mesh: Mesh) -> None:
    same = [Candidate("none", "same"), Candidate("low", "same", -2.0), Candidate("high", "same", 3.0)]
    ranked = await mesh.reranker.rerank("same", same)
    assert [r.id for r in ranked] == ["high", "none", "low"]
    assert ranked[1].score == ranked[2].score


async def test_the_blend_weight_decides(engine: RerankerEngine, tmp_path: Path) -> None:
    candidates = [Candidate("says", "capital of France", 0.1), Candidate("found", "noodles", 0.9)]
    for weight, first in ((1.0, "says"), (0.0, "found")):
        async with serving(engine, tmp_path, blend_weight=weight) as mesh:
            assert (await mesh.reranker.rerank("capital of France", candidates))[0].id == first


async def test_without_a_share_the_model_is_asked_only_where_nothing_else_is_known(
    engine: RerankerEngine, tmp_path: Path
) -> None:
    scored = [Candidate("low", "capital of France", 0.1), Candidate("high", "noodles", 0.9)]
    unknown = [Candidate(candidate.id, candidate.text) for candidate in scored]
    async with serving(engine, tmp_path, blend_weight=0.0) as mesh:
        ranked = await mesh.reranker.rerank("capital of France", scored)
        assert [(candidate.id, candidate.model_score) for candidate in ranked] == [("high", 0.0), ("low", 0.0)]
        assert (await mesh.reranker.rerank("capital of France", unknown))[0].id == "low"


async def test_it_says_which_model_judges_and_what_it_can_use(engine: RerankerEngine, tmp_path: Path) -> None:
    for weight in (0.0, 0.25):
        async with serving(engine, tmp_path, blend_weight=weight) as mesh:
            assert await mesh.reranker.model() == Judge(engine.name, weight, "")
    async with serving(SlowEngine(), tmp_path) as mesh:
        assert (await mesh.reranker.model()).token_vectors_digest == FORM.digest


def test_an_engine_has_the_share_that_was_measured_for_it() -> None:
    shares = [RerankerSettings(engine=engine).weight for engine in ("late", "cross")]
    assert shares == [0.0, 0.5]
    assert RerankerSettings(engine="late", blend_weight=0.3).weight == 0.3


async def test_the_threshold_decides_what_counts_as_supported(engine: RerankerEngine, tmp_path: Path) -> None:
    for threshold, supported in ((0.01, True), (0.999, False)):
        async with serving(engine, tmp_path, threshold=threshold) as mesh:
            [[support]] = await mesh.reranker.attribute(["Paris is the capital."], [PARIS])
            assert support.supported is supported


FORM = VectorForm("d" * 64, 4)


def vectors_of(text: str, dimensions: int = 4) -> bytes:
    """One vector a character."""
    return pack(len(text), np.arange(len(text)), np.eye(dimensions, dtype=np.float32)[np.arange(len(text)) % 4])


async def test_token_vectors_of_the_engines_own_form_reach_it(tmp_path: Path) -> None:
    slow = SlowEngine()
    slow.release.set()
    usable = Candidate("own", "字 ab", 0.5, vectors_of("字 ab"), FORM.digest)
    foreign = Candidate("other", "x", 0.5, b"anything", "e" * 64)
    async with serving(slow, tmp_path) as mesh:
        await mesh.reranker.rerank("q", [foreign, usable, PARIS])
        await mesh.reranker.attribute(["A sentence."], [PARIS, usable])
    (none, read, nothing), (missing, reread) = slow.vectors
    assert none is nothing is missing is None, "another model's are not used, and not looked at"
    assert read is not None
    assert reread is not None
    assert read.places.tolist() == [0, 1, 2, 3]
    assert read.vectors.argmax(axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("packed", "fault"),
    [
        (b"short", "few"),
        (vectors_of("abcd")[:-1], "size"),
        (vectors_of("abc"), "3 characters, and this one has 4"),
        (pack(4, np.arange(4), np.eye(4, 8, dtype=np.float32)), "8 dimensions, and 4 are wanted"),
    ],
)
async def test_bad_token_vectors_are_refused_by_name(tmp_path: Path, packed: bytes, fault: str) -> None:
    bad = Candidate("bad", "abcd", 0.5, packed, FORM.digest)
    async with serving(SlowEngine(), tmp_path) as mesh:
        with pytest.raises(InvalidInput, match=rf"candidates\[1\]\.token_vectors: .*{fault}"):
            await mesh.reranker.rerank("q", [PARIS, bad])
        with pytest.raises(InvalidInput, match=rf"passages\[0\]\.token_vectors: .*{fault}"):
            await mesh.reranker.attribute(["s"], [bad])


async def test_a_full_queue_refuses_at_once(tmp_path: Path) -> None:
    slow, pool = SlowEngine(), RerankerPool(1, waiting=1)
    async with serving(slow, tmp_path, pool) as mesh:
        first = asyncio.create_task(mesh.reranker.rerank("first", [PARIS]))
        await until(lambda: slow.begun == ["first"])
        second = asyncio.create_task(mesh.reranker.rerank("second", [PARIS]))
        await until(lambda: pool.waiting == 1)
        with pytest.raises(Overloaded, match="queue") as refused:
            await mesh.reranker.rerank("third", [PARIS])
        assert refused.value.retry_after_s > 0
        slow.release.set()
        assert len(await first) == len(await second) == 1


async def test_urgent_calls_go_first(tmp_path: Path) -> None:
    slow, pool = SlowEngine(), RerankerPool(1, waiting=10)
    async with serving(slow, tmp_path, pool) as mesh:
        calls = [asyncio.create_task(mesh.reranker.rerank("first", [PARIS]))]
        await until(lambda: slow.begun == ["first"])
        for name, priority in (("background", 2), ("batch", 1), ("interactive", 0)):
            with call_context.calling(call_context.CallContext(priority=priority)):
                calls.append(asyncio.create_task(mesh.reranker.rerank(name, [PARIS])))
        await until(lambda: pool.waiting == 3)
        slow.release.set()
        await asyncio.gather(*calls)
    assert slow.begun == ["first", "interactive", "batch", "background"]


async def test_work_stops_when_the_caller_leaves(tmp_path: Path) -> None:
    slow, pool = SlowEngine(), RerankerPool(1, waiting=10)
    async with serving(slow, tmp_path, pool) as mesh:
        running = asyncio.create_task(mesh.reranker.rerank("running", [PARIS]))
        await until(lambda: slow.begun == ["running"])
        waiting = asyncio.create_task(mesh.reranker.rerank("waiting", [PARIS]))
        await until(lambda: pool.waiting == 1)
        waiting.cancel()
        await until(lambda: pool.waiting == 0)
        running.cancel()
        await until(lambda: slow.left == ["running"])
        slow.release.set()
        await mesh.reranker.rerank("next", [PARIS])
    assert slow.begun == ["running", "next"]


async def test_the_deadline_ends_the_work(tmp_path: Path) -> None:
    slow = SlowEngine()
    async with serving(slow, tmp_path) as mesh:
        with call_context.calling(call_context.from_headers({}, 0.2)), pytest.raises(DeadlineExceeded):
            await mesh.reranker.rerank("late", [PARIS])
        await until(lambda: slow.left == ["late"])


async def test_health_falls_after_repeated_unforeseen_faults(tmp_path: Path) -> None:
    slow = SlowEngine()
    slow.fault = RuntimeError("weights are gone")
    slow.release.set()
    async with serving(slow, tmp_path) as mesh:
        assert await mesh.serving("reranker")
        for _ in range(3):
            with pytest.raises(Exception, match="incident"):
                await mesh.reranker.rerank("q", [PARIS])
        async with asyncio.timeout(5):
            while await mesh.serving("reranker"):
                await asyncio.sleep(0.05)

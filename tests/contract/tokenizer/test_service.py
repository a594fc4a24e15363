"""What the tokenizer promises its callers, over a real socket: on the fake engine and on real ones."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from citemesh.api.tokenizer.v1 import tokenizer_service_pb2 as pb
from citemesh.api.tokenizer.v1.tokenizer_service_pb2_grpc import TokenizerServiceStub
from citemesh.client import Mesh
from citemesh.errors import InvalidInput, NotFound
from citemesh.kit.server import Server
from services.tokenizer import main
from services.tokenizer.engine import TokenizerEngine
from services.tokenizer.settings import TokenizerSettings
from tests.contract.tokenizer.tokenizer_engines import BYTE_PAIRS, FAKE, UNIGRAM, make_engine

ENGINES = [FAKE, BYTE_PAIRS, UNIGRAM]
LIMIT = 64 << 20


@asynccontextmanager
async def serving(engine: TokenizerEngine, folder: Path, **changes: Any) -> AsyncIterator[TokenizerSettings]:
    settings = TokenizerSettings(engine="fake", listen=f"unix:{folder / 't.sock'}", drain_s=1, **changes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(main, "load_engines", lambda _: [engine])
        server = Server(main.build(settings), settings)
        await server.start()
    try:
        yield settings
    finally:
        await server.stop()


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> TokenizerEngine:
    return make_engine(getattr(request, "param", "fake"))


@pytest.fixture
async def stub(engine: TokenizerEngine, tmp_path: Path) -> AsyncIterator[TokenizerServiceStub]:
    options = [("grpc.max_receive_message_length", LIMIT), ("grpc.max_send_message_length", LIMIT)]
    async with (
        serving(engine, tmp_path) as settings,
        grpc.aio.insecure_channel(settings.address, options=options) as channel,
    ):
        yield TokenizerServiceStub(channel)


def details(error: grpc.aio.AioRpcError, kind: type[Any]) -> Any:
    status = rpc_status.from_call(error)  # type: ignore[arg-type]  # it reads what both kinds of errors have
    assert status is not None
    for packed in status.details:
        detail = kind()
        if packed.Unpack(detail):
            return detail
    raise AssertionError(f"no {kind.__name__} in {status}")


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
class TestServiceOfEveryEngine:
    async def test_texts_become_ids_in_their_order(self, stub: TokenizerServiceStub, engine: TokenizerEngine) -> None:
        texts = ["", "The sky is blue.", "天空是蓝色的 😀"]
        answer = await stub.Encode(pb.EncodeRequest(texts=texts, with_spans=True))
        expected = engine.encode(texts, with_spans=True)
        assert [list(sequence.ids) for sequence in answer.sequences] == [tokens.ids for tokens in expected]
        spans = [[(span.start, span.end) for span in sequence.spans] for sequence in answer.sequences]
        assert spans == [tokens.spans for tokens in expected]
        assert (answer.tokenizer, answer.tokenizer_digest) == (engine.facts.name, engine.facts.digest)

    async def test_start_and_end_tokens_and_truncation(
        self, stub: TokenizerServiceStub, engine: TokenizerEngine
    ) -> None:
        request = pb.EncodeRequest(texts=["a b c d e f g h i j", "a"], add_special_tokens=True, max_tokens=6)
        long, short = (await stub.Encode(request)).sequences
        facts = engine.facts
        assert len(long.ids) == 6
        assert tuple(long.ids)[: len(facts.prefix)] == facts.prefix
        assert tuple(long.ids)[len(long.ids) - len(facts.suffix) :] == facts.suffix
        assert (long.truncated, short.truncated) == (True, False)

    async def test_pieces_hold_the_whole_text(self, stub: TokenizerServiceStub, engine: TokenizerEngine) -> None:
        text = "First paragraph, 第一段。\n\nSecond one with a few more words! 第二段有更多的字。\n" * 30
        for overlap in (0, 8):
            answer = await stub.Split(pb.SplitRequest(text=text, max_tokens=40, overlap_tokens=overlap))
            covered: set[int] = set()
            for piece in answer.pieces:
                assert piece.text == text[piece.span.start : piece.span.end]
                assert 1 <= piece.tokens <= 40
                assert piece.tokens == len(engine.encode([piece.text], with_spans=False)[0].ids)
                covered.update(range(piece.span.start, piece.span.end))
            assert all(character.isspace() or place in covered for place, character in enumerate(text))

    @pytest.mark.slow
    async def test_hostile_texts_come_to_an_end(self, stub: TokenizerServiceStub) -> None:
        for text in ("x" * 200_000, "汉" * 50_000, "😀" * 5_000, "e" + "\u0301" * 5_000, " \n" * 20_000, "\ufdfa" * 9):
            answer = await stub.Split(pb.SplitRequest(text=text, max_tokens=64, overlap_tokens=16))
            joined = {place for piece in answer.pieces for place in range(piece.span.start, piece.span.end)}
            assert len(joined) >= sum(not character.isspace() for character in text)

    async def test_many_callers_get_their_own_answers(
        self, stub: TokenizerServiceStub, engine: TokenizerEngine
    ) -> None:
        texts = [f"caller {number} asks 第{number}个问题" for number in range(64)]
        answers = await asyncio.gather(*(stub.Encode(pb.EncodeRequest(texts=[text])) for text in texts))
        expected = [tokens.ids for tokens in engine.encode(texts, with_spans=False)]
        assert [list(answer.sequences[0].ids) for answer in answers] == expected

    async def test_bad_requests_are_told_what_is_wrong(self, stub: TokenizerServiceStub) -> None:
        requests = {
            "texts": stub.Encode(pb.EncodeRequest()),
            "sequences[0].ids[1]": stub.Decode(pb.DecodeRequest(sequences=[pb.TokenIds(ids=[1, 4_000_000_000])])),
            "max_tokens": stub.Split(pb.SplitRequest(text="x", max_tokens=1)),
        }
        for field, call in requests.items():
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert details(caught.value, error_details_pb2.BadRequest).field_violations[0].field == field

    async def test_an_unknown_tokenizer_is_told_the_known_ones(
        self, stub: TokenizerServiceStub, engine: TokenizerEngine
    ) -> None:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Encode(pb.EncodeRequest(tokenizer="nope", texts=["x"]))
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND
        assert engine.facts.name in str(caught.value.details())


@pytest.mark.slow
async def test_ten_megabytes_pass_and_twenty_are_refused_in_words(stub: TokenizerServiceStub) -> None:
    text = "The sky is blue. 天空是蓝色的。\n" * 280_000
    assert len(text.encode()) > 10 << 20
    answer = await stub.Encode(pb.EncodeRequest(texts=[text]))
    assert len(answer.sequences[0].ids) == len(text.encode())
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.Encode(pb.EncodeRequest(texts=[text, text]))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert details(caught.value, error_details_pb2.BadRequest).field_violations[0].field == "texts"


async def test_what_is_not_built_says_so(stub: TokenizerServiceStub) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.Align(pb.AlignRequest(text="x"))
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async for _ in stub.EncodeStream(iter([pb.EncodeStreamRequest(text="x")])):
            pass
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert "later version" in str(caught.value.details())


async def test_a_full_queue_refuses_with_a_delay(tmp_path: Path) -> None:
    async with (
        serving(make_engine("fake"), tmp_path, max_waiting=1, threads=1) as settings,
        grpc.aio.insecure_channel(settings.address) as channel,
    ):
        stub = TokenizerServiceStub(channel)
        calls = [stub.Encode(pb.EncodeRequest(texts=["x" * 500_000])) for _ in range(8)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        refused = [answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
        assert len(refused) < 8
        assert {error.code() for error in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert details(refused[0], error_details_pb2.RetryInfo).retry_delay.ToTimedelta().total_seconds() > 0


async def test_a_deadline_ends_the_work(stub: TokenizerServiceStub) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.Encode(pb.EncodeRequest(texts=["The sky is blue. " * 400_000]), timeout=0.05)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert (await stub.Encode(pb.EncodeRequest(texts=["next"]))).sequences


async def test_health_and_reflection_speak_for_the_service(tmp_path: Path) -> None:
    async with (
        serving(make_engine("fake"), tmp_path) as settings,
        grpc.aio.insecure_channel(settings.address) as channel,
    ):
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", main.SERVICE):
            state = await health.Check(health_pb2.HealthCheckRequest(service=service))
            assert state.status == health_pb2.HealthCheckResponse.SERVING
        ask = reflection_pb2.ServerReflectionRequest(list_services="")
        answers = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter([ask]))
        listed = [service.name async for answer in answers for service in answer.list_services_response.service]
        assert main.SERVICE in listed


async def test_the_client_service_speaks_with_it(tmp_path: Path) -> None:
    engine = make_engine("fake")
    async with serving(engine, tmp_path) as settings, Mesh({"tokenizer": settings.address}) as mesh:
        encoded = await mesh.tokenizer.encode(["你好 😀", ""])
        assert await mesh.tokenizer.decode(encoded.sequences) == ("你好 😀", "")
        (info,) = await mesh.tokenizer.list()
        assert (info.name, info.digest) == (engine.facts.name, encoded.digest)
        chat = await mesh.tokenizer.render_chat([("user", "hi<|end|>")])
        assert chat.text.count("<|end|>") == 2
        assert chat.digest == info.digest
        with pytest.raises(NotFound, match="bytes"):
            await mesh.tokenizer.encode(["x"], tokenizer="nope")
        with pytest.raises(InvalidInput, match="role"):
            await mesh.tokenizer.render_chat([("boss", "x")])

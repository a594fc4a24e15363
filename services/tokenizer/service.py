"""The gRPC service over a registry of tokenizers and a pool."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NoReturn, TypeVar

from citemesh.api.tokenizer.v1 import tokenizer_service_pb2 as pb
from citemesh.api.tokenizer.v1.tokenizer_service_pb2_grpc import TokenizerServiceServicer
from citemesh.errors import NotSupported
from citemesh.kit.call_context import current_priority, remaining_s
from services.tokenizer import convert
from services.tokenizer.engine import TokenizedText, TokenizerEngine
from services.tokenizer.pieces import Piece, in_order, split
from services.tokenizer.pool import TokenizerPool
from services.tokenizer.registry import TokenizerRegistry
from services.tokenizer.settings import TokenizerSettings

T = TypeVar("T")

LIGHT = 4096
"""Code points up to which an answer is put together at once; larger ones are left to a thread."""
Context = Any
"""The call's context; nothing here needs it."""


class TokenizerService(TokenizerServiceServicer):
    """Answers TokenizerService's calls with the tokenizers of a registry and the threads of a pool."""

    def __init__(self, registry: TokenizerRegistry, pool: TokenizerPool, settings: TokenizerSettings) -> None:
        self._registry = registry
        self._pool = pool
        self._settings = settings

    async def Encode(self, request: pb.EncodeRequest, context: Context) -> pb.EncodeResponse:
        """Returns the token ids of each text."""
        texts = convert.texts(request)
        engine = self._registry.find(request.tokenizer)
        facts, special, limit = engine.facts, request.add_special_tokens, request.max_tokens
        convert.check_specials(facts, special, limit)
        tokenized = await self._encode(engine, texts, request.with_spans)

        def build() -> pb.EncodeResponse:
            response = convert.encoded([convert.framed(tokens, facts, special, limit) for tokens in tokenized], facts)
            convert.check_answer(response.ByteSize(), self._settings.max_message_mib, "texts")
            return response

        return await self._build(build, sum(len(tokens.ids) for tokens in tokenized))

    async def Decode(self, request: pb.DecodeRequest, context: Context) -> pb.DecodeResponse:
        """Returns the text of each sequence of ids."""
        sequences = convert.sequences(request)
        engine = self._registry.find(request.tokenizer)
        size = sum(map(len, sequences))
        texts = await self._call(lambda: engine.decode(sequences, request.skip_special_tokens), size)
        return pb.DecodeResponse(texts=texts)

    async def RenderChat(self, request: pb.RenderChatRequest, context: Context) -> pb.RenderChatResponse:
        """Returns the model's prompt for a conversation."""
        turns = convert.turns(request)
        engine = self._registry.find(request.tokenizer)
        size = sum(len(turn.content) for turn in turns)
        prompt = await self._call(lambda: engine.render(turns, request.add_generation_prompt), size)
        return convert.rendered(prompt, engine.facts)

    async def Split(self, request: pb.SplitRequest, context: Context) -> pb.SplitResponse:
        """Returns pieces of a text, each counted as it is encoded alone."""
        convert.check_split(request)
        engine = self._registry.find(request.tokenizer)
        text = request.text
        pieces = await self._pieces(engine, text, request.max_tokens, request.overlap_tokens)

        def build() -> pb.SplitResponse:
            response = pb.SplitResponse(pieces=[convert.piece(text, p.start, p.end, count) for p, count in pieces])
            convert.check_answer(response.ByteSize(), self._settings.max_message_mib, "text")
            return response

        return await self._build(build, len(text))

    async def ListTokenizers(self, request: pb.ListTokenizersRequest, context: Context) -> pb.ListTokenizersResponse:
        """Returns the loaded tokenizers, the default first."""
        return pb.ListTokenizersResponse(tokenizers=[convert.info(e.facts) for e in self._registry.engines])

    async def Align(self, request: pb.AlignRequest, context: Context) -> pb.AlignResponse:
        """Refuses: it is not built yet."""
        _not_yet("Align")

    def EncodeStream(
        self, request_iterator: AsyncIterator[pb.EncodeStreamRequest], context: Context
    ) -> AsyncIterator[pb.EncodeStreamResponse]:
        """Refuses: it is not built yet."""
        _not_yet("EncodeStream")

    async def _pieces(
        self, engine: TokenizerEngine, text: str, max_tokens: int, overlap: int
    ) -> list[tuple[Piece, int]]:
        """Returns the pieces of a text and their lengths in tokens.

        A piece may take more tokens alone than within its text; such pieces are split again, with less to fill each
        time. One that still takes more when it is filled with a single token is left as it is.
        """
        (of_text,) = await self._encode(engine, [text], with_spans=True)
        pieces = await self._call(lambda: split(text, of_text.spans, max_tokens, overlap), len(text))
        counts: dict[Piece, int] = {}
        less = 1
        while pieces:
            tokenized = await self._encode(engine, [text[p.start : p.end] for p in pieces], with_spans=False)
            counts.update(zip(pieces, (len(tokens.ids) for tokens in tokenized), strict=True))
            over = [p for p in pieces if counts[p] > max_tokens and p.end - p.start > 1 and less <= 2 * max_tokens]
            for piece in over:
                del counts[piece]
            pieces = await self._narrower(engine, text, over, max(1, max_tokens - less)) if over else []
            less *= 2
        return await self._call(lambda: [(piece, counts[piece]) for piece in in_order(counts)], len(counts))

    async def _narrower(
        self, engine: TokenizerEngine, text: str, pieces: Sequence[Piece], max_tokens: int
    ) -> list[Piece]:
        parts = [text[piece.start : piece.end] for piece in pieces]
        tokenized = await self._encode(engine, parts, with_spans=True)

        def cut() -> list[Piece]:
            return [
                Piece(piece.start + inner.start, piece.start + inner.end)
                for piece, part, tokens in zip(pieces, parts, tokenized, strict=True)
                for inner in split(part, tokens.spans, max_tokens, 0)
            ]

        return await self._call(cut, sum(map(len, parts)))

    async def _encode(self, engine: TokenizerEngine, texts: Sequence[str], with_spans: bool) -> list[TokenizedText]:
        return await self._pool.encode(
            engine, texts, with_spans=with_spans, timeout_s=self._left_s(), priority=current_priority()
        )

    async def _call(self, run: Callable[[], T], characters: int) -> T:
        return await self._pool.call(run, characters, timeout_s=self._left_s(), priority=current_priority())

    async def _build(self, run: Callable[[], T], size: int) -> T:
        return run() if size <= LIGHT else await self._call(run, size)

    def _left_s(self) -> float:
        return remaining_s(self._settings.timeout_s)


def _not_yet(name: str) -> NoReturn:
    raise NotSupported(f"TokenizerService.{name}", "it comes in a later version; use Encode")

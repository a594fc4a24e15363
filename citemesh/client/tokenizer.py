"""Client of the tokenizer service."""

from collections.abc import Sequence

from citemesh.api.tokenizer.v1 import tokenizer_service_pb2 as pb
from citemesh.api.tokenizer.v1.tokenizer_service_pb2_grpc import TokenizerServiceStub
from citemesh.client.transport.caller import Caller
from citemesh.client.types import Chat, Encoded, TokenizerInfo


class TokenizerClient:
    """Turns text into token ids and back. An empty tokenizer name takes the generation model's."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = TokenizerServiceStub(caller.channel)

    async def encode(self, texts: Sequence[str], tokenizer: str = "", add_special_tokens: bool = False) -> Encoded:
        """Returns the token ids of each text."""
        request = pb.EncodeRequest(tokenizer=tokenizer, texts=texts, add_special_tokens=add_special_tokens)
        answer = await self._caller.unary(self._stub.Encode, request)
        sequences = tuple(tuple(sequence.ids) for sequence in answer.sequences)
        return Encoded(sequences, answer.tokenizer, answer.tokenizer_digest)

    async def decode(
        self, sequences: Sequence[Sequence[int]], tokenizer: str = "", skip_special_tokens: bool = True
    ) -> tuple[str, ...]:
        """Returns the text of each sequence of ids."""
        ids = [pb.TokenIds(ids=sequence) for sequence in sequences]
        request = pb.DecodeRequest(tokenizer=tokenizer, sequences=ids, skip_special_tokens=skip_special_tokens)
        return tuple((await self._caller.unary(self._stub.Decode, request)).texts)

    async def render_chat(
        self, messages: Sequence[tuple[str, str]], tokenizer: str = "", add_generation_prompt: bool = True
    ) -> Chat:
        """Returns the model's prompt for a conversation of (role, content) turns."""
        turns = [pb.ChatMessage(role=role, content=content) for role, content in messages]
        request = pb.RenderChatRequest(tokenizer=tokenizer, messages=turns, add_generation_prompt=add_generation_prompt)
        answer = await self._caller.unary(self._stub.RenderChat, request)
        return Chat(answer.text, tuple(answer.ids), answer.tokenizer_digest)

    async def list(self) -> tuple[TokenizerInfo, ...]:
        """Returns the tokenizers that are loaded; the first is the default."""
        answer = await self._caller.unary(self._stub.ListTokenizers, pb.ListTokenizersRequest())
        return tuple(
            TokenizerInfo(t.name, t.digest, t.vocabulary_size, t.max_tokens, t.has_chat_template)
            for t in answer.tokenizers
        )

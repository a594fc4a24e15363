"""What requests may hold: each error names the field, the fault and the remedy."""

import pytest

from citemesh.api.tokenizer.v1 import tokenizer_service_pb2 as pb
from citemesh.errors import InvalidInput
from services.tokenizer import convert
from services.tokenizer.engine import TokenizedText, TokenizerFacts

FACTS = TokenizerFacts("t", "d" * 64, 100, 512, False, prefix=(1,), suffix=(2,))


def fault_of(check: object, *arguments: object) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        check(*arguments)  # type: ignore[operator]  # functions of different signatures
    assert caught.value.remedy
    return caught.value


def test_texts_are_counted_and_weighed() -> None:
    assert convert.texts(pb.EncodeRequest(texts=["", "a"])) == ["", "a"]
    assert fault_of(convert.texts, pb.EncodeRequest()).field == "texts"
    assert "4097" in fault_of(convert.texts, pb.EncodeRequest(texts=["a"] * 4097)).fault
    assert "bytes" in fault_of(convert.texts, pb.EncodeRequest(texts=["字" * 6_000_000])).fault
    assert convert.texts(pb.EncodeRequest(texts=["x" * (16 << 20)]))
    assert fault_of(convert.texts, pb.EncodeRequest(texts=["a"], max_tokens=-1)).field == "max_tokens"


def test_turns_have_known_roles() -> None:
    assert fault_of(convert.turns, pb.RenderChatRequest()).field == "messages"
    request = pb.RenderChatRequest(messages=[pb.ChatMessage(role="user"), pb.ChatMessage(role="boss")])
    assert fault_of(convert.turns, request).field == "messages[1].role"
    many = pb.RenderChatRequest(messages=[pb.ChatMessage(role="user")] * 1025)
    assert fault_of(convert.turns, many).field == "messages"


@pytest.mark.parametrize(
    ("max_tokens", "overlap", "field"),
    [(7, 0, "max_tokens"), (32769, 0, "max_tokens"), (8, 5, "overlap_tokens"), (8, -1, "overlap_tokens")],
)
def test_pieces_have_bounds(max_tokens: int, overlap: int, field: str) -> None:
    request = pb.SplitRequest(text="x", max_tokens=max_tokens, overlap_tokens=overlap)
    assert fault_of(convert.check_split, request).field == field


def test_sequences_are_counted() -> None:
    assert convert.sequences(pb.DecodeRequest(sequences=[pb.TokenIds(ids=[1, 2])])) == [[1, 2]]
    assert fault_of(convert.sequences, pb.DecodeRequest()).field == "sequences"


def test_start_and_end_tokens_count_against_the_limit() -> None:
    tokens = TokenizedText([5, 6, 7], [(0, 1), (1, 2), (2, 3)], 0)
    assert convert.framed(tokens, FACTS, True, 0) == (
        TokenizedText([1, 5, 6, 7, 2], [(0, 0), (0, 1), (1, 2), (2, 3), (3, 3)], 0),
        False,
    )
    assert convert.framed(tokens, FACTS, True, 4) == (
        TokenizedText([1, 5, 6, 2], [(0, 0), (0, 1), (1, 2), (2, 2)], 0),
        True,
    )
    assert convert.framed(tokens, FACTS, False, 2) == (TokenizedText([5, 6], [(0, 1), (1, 2)], 0), True)
    assert convert.framed(TokenizedText([5], [], 1), FACTS, False, 2) == (TokenizedText([5], [], 1), False)
    assert convert.framed(TokenizedText([], [], 0), FACTS, True, 0) == (TokenizedText([1, 2], [], 0), False)


def test_a_limit_must_leave_space_for_text() -> None:
    assert fault_of(convert.check_specials, FACTS, True, 2).field == "max_tokens"
    convert.check_specials(FACTS, True, 3)
    convert.check_specials(FACTS, False, 1)
    convert.check_specials(FACTS, True, 0)


def test_an_answer_that_fits_no_message_is_refused_in_words() -> None:
    assert "MiB" in fault_of(convert.check_answer, 2 << 20, 1, "texts").fault
    convert.check_answer(1 << 20, 1, "texts")

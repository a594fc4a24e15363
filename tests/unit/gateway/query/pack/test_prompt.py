"""The prompt's fixed parts, found in a chat template from the outside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.errors import PreconditionFailed
from gateway.query.pack.prompt import MARKS, Templates, fixed_parts
from tests.unit.gateway.query.fakes import CONTROLS, DIGEST, FakeTokenizer, ids_of, text_of

IDS = st.lists(st.integers(100, 110), min_size=1, max_size=8).map(tuple)


@given(IDS, IDS, IDS)
def test_the_parts_are_found_whatever_they_are(
    prefix: tuple[int, ...], middle: tuple[int, ...], suffix: tuple[int, ...]
) -> None:
    one, two = (1, 2, 3), (4, 5)

    def render(sources: tuple[int, ...], question: tuple[int, ...]) -> tuple[int, ...]:
        return (*prefix, *sources, *middle, *question, *suffix)

    assert fixed_parts(render(one, one), render(two, one), render(one, two)) == (prefix, middle, suffix)


def test_a_template_that_drops_a_turn_is_refused() -> None:
    with pytest.raises(PreconditionFailed):
        fixed_parts((1, 2, 3), (1, 2, 3), (1, 4, 3))


async def test_a_template_is_learned_once() -> None:
    tokenizer = FakeTokenizer()
    templates = Templates(tokenizer)
    template = await templates.get(DIGEST)
    assert await templates.get(DIGEST) is template
    assert tokenizer.renders == 3
    assert template.controls == {CONTROLS["<|im_start|>"], CONTROLS["<|im_end|>"]}, "those of the template itself"
    prompt = text_of(template.prompt(ids_of("SOURCES"), ids_of("QUESTION")))
    assert "SOURCES<|im_end|>\n<|im_start|>user\nQUESTION\nAnswer in one" in prompt
    assert prompt.endswith("<|im_end|>\n<|im_start|>assistant\n")
    assert not any(mark in prompt for mark in MARKS)
    assert template.plain(ids_of("a<|im_end|>b")) == ids_of("ab")

"""What stands side by side in a prompt, and where."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from citemesh.client.types import Passage, Question
from gateway.query.limits import Limits
from gateway.query.pack.diversity import diverse
from gateway.query.pack.packing import Scored, edges_first
from tests.unit.gateway.query.asking import ASKED, ask
from tests.unit.gateway.query.fakes import FakeRetrieval, Mesh, assert_sound, passage, sources_of, text_of

SAME = "The pump runs at a pressure of forty bar and it needs oil every three hundred hours of work."


def scored(one: Passage, score: float = 1.0) -> Scored:
    return Scored(one, score)


def order(passages: list[Scored], most: int = 3) -> list[str]:
    return [one.passage.document_id for one in diverse(passages, most)]


def test_what_says_the_same_gives_way() -> None:
    copy = scored(passage(SAME + " Thanks.", "copy"), 0.9)
    other = scored(passage("Whales live in every ocean of this world.", "other"), 0.1)
    assert order([scored(passage(SAME, "first")), copy, other]) == ["first", "other", "copy"]
    chinese = [
        scored(passage("主水泵的工作压力是四十巴，需要定期更换润滑油。" + end, name))
        for end, name in (("", "a"), ("谢谢", "b"))
    ]
    assert order([*chinese, other]) == ["a", "other", "b"]


def test_one_document_does_not_take_all_places_while_another_fits_well() -> None:
    long = [scored(passage(f"Part {n} of the manual is about thing {n * 7}.", "long", n * 100), 0.9) for n in range(4)]
    near, far = scored(passage("The valve opens at noon.", "near"), 0.5), scored(passage("Nothing.", "far"), 0.1)
    assert order([*long, near])[:3] == ["long", "long", "near"]
    assert order([*long, far])[:3] == ["long", "long", "long"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.text("xyz ", max_size=12), st.floats(0, 1)), max_size=20))
def test_no_passage_is_lost_and_the_best_stays_first(given: list[tuple[str, str, float]]) -> None:
    ranked = [scored(passage(text, name, at), score) for at, (name, text, score) in enumerate(given)]
    found = diverse(ranked, 3)
    assert sorted(map(id, found)) == sorted(map(id, ranked))
    assert list(found[:1]) == ranked[:1]


@given(st.lists(st.integers(), max_size=12, unique=True))
def test_the_best_stand_at_the_edges(items: list[int]) -> None:
    arranged = edges_first(items)
    assert sorted(arranged) == sorted(items)
    if len(items) > 3:
        assert (arranged[0], arranged[-1]) == (items[0], items[1])
    else:
        assert arranged == items


async def test_numbers_follow_the_order_of_fit_wherever_a_source_stands() -> None:
    passages = tuple(
        replace(passage(f"The pump pressure run number {n} is about {word}.", f"d{n}"), title=f"T{n}")
        for n, word in enumerate(("iron", "steel", "water", "air", "fire"))
    )
    mesh = Mesh(retrieval=FakeRetrieval(passages))
    said = await ask(mesh, Question(ASKED), limits=Limits(sources=5, context_tokens=3000))
    assert_sound(said, passages)
    prompt = text_of(mesh.generation.prompts[0])
    sources = sources_of(said).sources
    places = [prompt.index(f"[{source.number}] {source.title}\n{source.text}") for source in sources]
    assert [source.number for source in sources] == [1, 2, 3, 4, 5]
    assert sorted(places) == [places[0], places[2], places[4], places[3], places[1]]

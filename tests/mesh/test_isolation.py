"""Two keys, two collections, real sidecars: neither reaches the other's, by gRPC, by REST or through the gateway."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from citemesh.client import Mesh
from citemesh.client.types import Question, Search, Upload
from citemesh.errors import NotFound, PermissionDenied
from citemesh.mesh import push_identity
from citemesh.mesh.identity import KeyRecord, identity_config, new_key
from tests.support.running import RunningMesh

PAGES = {
    "ann-notes": b"# Safe\n\nThe safe of Ann opens with the word marigold.\n",
    "bob-notes": b"# Safe\n\nThe safe of Bob opens with the word hemlock.\n",
}
ASKED = "Which word opens the safe?"


@pytest.fixture(scope="module")
def keys(fake_mesh: RunningMesh) -> dict[str, str]:
    """Keys of Ann and Bob, live on every sidecar; each may call everything and reach its own collections."""
    config = fake_mesh.stack.layout.keyring.load()
    made: dict[str, tuple[str, KeyRecord]] = {
        name: new_key(f"user:{name}", "default", ["*"], collections=[f"{name}-*"]) for name in ("ann", "bob")
    }
    records = [*config.keys, *(record for _, record in made.values())]
    wanted = identity_config(records, config.allow, config.public)
    assert push_identity(fake_mesh.stack.layout.placement, fake_mesh.stack.layout.service_names, wanted).ok
    return {name: text for name, (text, _) in made.items()}


@pytest.fixture
async def stored(fake_mesh: RunningMesh, keys: dict[str, str]) -> None:
    """Each person's own collection, made and filled with their own key."""
    for name, text in keys.items():
        async with fake_mesh.client(text) as mesh:
            collection = f"{name}-notes"
            if collection not in {found.name for found in await mesh.collections.list()}:
                await mesh.collections.create(collection)
            uploads = [Upload("1", PAGES[collection], collection, "safe", media_type="text/markdown")]
            states = [progress.state async for progress in mesh.documents.ingest(uploads)]
            assert states[-1] in ("committed", "unchanged")


@pytest.fixture
async def ann(fake_mesh: RunningMesh, keys: dict[str, str], stored: None) -> AsyncIterator[Mesh]:
    async with fake_mesh.client(keys["ann"]) as mesh:
        yield mesh


async def test_ones_own_is_found_and_nothing_else(ann: Mesh) -> None:
    assert "marigold" in (await ann.retrieval.search(ASKED, "ann-notes"))[0].text
    assert [found.name for found in await ann.collections.list()] == ["ann-notes"]
    with pytest.raises(NotFound) as caught:
        await ann.retrieval.search(ASKED, "ann-other")
    assert "ann-notes" in caught.value.remedy and "bob" not in str(caught.value)


@pytest.mark.parametrize("name", ["bob-notes", "default", "bob-none", "ann", ""])
async def test_no_call_reaches_another(ann: Mesh, name: str) -> None:
    for call in (
        ann.retrieval.search(ASKED, name),
        ann.retrieval.find_many([Search(ASKED, "ann-notes"), Search(ASKED, name)]),
        ann.documents.get("safe", name),
        ann.documents.list(name),
        ann.documents.delete(["safe"], name),
        ann.collections.get(name or "default"),
        ann.collections.delete(name or "default"),
        ann.collections.create(name or "default"),
        ann.collections.snapshot(name),
        ann.query.search(ASKED, name),
        _drained(ann.documents.ingest([Upload("1", b"gone", name, "safe")])),
        _drained(ann.query.ask(Question(ASKED, name))),
    ):
        with pytest.raises(PermissionDenied):
            await call


async def test_what_was_tried_changed_nothing(fake_mesh: RunningMesh, keys: dict[str, str], ann: Mesh) -> None:
    async with fake_mesh.client(keys["bob"]) as bob:
        assert (await bob.documents.get("safe", "bob-notes"))[1].strip().endswith("hemlock.")
        assert [found.name for found in await bob.collections.list()] == ["bob-notes"]


async def test_forged_headers_widen_nothing(fake_mesh: RunningMesh, keys: dict[str, str], stored: None) -> None:
    headers = {"authorization": f"Bearer {keys['ann']}", "x-citemesh-collections": "*"}
    async with httpx.AsyncClient(base_url=fake_mesh.stack.rest_url, timeout=30, headers=headers) as http:
        theirs = await http.post("/v1/query", json={"query": ASKED, "collection": "bob-notes"})
        assert (theirs.status_code, theirs.json()["error"]["code"]) == (403, "PERMISSION_DENIED")
        none = await http.post("/v1/query", json={"query": ASKED, "collection": "bob-none"})
        assert none.status_code == 403
        assert theirs.text.replace("bob-notes", "…") == none.text.replace("bob-none", "…")


async def test_an_answer_that_was_given_before_is_not_given_to_another(
    fake_mesh: RunningMesh, keys: dict[str, str], stored: None
) -> None:
    async with fake_mesh.client(keys["bob"]) as bob, fake_mesh.client(keys["ann"]) as ann:
        for _ in range(2):  # the second may come from the gateway's memory
            assert await _drained(bob.query.ask(Question(ASKED, "bob-notes")))
        with pytest.raises(PermissionDenied):
            await _drained(ann.query.ask(Question(ASKED, "bob-notes")))


async def test_both_at_once_stay_apart(fake_mesh: RunningMesh, keys: dict[str, str], stored: None) -> None:
    async with fake_mesh.client(keys["ann"]) as ann, fake_mesh.client(keys["bob"]) as bob:

        async def found(mesh: Mesh, name: str) -> set[str]:
            return {passage.collection for passage in await mesh.retrieval.search(ASKED, name)}

        async def refused(mesh: Mesh, name: str) -> set[str]:
            with pytest.raises(PermissionDenied):
                await mesh.retrieval.search(ASKED, name)
            return {name}

        calls = [
            call
            for _ in range(25)
            for call in (
                found(ann, "ann-notes"),
                found(bob, "bob-notes"),
                refused(ann, "bob-notes"),
                refused(bob, "ann-notes"),
            )
        ]
        for at, names in enumerate(await asyncio.gather(*calls)):
            assert names == {("ann-notes", "bob-notes", "bob-notes", "ann-notes")[at % 4]}


async def _drained(stream: AsyncIterator[object]) -> list[object]:
    return [item async for item in stream]

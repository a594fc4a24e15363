"""Threads: conversations that are kept, each for the caller who began it."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.contract.bounds import DEFAULT_PAGE, MOST_PAGE
from citemesh.errors import InvalidInput
from gateway.query.pack.packing import documents
from gateway.rest.core.endpoint import Endpoint
from gateway.rest.core.errors import Problem
from gateway.rest.core.fields import Fields
from gateway.rest.core.render import sentence, source
from gateway.threads.owner import current_owner
from gateway.threads.store import ThreadStore
from gateway.threads.turn import Thread, Turn

LIST = Fields()
PAGE_SIZE = LIST.whole("page_size", f"Most to answer, 1 to {MOST_PAGE}.", DEFAULT_PAGE)
PAGE_TOKEN = LIST.text("page_token", "Where the page before ended.")


class ThreadsApi:
    """The endpoints."""

    def __init__(self, store: ThreadStore) -> None:
        self._store = store

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        api, told, one = "Threads", Problem.native, "/v1/threads/{thread_id}"
        return [
            Endpoint(
                "GET",
                "/v1/threads",
                self.list,
                api,
                told,
                "Lists the caller's threads, newest first.",
                query=LIST,
                answer="`threads`, and `next_page_token`, empty at the end.",
            ),
            Endpoint(
                "GET", one, self.get, api, told, "Reads a thread.", answer="It, and its `turns` with their sources."
            ),
            Endpoint("DELETE", one, self.delete, api, told, "Deletes a thread.", status=204),
        ]

    async def list(self, request: Request) -> Response:
        """``GET /v1/threads``."""
        query = LIST.from_texts(request.query_params)
        size = PAGE_SIZE.of(query)
        if not 1 <= size <= MOST_PAGE:
            raise InvalidInput(PAGE_SIZE.name, f"is {size}", f"use 1 to {MOST_PAGE}")
        page = await self._store.list(current_owner(), PAGE_TOKEN.of(query), size)
        return JSONResponse({"threads": [thread(one) for one in page.threads], "next_page_token": page.next_token})

    async def get(self, request: Request) -> Response:
        """``GET /v1/threads/{thread_id}``."""
        found, turns = await self._store.read(current_owner(), request.path_params["thread_id"])
        return JSONResponse(thread(found) | {"turns": [turn(one) for one in turns]})

    async def delete(self, request: Request) -> Response:
        """``DELETE /v1/threads/{thread_id}``."""
        await self._store.delete(current_owner(), request.path_params["thread_id"])
        return Response(status_code=204)


def thread(one: Thread) -> dict[str, Any]:
    """A thread without its turns."""
    head = {"thread_id": one.thread_id, "title": one.title}
    return head | {"updated_at": one.updated_at.isoformat(), "turn_count": one.turns}


def turn(one: Turn) -> dict[str, Any]:
    """A question and its answer."""
    return {
        "question": one.question,
        "standalone": one.standalone,
        "answer": one.answer,
        "asked_at": one.asked_at.isoformat(),
        "sources": [source(passage) for passage in documents(one.sources)],
        "sentences": [sentence(event) for event in one.citations],
    }

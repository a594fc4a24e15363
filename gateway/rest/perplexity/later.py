"""Perplexity's questions that are answered later: ``/async/chat/completions`` makes, lists and reads them."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.errors import InvalidInput
from citemesh.kit import call_context
from gateway.jobs.job import Job, JobRequest
from gateway.jobs.runner import Runner
from gateway.jobs.store import NEWEST
from gateway.query.question import check
from gateway.rest.core.body import read_object
from gateway.rest.core.endpoint import Asking, Endpoint, HttpBounds
from gateway.rest.core.errors import Problem
from gateway.rest.core.fields import Fields
from gateway.rest.core.links import Links
from gateway.rest.core.question.field_names import in_words_of, renamed
from gateway.rest.core.question.messages import conversation
from gateway.rest.perplexity import fields as fields
from gateway.rest.perplexity.chat import Sonar, read, rendered
from gateway.threads.owner import current_owner

PATH = "/async/chat/completions"
MOST_LISTED = 100
MOST_KEY = 200

CREATE = Fields()
REQUEST = CREATE.object("request", "What `/chat/completions` takes, but for `stream`.", fields.SONAR)
KEY = CREATE.text("idempotency_key", "Your own name for it: sent again, it is made once.")

LIST = Fields()
LIMIT = LIST.whole("limit", f"Most to answer, 1 to {MOST_LISTED}.", 20)
NEXT = LIST.text("next_token", "Where the page before ended.")


class PerplexityAsyncApi:
    """The endpoints."""

    def __init__(self, jobs: Runner, bounds: HttpBounds) -> None:
        self._jobs = jobs
        self._bounds = bounds

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        api, told = "Perplexity", Problem.perplexity
        about = "`id`, `status` (CREATED, IN_PROGRESS, COMPLETED, FAILED) and times"
        return [
            Endpoint(
                "POST",
                PATH,
                self.create,
                api,
                told,
                "Takes a question to be answered later, when nobody who waits needs the model.",
                body=CREATE,
                answer=f"{about}.",
            ),
            Endpoint(
                "GET",
                PATH,
                self.list,
                api,
                told,
                "Lists the caller's, newest first.",
                query=LIST,
                answer="`requests` and `next_token`, null at the end.",
            ),
            Endpoint(
                "GET",
                f"{PATH}/{{request_id}}",
                self.get,
                api,
                told,
                "Reads one.",
                answer=f"{about}; its `response` once it is completed, its `error_message` where it failed.",
            ),
        ]

    async def create(self, request: Request) -> Response:
        """``POST /async/chat/completions``."""
        body = await read_object(request, self._bounds.body_bytes)
        asked, key = REQUEST.of(body), KEY.of(body)
        if len(key) > MOST_KEY:
            raise InvalidInput(KEY.name, f"has {len(key)} characters", f"use at most {MOST_KEY}")
        _check(asked)
        scope = call_context.current().scope
        kept = JobRequest(
            current_owner(), scope.header if scope else None, fields.MODEL.of(asked), str(request.base_url), asked, key
        )
        return JSONResponse(shown(await self._jobs.add(kept)))

    async def list(self, request: Request) -> Response:
        """``GET /async/chat/completions``."""
        query = LIST.from_texts(request.query_params)
        limit = LIMIT.of(query)
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidInput(LIMIT.name, f"is {limit}", f"use 1 to {MOST_LISTED}")
        found = await self._jobs.store.list(current_owner(), _place(NEXT.of(query)), limit + 1)
        more = found[limit - 1].place if len(found) > limit else None
        requests = [head(one) for one in found[:limit]]
        return JSONResponse({"requests": requests, "next_token": None if more is None else str(more)})

    async def get(self, request: Request) -> Response:
        """``GET /async/chat/completions/{request_id}``."""
        return JSONResponse(shown(await self._jobs.store.get(current_owner(), request.path_params["request_id"])))


class Later:
    """Answers a job as ``/chat/completions`` answers a request."""

    def __init__(self, answering: Asking) -> None:
        self._answering = answering

    async def answer(self, job: Job) -> dict[str, Any]:
        """The completion. Raises what asking raises."""
        body = job.asked.request
        said = conversation(fields.MESSAGES.name, fields.MESSAGES.of(body))
        ignored = (*fields.SONAR.ignored(body), *said.unused)
        size, related = fields.context_size(body), fields.RELATED.of(body)
        sonar = Sonar(job.asked.model, size, Links(job.asked.base), ignored, related)
        await read(sonar, in_words_of(fields.NAMES, self._answering.ask(fields.question(body, said))))
        return rendered(sonar)


def head(job: Job) -> dict[str, Any]:
    """A job without its answer."""
    completed, failed = job.status == "COMPLETED", job.status == "FAILED"
    return {
        "id": job.id,
        "model": job.asked.model,
        "status": job.status,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "completed_at": job.ended_at if completed else None,
        "failed_at": job.ended_at if failed else None,
    }


def shown(job: Job) -> dict[str, Any]:
    """A job."""
    return head(job) | {"response": job.response, "error_message": job.error or None}


def _check(asked: dict[str, Any]) -> None:
    """Refuses now what would fail later. Raises InvalidInput, the field as a path from ``request``."""
    try:
        if fields.STREAM.of(asked):
            raise InvalidInput(fields.STREAM.name, "is true, and nobody listens", "leave it out")
        said = conversation(fields.MESSAGES.name, fields.MESSAGES.of(asked))
        check(fields.question(asked, said))
    except InvalidInput as error:
        inner = renamed(error, fields.NAMES)
        raise type(inner)(f"{REQUEST.name}.{inner.field}", inner.fault, inner.remedy) from None


def _place(token: str) -> int:
    if not token:
        return NEWEST
    if not (token.isascii() and token.isdecimal() and len(token) < len(str(NEWEST))):
        raise InvalidInput(NEXT.name, "no answer gave it", "send a next_token, or nothing")
    return int(token)

"""What an HTTP request carries on: trace, identity, priority, deadline."""

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from citemesh.kit import call_context
from gateway.rest.core import context

TRACE = "0af7651916cd43dd8448eb211c80319c"


async def tell(request: Request) -> JSONResponse:
    call = call_context.current()
    span = trace.get_current_span().get_span_context()
    told = {"left": call_context.remaining_s(99.0), "priority": call.priority, "subject": call.subject}
    return JSONResponse(told | {"tenant": call.tenant, "trace": f"{span.trace_id:032x}"})


async def get(headers: dict[str, str]) -> httpx.Response:
    app = context.HttpCallContext(Starlette(routes=[Route("/x", tell)]))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://t") as client:
        return await client.get("/x", headers=headers)


async def test_the_headers_become_the_calls_context(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(context, "tracer", provider.get_tracer("test"))
    reply = await get(
        {
            "traceparent": f"00-{TRACE}-b7ad6b7169203331-01",
            "x-citemesh-subject": "alice",
            "x-citemesh-tenant": "acme",
            "x-citemesh-priority": "background",
            "x-request-timeout-ms": "1500",
        }
    )
    told = reply.json()
    assert (told["subject"], told["tenant"], told["priority"], told["trace"]) == ("alice", "acme", 2, TRACE)
    assert 1.0 < told["left"] <= 1.5
    (span,) = exporter.get_finished_spans()
    assert span.kind is trace.SpanKind.SERVER
    assert span.attributes is not None
    assert span.attributes["http.response.status_code"] == 200
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"


async def test_without_headers_nothing_is_assumed() -> None:
    told = (await get({})).json()
    assert (told["subject"], told["tenant"], told["priority"], told["left"]) == ("", "", 0, 99.0)


async def test_a_bad_timeout_is_refused() -> None:
    reply = await get({"x-request-timeout-ms": "soon"})
    assert (reply.status_code, reply.json()["error"]["field"]) == (400, "x-request-timeout-ms")


@pytest.mark.parametrize(
    ("header", "anew"),
    [("no-cache", True), (" No-Store ,max-age=0", True), ("max-age=0", False), ("no-cache-please", False), ("", False)],
)
def test_what_takes_no_kept_answer(header: str, anew: bool) -> None:
    assert call_context.asks_to_skip_cache(header) is anew

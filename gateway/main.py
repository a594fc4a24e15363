"""Wires the gateway: settings, clients of the services, the flow, and its gRPC and HTTP servers."""

import sys
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from typing import Protocol

from citemesh.api.query.v1.query_service_pb2_grpc import add_QueryServiceServicer_to_server
from citemesh.api.query.v1.thread_service_pb2_grpc import add_ThreadServiceServicer_to_server
from citemesh.client import Mesh
from citemesh.errors import InvalidInput
from citemesh.kit.call_context import current_scope
from citemesh.kit.server import Registration, ServiceSpec, run_service
from citemesh.kit.settings import variable
from gateway.admission.router import Admission, Priority
from gateway.answering import Answering
from gateway.jobs.runner import Runner
from gateway.jobs.store import JobStore
from gateway.query.flow import Flow
from gateway.query.follow_up.related import RelatesByModel, RelatesByRules
from gateway.query.model.catalog import Models
from gateway.query.model.structured import Structured
from gateway.query.plan.bridge import Bridge
from gateway.query.plan.model_planner import ModelPlanner
from gateway.query.plan.planner import Planner, SingleShot
from gateway.query.plan.rewriting import ModelRewriter, RuleRewriter
from gateway.query.ports import Upstreams
from gateway.rest import app as rest
from gateway.rest.core.embedder import Embedder
from gateway.rest.core.endpoint import HttpBounds
from gateway.rest.core.errors import problem
from gateway.rest.health import Probe
from gateway.rest.native.collections import CollectionsPort
from gateway.rest.native.documents import DocumentsPort
from gateway.rest.perplexity.later import Later
from gateway.rest.server import HttpServer
from gateway.service import QueryService, ThreadService
from gateway.settings import GatewaySettings
from gateway.threads.store import ThreadStore
from gateway.web.searxng import SearXng
from gateway.web.source import WithWeb

QUERY = "citemesh.api.query.v1.QueryService"
THREADS = "citemesh.api.query.v1.ThreadService"


class Neighbours(AbstractAsyncContextManager[object], Probe, Protocol):
    """The other services as a whole: opened, asked for their health, closed; and where documents are."""

    @property
    def documents(self) -> DocumentsPort:
        """Where documents are."""

    @property
    def collections(self) -> CollectionsPort:
        """Where collections are."""

    @property
    def retrieval(self) -> Embedder:
        """What makes vectors."""


def build(settings: GatewaySettings) -> ServiceSpec:
    """The service as the settings say; nothing is connected before it starts."""
    mesh = Mesh(targets(settings), key_of(settings), shards=settings.retrieval_shards)
    return assemble(settings, Upstreams(mesh.tokenizer, mesh.retrieval, mesh.generation, mesh.reranker), mesh)


def assemble(settings: GatewaySettings, service_names: Upstreams, mesh: Neighbours) -> ServiceSpec:
    """The gateway over the services given."""
    thread_store = ThreadStore(settings.threads_directory, settings.thread_bounds)
    answering = Answering(flow_of(settings, service_names, thread_store), admission_of(settings), settings.timeout_s)
    jobs = JobStore(settings.threads_directory)
    later = Runner(jobs, Later(answering).answer, lambda error: problem(error).text)
    backends = rest.ApiBackends(answering, mesh.documents, mesh.collections, mesh.retrieval, thread_store, mesh, later)
    bounds = HttpBounds(settings.http_max_body_kib << 10, settings.http_max_upload_mib << 20, settings.http_idle_s)
    app = rest.build(backends, bounds, settings.http_origins)
    http = HttpServer(app, settings.http_socket, settings.drain_s)
    stack = AsyncExitStack()

    async def start() -> None:
        await stack.enter_async_context(mesh)
        await thread_store.open()
        stack.push_async_callback(thread_store.close)
        await later.start()
        stack.push_async_callback(later.stop)
        await stack.enter_async_context(http)

    async def healthy() -> bool:
        return http.serving

    async def drain(_limit_s: float) -> None:
        await http.drain()

    query, threads = QueryService(answering), ThreadService(thread_store)
    return ServiceSpec(
        name="gateway",
        services=[
            Registration(QUERY, lambda server: add_QueryServiceServicer_to_server(query, server)),
            Registration(THREADS, lambda server: add_ThreadServiceServicer_to_server(threads, server)),
        ],
        start=start,
        stop=stack.aclose,
        healthy=healthy,
        drain=drain,
    )


def key_of(settings: GatewaySettings) -> str:
    """The key that the gateway shows other services; empty where none is set. Raises InvalidInput for a bad file."""
    if settings.key_file is None:
        return ""
    try:
        return settings.key_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        name = variable(GatewaySettings, "key_file")
        raise InvalidInput(name, f"can't be read: {error}", "name a readable file with one key") from None


def admission_of(settings: GatewaySettings) -> Admission:
    """Admission with the depths that the settings name."""
    depths = {
        Priority.INTERACTIVE: settings.queue_interactive,
        Priority.BATCH: settings.queue_batch,
        Priority.BACKGROUND: settings.queue_background,
    }
    return Admission(settings.concurrency, depths)


def flow_of(settings: GatewaySettings, service_names: Upstreams, threads: ThreadStore | None = None) -> Flow:
    """The flow with the planner, the rewriter and the web search that the settings name; None keeps no threads."""
    if settings.web_search:
        web = SearXng(settings.web_search, settings.web_s)
        web_source = WithWeb(
            service_names.retrieval, web, settings.web_collection, lambda name: current_scope().allows(name)
        )
        service_names = replace(service_names, retrieval=web_source)
    structured = Structured(
        service_names.tokenizer, service_names.generation, Models(service_names.generation), settings.decide_s
    )
    planners: dict[str, Planner] = {
        "single": SingleShot(),
        "bridge": Bridge(),
        "model": ModelPlanner(structured, Bridge()),
    }
    rewriter = ModelRewriter(structured) if settings.rewriter == "model" else RuleRewriter()
    relater = RelatesByModel(structured) if settings.relater == "model" else RelatesByRules()
    return Flow(service_names, settings.limits, threads, planners[settings.planner], rewriter, relater)


def targets(settings: GatewaySettings) -> dict[str, str]:
    """Addresses of the services: those set, else their sockets in the state directory."""
    service_names = ("tokenizer", "retrieval", "generation", "reranker")
    return {
        service_name: f"unix:{settings.run_dir / service_name}.sock" for service_name in service_names
    } | settings.targets


def main() -> int:
    """Serves until told to stop; returns the exit status."""
    return run_service(GatewaySettings, build)


if __name__ == "__main__":
    sys.exit(main())

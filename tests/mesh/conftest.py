"""The whole mesh: real Envoys and real engines for ``mesh``; fake engines for ``fake_mesh``, where speed matters."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from uuid import uuid4

import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from tests.support.collector import Collector
from tests.support.running import RunningMesh, running_mesh

ORIGIN = "https://app.acme.com"
"""Whose pages may call the fake mesh."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs Envoy, so all of it is real."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def collector() -> Iterator[Collector]:
    with Collector() as running:
        yield running


@pytest.fixture(scope="session")
def mesh(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[RunningMesh]:
    state = tmp_path_factory.mktemp("m")
    with running_mesh(state, otlp_endpoint=collector.endpoint) as running:
        yield running


@pytest.fixture(scope="session")
def fake_mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningMesh]:
    with running_mesh(tmp_path_factory.mktemp("f"), fake=True, origins=(ORIGIN,)) as running:
        yield running


@pytest.fixture
def traced() -> Callable[[], tuple[str, AbstractContextManager[object]]]:
    """Makes a trace of the test's own: its id, and the context in which calls belong to it."""

    def make() -> tuple[str, AbstractContextManager[object]]:
        context = SpanContext(uuid4().int, uuid4().int & (2**63 - 1) or 1, True, TraceFlags(1))
        return f"{context.trace_id:032x}", trace.use_span(NonRecordingSpan(context))

    return make

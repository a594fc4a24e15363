"""A call with many requests that the other side ends early: what it ended with is told, whatever was being sent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from citemesh.api.retrieval.v1 import document_service_pb2 as pb
from citemesh.api.retrieval.v1.document_service_pb2_grpc import (
    DocumentServiceServicer,
    add_DocumentServiceServicer_to_server,
)
from citemesh.client import Mesh
from citemesh.client.types import Upload
from citemesh.errors import PermissionDenied
from citemesh.kit.channel_options import ACCEPTED

SIZES = (10, 100_000, 3_000_000)
# A failed write covered the refusal in every second call once; twenty calls of a size make a miss unlikely.
CALLS = 20


class Leaving(DocumentServiceServicer):
    """Accepts a call, reads one request, and ends it while more are being sent."""

    def __init__(self, code: grpc.StatusCode) -> None:
        self._code = code

    async def Ingest(  # type: ignore[override]
        self, requests: AsyncIterator[pb.IngestRequest], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.IngestResponse]:
        await context.send_initial_metadata((ACCEPTED,))
        await anext(requests)
        if self._code is not grpc.StatusCode.OK:
            await context.abort(self._code, "not yours")
        yield pb.IngestResponse(state=pb.INGEST_STATE_COMMITTED)


@asynccontextmanager
async def served(code: grpc.StatusCode, folder: Path) -> AsyncIterator[Mesh]:
    running = grpc.aio.server()
    add_DocumentServiceServicer_to_server(Leaving(code), running)
    running.add_insecure_port(f"unix:{folder}/d.sock")
    await running.start()
    async with Mesh({"retrieval": f"unix:{folder}/d.sock"}) as mesh:
        yield mesh
    await running.stop(0)


@pytest.mark.parametrize("size", SIZES)
async def test_a_refusal_in_the_midst_of_sending_is_told(tmp_path: Path, size: int) -> None:
    async with served(grpc.StatusCode.PERMISSION_DENIED, tmp_path) as mesh:
        for _ in range(CALLS):
            with pytest.raises(PermissionDenied, match="not yours"):
                async for _ in mesh.documents.ingest([Upload("1", b"x" * size, "default", "safe")]):
                    pass


@pytest.mark.parametrize("size", SIZES)
async def test_one_that_had_enough_ended_well(tmp_path: Path, size: int) -> None:
    async with served(grpc.StatusCode.OK, tmp_path) as mesh:
        for _ in range(CALLS):
            uploads = [Upload("1", b"x" * size, "default", "safe")]
            assert [progress.state async for progress in mesh.documents.ingest(uploads)] == ["committed"]

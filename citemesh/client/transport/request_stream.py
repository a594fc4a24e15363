"""What a call with many requests sends, and how that call ended."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

import grpc

from citemesh.client.transport.call_status import status_of
from citemesh.kit.channel_options import ACCEPTED

# How long the status of a call may still be on its way after a write into it has failed.
STATUS_WAIT_S = 1.0
_FAILED_WRITE = "Internal error from Core"


class RequestStream:
    """Passes items on to gRPC once the other side has accepted the call, and keeps what their source raises.

    Sending into a call that has ended makes gRPC report an error of its own in place of the status it was ended with
    (INTERNAL, "Internal error from Core"), and what the source raises would only be logged and cancel the call.
    A refusal that comes before anything is sent is waited for; of one that comes later the status is kept as it
    arrives, before a failed write covers it (https://github.com/grpc/grpc/issues/36066, open).
    """

    def __init__(self, items: AsyncIterable[Any]) -> None:
        self._items = items
        self._call: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._status: asyncio.Future[grpc.aio.AioRpcError] = asyncio.get_running_loop().create_future()
        self.error: Exception | None = None

    def over(self, call: Any) -> None:
        """Names the call that the items are sent over."""
        call.add_done_callback(self._keep)
        self._call.set_result(call)

    async def ended_with(self, error: grpc.aio.AioRpcError) -> grpc.aio.AioRpcError | None:
        """What the other side ended the call with, where ``error`` only says that writing to it failed.

        None where it ended well, having had enough.
        """
        if not _is_failed_write(error):
            return error
        done, _ = await asyncio.wait([self._status], timeout=STATUS_WAIT_S)
        status = self._status.result() if done else error
        return None if status.code() is grpc.StatusCode.OK else status

    async def __aiter__(self) -> AsyncIterator[Any]:
        call = await self._call
        if ACCEPTED not in {(key, value) for key, value in await call.initial_metadata() or ()}:
            await call.code()  # refused: the status is on its way, and nothing is to be sent
            return
        try:
            async for item in self._items:
                yield item
        except Exception as error:
            self.error = error
            raise

    def _keep(self, call: Any) -> None:
        status = status_of(call)
        if not self._status.done() and not _is_failed_write(status):
            self._status.set_result(status)


def _is_failed_write(error: grpc.aio.AioRpcError) -> bool:
    return error.code() is grpc.StatusCode.INTERNAL and error.details() == _FAILED_WRITE

"""The requests of a call with many of them, and the status that the call ended with."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

import grpc

from citemesh.client.transport.call_status import status_of
from citemesh.kit.channel_options import ACCEPTED

STATUS_WAIT_S = 1.0
"""How long the status of a call may still be on its way after a write into it has failed."""
_FAILED_WRITE = "Internal error from Core"


class RequestStream:
    """Passes items on to gRPC once the other side has accepted the call, and keeps what their source raises.

    gRPC reports an error of its own (INTERNAL, "Internal error from Core") where it writes into a call that the other
    side has ended, in place of that side's status; and it logs what the source raises and cancels the call. So nothing
    is sent before the other side accepts or refuses, and a later status is kept as it arrives, before a failed write
    covers it (https://github.com/grpc/grpc/issues/36066, open).

    Attributes:
        error: what the source raised.
    """

    def __init__(self, items: AsyncIterable[Any]) -> None:
        self._items = items
        self._call: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._status: asyncio.Future[grpc.aio.AioRpcError] = asyncio.get_running_loop().create_future()
        self.error: Exception | None = None

    def over(self, call: Any) -> None:
        """Sets the call that the items are sent over."""
        call.add_done_callback(self._keep)
        self._call.set_result(call)

    async def status_behind(self, error: grpc.aio.AioRpcError) -> grpc.aio.AioRpcError | None:
        """Returns the other side's status where ``error`` only says that writing to it failed, else ``error``.

        None where the other side ended the call well, having had enough.
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

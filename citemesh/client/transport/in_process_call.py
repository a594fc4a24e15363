"""One call within a process, as its servicer sees it, and as the client of a stream of responses sees it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Any, NoReturn, TypeVar

import grpc

T = TypeVar("T")
Metadata = Sequence[tuple[str, str | bytes]]
_AHEAD = 64
"""Responses that a servicer may be ahead of its client."""
_END = object()


def status(code: grpc.StatusCode, details: str, trailing: Metadata = ()) -> grpc.aio.AioRpcError:
    """A status as clients get it."""
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(*trailing), details, None)


class CallSide:
    """The servicer's side of a call: as much of gRPC's ServicerContext as servicers and the kit use."""

    def __init__(self, timeout_s: float | None, metadata: Metadata) -> None:
        self._metadata = tuple(metadata)
        self._loop = asyncio.get_running_loop()
        self._ends_at = None if timeout_s is None else self._loop.time() + timeout_s
        self._aborted_with: grpc.aio.AioRpcError | None = None
        self.initial: asyncio.Future[Metadata] = self._loop.create_future()

    def invocation_metadata(self) -> Metadata:
        """Headers of the call."""
        return self._metadata

    def time_remaining(self) -> float | None:
        """Seconds until the deadline; None without one."""
        return None if self._ends_at is None else max(0.0, self._ends_at - self._loop.time())

    async def send_initial_metadata(self, metadata: Metadata) -> None:
        """Sends the first headers of the answer."""
        self.initial.set_result(metadata)

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing_metadata: Metadata = ()) -> NoReturn:
        """Ends the call with a status."""
        self._aborted_with = status(code, details, trailing_metadata)
        raise grpc.aio.AbortError

    async def run(self, work: Awaitable[T]) -> T:
        """Awaits the servicer's work. Raises AioRpcError where it is aborted, or not done at the deadline."""
        try:
            async with asyncio.timeout_at(self._ends_at):
                return await work
        except TimeoutError:
            raise status(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded") from None
        except grpc.aio.AbortError:
            raise self._aborted_with or status(grpc.StatusCode.UNKNOWN, "aborted") from None


class ResponseStream:
    """The client's side of a call with many responses. The servicer runs in a task of its own, as it would in a server.

    Iterating yields the responses; it raises AioRpcError where the call fails, CancelledError after `cancel`.
    """

    def __init__(self, handler: Awaitable[Any], request: Any, side: CallSide) -> None:
        self._side = side
        self._responses: asyncio.Queue[Any] = asyncio.Queue()
        self._ahead = asyncio.Semaphore(_AHEAD)
        self._left = False
        self._task = asyncio.create_task(side.run(self._respond(handler, request)))
        self._task.add_done_callback(self._end)

    async def __aiter__(self) -> AsyncIterator[Any]:
        while (response := await self._responses.get()) is not _END:
            self._ahead.release()
            yield response
        if self._left:
            raise asyncio.CancelledError
        self._task.result()

    def cancel(self) -> bool:
        """Ends the call for the client, which has enough of it; False where it has ended already."""
        self._left = self._left or not self._task.done()
        return self._task.cancel()

    async def leave(self) -> None:
        """Cancels the call and waits for its end."""
        self.cancel()
        with suppress(asyncio.CancelledError, grpc.aio.AioRpcError):
            await self._task

    def add_done_callback(self, callback: Callable[["ResponseStream"], None]) -> None:
        """Calls back when the call has ended."""
        self._task.add_done_callback(lambda _: callback(self))

    async def initial_metadata(self) -> Metadata:
        """First headers of the answer, once they are sent; none where the call ends without."""
        if not self._side.initial.done() and not self._task.done():
            first: set[asyncio.Future[Any]] = {self._side.initial, self._task}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        return self._side.initial.result() if self._side.initial.done() else ()

    async def trailing_metadata(self) -> Any:
        """Last headers of the answer, once the call has ended."""
        return (await self._status()).trailing_metadata()

    async def code(self) -> grpc.StatusCode:
        """Code of the status, once the call has ended."""
        return (await self._status()).code()

    async def details(self) -> str | None:
        """Text of the status, once the call has ended."""
        return (await self._status()).details()

    async def _status(self) -> grpc.aio.AioRpcError:
        if not self._task.done():
            await asyncio.wait({self._task})
        if self._task.cancelled():
            return status(grpc.StatusCode.CANCELLED, "the client left")
        error = self._task.exception()
        return error if isinstance(error, grpc.aio.AioRpcError) else status(grpc.StatusCode.OK, "")

    def _end(self, task: "asyncio.Task[None]") -> None:
        self._responses.put_nowait(_END)
        if not task.cancelled():
            task.exception()  # a client that left does not ask for it, which asyncio would log

    async def _respond(self, handler: Awaitable[Any], request: Any) -> None:
        method = await handler
        received = self._requests(request) if method.request_streaming else request
        async with aclosing((method.unary_stream or method.stream_stream)(received, self._side)) as responses:
            async for response in responses:
                await self._ahead.acquire()
                self._responses.put_nowait(response)

    async def _requests(self, requests: Any) -> AsyncIterator[Any]:
        """Requests of the client. Where their source fails the call is cancelled, as gRPC does it."""
        try:
            async for request in requests:
                yield request
        except Exception:
            self.cancel()
            raise asyncio.CancelledError from None

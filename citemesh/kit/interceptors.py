"""The server's interceptor around every handler: it sets the caller's context, and errors become status."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, NoReturn

import grpc
from grpc.aio import ServerInterceptor
from grpc_status import rpc_status

from citemesh.errors import CiteMeshError, Unavailable
from citemesh.kit import call_context
from citemesh.kit.channel_options import ACCEPTED
from citemesh.kit.status import to_status

ALWAYS_OPEN = ("/grpc.",)
"""Beginnings of the paths that are answered before the engine is ready."""

Handler = Any  # grpc.RpcMethodHandler, whose stubs know the synchronous kind alone


class CallInterceptor(ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs alone
    """Sets the call's context, refuses calls while the service isn't ready, and maps errors in one place."""

    def __init__(self, service: str, ready: Callable[[], bool]) -> None:
        self._service = service
        self._ready = ready
        self._wrappers: dict[str, tuple[Handler, Handler]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        """Wraps the handler; health, reflection and channelz are left alone. A method's handler is wrapped once."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(ALWAYS_OPEN):
            return handler
        original, wrapper = self._wrappers.get(method, (None, None))
        if original is not handler:
            wrapper = self._around(handler)
            self._wrappers[method] = handler, wrapper
        return wrapper

    def _around(self, handler: Handler) -> Handler:
        if handler.response_streaming:
            behaviour = handler.unary_stream or handler.stream_stream
            return self._wrapped(handler, self._stream(behaviour, handler.request_streaming))
        return self._wrapped(handler, self._single(handler.unary_unary or handler.stream_unary))

    def _wrapped(self, handler: Handler, behaviour: Callable[..., Any]) -> Handler:
        kinds = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }
        kind = kinds[handler.request_streaming, handler.response_streaming]
        return kind(behaviour, handler.request_deserializer, handler.response_serializer)

    def _single(self, behaviour: Callable[[Any, Any], Awaitable[Any]]) -> Callable[[Any, Any], Awaitable[Any]]:
        async def handle(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            with call_context.calling(_context_of(context)):
                try:
                    self._refuse_unready()
                    return await behaviour(request, context)
                except Exception as error:
                    await _abort(context, error)

        return handle

    def _stream(
        self, behaviour: Callable[[Any, Any], AsyncGenerator[Any]], accepts: bool
    ) -> Callable[[Any, Any], AsyncIterator[Any]]:
        async def handle(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
            with call_context.calling(_context_of(context)):
                try:
                    self._refuse_unready()
                    if accepts:
                        await context.send_initial_metadata((ACCEPTED,))
                    # Closed here and now, so that a caller who leaves ends the work at once.
                    async with aclosing(behaviour(request, context)) as responses:
                        async for response in responses:
                            yield response
                except Exception as error:
                    await _abort(context, error)

        return handle

    def _refuse_unready(self) -> None:
        if not self._ready():
            raise Unavailable(self._service, 1.0, "it is starting or draining; try again in a moment")


def _context_of(context: grpc.aio.ServicerContext[Any, Any]) -> call_context.CallContext:
    metadata = {str(key): value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
    return call_context.from_headers(metadata, context.time_remaining())


async def _abort(context: grpc.aio.ServicerContext[Any, Any], error: Exception) -> NoReturn:
    """Ends the call with the error's status; an abort that the handler made itself goes through."""
    if isinstance(error, grpc.aio.AbortError):
        raise error
    status = rpc_status.to_status(to_status(error))
    await context.abort(status.code, status.details, status.trailing_metadata)
    raise error if isinstance(error, CiteMeshError) else AssertionError("abort returned")

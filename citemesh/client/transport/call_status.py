"""The status of a call that is done, for callbacks: they can't await what the call has ready."""

from collections.abc import Coroutine
from typing import Any

import grpc


def status_of(call: Any) -> grpc.aio.AioRpcError:
    """Returns the status of a call that is done, also where it ended well. Raises RuntimeError for one that isn't."""
    return grpc.aio.AioRpcError(
        _at_once(call.code()),
        _at_once(call.initial_metadata()),
        _at_once(call.trailing_metadata()),
        _at_once(call.details()),
        None,
    )


def _at_once(answer: Coroutine[Any, Any, Any]) -> Any:
    """Returns the result of a coroutine that has nothing left to wait for."""
    try:
        answer.send(None)
    except StopIteration as done:
        return done.value
    answer.close()
    raise RuntimeError("the call is not done")

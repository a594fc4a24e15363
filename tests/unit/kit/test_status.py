"""Errors cross the wire and come back as themselves; what isn't listed tells nothing."""

import logging

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata
from grpc_status import rpc_status

from citemesh import errors
from citemesh.kit.status import to_error, to_status

SAMPLES = [
    (errors.InvalidInput("question", "is empty", "ask something"), grpc.StatusCode.INVALID_ARGUMENT),
    (errors.NotFound("collection", "文档", "make it first"), grpc.StatusCode.NOT_FOUND),
    (errors.AlreadyExists("collection", "a"), grpc.StatusCode.ALREADY_EXISTS),
    (errors.PreconditionFailed("MODEL_MISSING", "no model", "prepare it"), grpc.StatusCode.FAILED_PRECONDITION),
    (errors.Unauthenticated("no key", "send one"), grpc.StatusCode.UNAUTHENTICATED),
    (errors.PermissionDenied("not yours"), grpc.StatusCode.PERMISSION_DENIED),
    (errors.NotSupported("Score", "later"), grpc.StatusCode.UNIMPLEMENTED),
    (errors.DataLoss("torn"), grpc.StatusCode.DATA_LOSS),
    (errors.Overloaded("the queue", 2.5, "wait"), grpc.StatusCode.RESOURCE_EXHAUSTED),
    (errors.Unavailable("generation", 0.25, "wait"), grpc.StatusCode.UNAVAILABLE),
]


def over_the_wire(error: Exception) -> AioRpcError:
    status = rpc_status.to_status(to_status(error))
    return AioRpcError(status.code, Metadata(), Metadata(*status.trailing_metadata), status.details)


@pytest.mark.parametrize(("error", "code"), SAMPLES, ids=lambda value: getattr(value, "reason", None))
def test_round_trip(error: errors.CiteMeshError, code: grpc.StatusCode) -> None:
    received = over_the_wire(error)
    assert received.code() is code
    back = to_error(received, "generation")
    assert type(back) is type(error)
    assert str(back) == str(error)
    if isinstance(error, errors.Retryable) and isinstance(back, errors.Retryable):
        assert back.retry_after_s == error.retry_after_s


def test_every_error_of_the_tree_is_mapped() -> None:
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    leaves = {kind for kind in kinds if not any(other is not kind and issubclass(other, kind) for other in kinds)}
    assert leaves == {type(error) for error, _ in SAMPLES} | {errors.DeadlineExceeded}


def test_an_unexpected_error_tells_an_incident_and_no_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        received = over_the_wire(ValueError("the password is hunter2"))
    assert received.code() is grpc.StatusCode.INTERNAL
    assert "hunter2" not in (received.details() or "")
    incident = (received.details() or "").split()[-1]
    assert incident in caplog.text
    assert "hunter2" in caplog.text


def test_a_bare_status_from_a_proxy_is_understood() -> None:
    bare = AioRpcError(grpc.StatusCode.UNAVAILABLE, Metadata(), Metadata(), "no healthy upstream")
    back = to_error(bare, "retrieval")
    assert isinstance(back, errors.Unavailable)
    assert "retrieval" in str(back)
    assert "no healthy upstream" in str(back)


def test_a_stream_that_broke_off_is_an_unavailable_service() -> None:
    broken = AioRpcError(grpc.StatusCode.INTERNAL, Metadata(), Metadata(), "Received RST_STREAM with error code 2")
    assert isinstance(to_error(broken, "generation"), errors.Unavailable)
    other = AioRpcError(grpc.StatusCode.INTERNAL, Metadata(), Metadata(), "incident 12")
    assert not isinstance(to_error(other, "generation"), errors.Unavailable)

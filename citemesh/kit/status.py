"""Domain errors as gRPC status with google.rpc details, and back: the only place where the two meet."""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf import duration_pb2
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from citemesh import errors

log = logging.getLogger(__name__)
DOMAIN = "citemesh"

# Most derived first: the first class that fits gives the code.
CODES: tuple[tuple[type[errors.CiteMeshError], int], ...] = (
    (errors.InvalidInput, code_pb2.INVALID_ARGUMENT),
    (errors.NotFound, code_pb2.NOT_FOUND),
    (errors.AlreadyExists, code_pb2.ALREADY_EXISTS),
    (errors.PreconditionFailed, code_pb2.FAILED_PRECONDITION),
    (errors.Unauthenticated, code_pb2.UNAUTHENTICATED),
    (errors.PermissionDenied, code_pb2.PERMISSION_DENIED),
    (errors.NotSupported, code_pb2.UNIMPLEMENTED),
    (errors.DeadlineExceeded, code_pb2.DEADLINE_EXCEEDED),
    (errors.DataLoss, code_pb2.DATA_LOSS),
    (errors.Overloaded, code_pb2.RESOURCE_EXHAUSTED),
    (errors.Unavailable, code_pb2.UNAVAILABLE),
)


def to_status(error: Exception) -> status_pb2.Status:
    """Returns the status of an error. One that is no CiteMeshError is logged in full, and the status has its id."""
    for kind, code in CODES:
        if isinstance(error, kind):
            return _status(error, code)
    incident = uuid.uuid4().hex[:12]
    log.error("unexpected error, incident %s", incident, exc_info=error)
    status = status_pb2.Status(code=code_pb2.INTERNAL, message=f"internal error; the log has it as incident {incident}")
    _attach(status, error_details_pb2.ErrorInfo(reason="INTERNAL", domain=DOMAIN, metadata={"incident": incident}))
    return status


def _status(error: errors.CiteMeshError, code: int) -> status_pb2.Status:
    status = status_pb2.Status(code=code, message=str(error))
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN)
    info.metadata.update({"message": error.message, "remedy": error.remedy})
    if isinstance(error, errors.NotFound | errors.AlreadyExists):
        info.metadata.update({"kind": error.kind, "name": error.name})
    _attach(status, info)
    if isinstance(error, errors.InvalidInput):
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=error.fault)
        _attach(status, error_details_pb2.BadRequest(field_violations=[violation]))
    if isinstance(error, errors.Retryable):
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(int(error.retry_after_s * 1000))
        _attach(status, error_details_pb2.RetryInfo(retry_delay=delay))
    return status


def _attach(status: status_pb2.Status, detail: Message) -> None:
    status.details.add().Pack(detail)


@dataclass(frozen=True)
class _Details:
    """A failed call's status, and its details."""

    service: str
    message: str
    info: error_details_pb2.ErrorInfo
    request: error_details_pb2.BadRequest
    retry_s: float

    @property
    def text(self) -> str:
        return str(self.info.metadata.get("message", self.message))

    @property
    def remedy(self) -> str:
        return str(self.info.metadata.get("remedy", ""))

    def item(self) -> tuple[str, str, str]:
        """Returns kind and name of the item that the error is about, and the remedy."""
        metadata = self.info.metadata
        return metadata.get("kind", "item"), metadata.get("name", self.text), self.remedy


def to_error(error: Any, service: str) -> errors.CiteMeshError:
    """Returns the domain error behind a failed call (grpc.aio.AioRpcError) to ``service``."""
    status = _received(error)
    info, request, retry = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.RetryInfo(),
    )
    for detail in status.details:
        for message in (info, request, retry):
            if detail.Is(message.DESCRIPTOR):
                detail.Unpack(message)
    retry_s = retry.retry_delay.ToTimedelta().total_seconds() or 1.0
    details = _Details(service, status.message, info, request, retry_s)
    return REBUILD.get(status.code, _unexpected)(details)


def _received(error: Any) -> status_pb2.Status:
    try:
        status = rpc_status.from_call(error)
    except ValueError:  # the details contradict the status line: trust the line
        status = None
    if status is not None:
        return status
    return status_pb2.Status(code=error.code().value[0], message=error.details() or "")


def _invalid(details: _Details) -> errors.CiteMeshError:
    if not details.request.field_violations:
        return errors.InvalidInput(details.service, details.text, details.remedy)
    first = details.request.field_violations[0]
    return errors.InvalidInput(first.field, first.description, details.remedy)


def _unavailable(details: _Details) -> errors.CiteMeshError:
    return errors.Unavailable(details.service, details.retry_s, details.remedy or details.text)


def _internal(details: _Details) -> errors.CiteMeshError:
    """Returns Unavailable for a stream that broke off: behind a sidecar that is how a killed service looks."""
    if "RST_STREAM" in details.message:
        return _unavailable(details)
    return _unexpected(details)


def _unexpected(details: _Details) -> errors.CiteMeshError:
    return errors.CiteMeshError(f"{details.service} failed: {details.message}")


REBUILD: dict[int, Callable[[_Details], errors.CiteMeshError]] = {
    code_pb2.INVALID_ARGUMENT: _invalid,
    code_pb2.NOT_FOUND: lambda details: errors.NotFound(*details.item()),
    code_pb2.ALREADY_EXISTS: lambda details: errors.AlreadyExists(*details.item()),
    code_pb2.FAILED_PRECONDITION: lambda details: errors.PreconditionFailed(
        details.info.reason or "FAILED_PRECONDITION", details.text, details.remedy
    ),
    code_pb2.UNAUTHENTICATED: lambda details: errors.Unauthenticated(details.text, details.remedy),
    code_pb2.PERMISSION_DENIED: lambda details: errors.PermissionDenied(details.text, details.remedy),
    code_pb2.UNIMPLEMENTED: lambda details: errors.NotSupported(
        details.text.removesuffix(" is not supported"), details.remedy
    ),
    code_pb2.DEADLINE_EXCEEDED: lambda details: errors.DeadlineExceeded(f"{details.service} did not answer in time"),
    code_pb2.DATA_LOSS: lambda details: errors.DataLoss(details.text, details.remedy),
    code_pb2.RESOURCE_EXHAUSTED: lambda details: errors.Overloaded(
        details.text.removesuffix(" is full") or details.service, details.retry_s, details.remedy
    ),
    code_pb2.UNAVAILABLE: _unavailable,
    code_pb2.INTERNAL: _internal,
    # The peer cancelled, not we: it drained or died on the way.
    code_pb2.CANCELLED: _unavailable,
}

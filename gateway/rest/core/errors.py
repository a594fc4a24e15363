"""Errors as HTTP: status, headers and JSON body, in the gateway's own shape or OpenAI's."""

import logging
import math
import uuid
from dataclasses import dataclass
from typing import Any

from citemesh import errors

log = logging.getLogger(__name__)

# Most derived first: the first class that fits gives the status.
STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (errors.InvalidInput, 400),
    (errors.Unauthenticated, 401),
    (errors.PermissionDenied, 403),
    (errors.NotFound, 404),
    (errors.AlreadyExists, 409),
    (errors.PreconditionFailed, 409),
    (errors.NotSupported, 501),
    (errors.DeadlineExceeded, 504),
    (errors.DataLoss, 500),
    (errors.Overloaded, 429),
    (errors.Unavailable, 503),
)

PERPLEXITY_TYPES = {"INVALID_MODEL": "invalid_model"}
PERPLEXITY_KINDS = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "request_too_large",
    429: "rate_limit_exceeded",
    501: "not_implemented",
    503: "service_unavailable",
    504: "timeout",
}


class BodyTooLarge(errors.InvalidInput):
    """The request's body is over the limit."""

    reason = "BODY_TOO_LARGE"


class BodyStalled(errors.DeadlineExceeded):
    """The rest of the request's body doesn't come."""

    reason = "BODY_STALLED"


@dataclass(frozen=True, slots=True)
class Problem:
    """What a caller is told of an error."""

    status: int
    code: str
    message: str
    field: str = ""
    remedy: str = ""
    retry_after_s: float = 0.0

    @property
    def headers(self) -> dict[str, str]:
        """Retry-After, in whole seconds, where a retry is worth it."""
        return {"retry-after": str(math.ceil(self.retry_after_s))} if self.retry_after_s else {}

    def native(self) -> dict[str, Any]:
        """The body in the gateway's own shape."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        extra = {"field": self.field, "remedy": self.remedy, "retry_after_s": round(self.retry_after_s, 3)}
        return {"error": body | {key: value for key, value in extra.items() if value}}

    def openai(self) -> dict[str, Any]:
        """The body in OpenAI's shape."""
        kind = "invalid_request_error" if self.status < 429 else "rate_limit_error"
        kind = "server_error" if self.status >= 500 else kind
        return {"error": {"message": self.text, "type": kind, "param": self.field or None, "code": self.code.lower()}}

    def perplexity(self) -> dict[str, Any]:
        """The body in Perplexity's shape, whose code is the status."""
        kind = PERPLEXITY_TYPES.get(self.code) or PERPLEXITY_KINDS.get(self.status, "internal_server_error")
        return {"error": {"message": self.text, "type": kind, "code": self.status}}

    def ollama(self) -> dict[str, Any]:
        """The body in Ollama's shape."""
        return {"error": self.text}

    @property
    def text(self) -> str:
        """What is wrong and what to do, for shapes that have one text."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


def problem(error: Exception) -> Problem:
    """What is told of an error; what is no CiteMeshError is logged in full and told as an id."""
    if isinstance(error, BodyTooLarge):
        return _told(error, 413)
    if isinstance(error, BodyStalled):
        return _told(error, 408)
    for kind, status in STATUSES:
        if isinstance(error, kind) and isinstance(error, errors.CiteMeshError):
            return _told(error, status)
    incident = uuid.uuid4().hex[:12]
    log.error("unexpected error, incident %s", incident, exc_info=error)
    return Problem(500, "INTERNAL", f"internal error; the log has it as incident {incident}")


def _told(error: errors.CiteMeshError, status: int) -> Problem:
    field = error.field if isinstance(error, errors.InvalidInput) else ""
    retry_after_s = error.retry_after_s if isinstance(error, errors.Retryable) else 0.0
    return Problem(status, error.reason, whole(error.message), whole(field), whole(error.remedy), retry_after_s)


def whole(text: str) -> str:
    """The text with each half of a character (JSON can spell one, UTF-8 can't) written as an escape."""
    return text.encode("utf-8", "backslashreplace").decode()

"""The errors that callers of CiteMesh see.

    CiteMeshError
    ├── InvalidInput         a field's value is refused                INVALID_ARGUMENT
    ├── NotFound             there is no item of that name             NOT_FOUND
    ├── AlreadyExists        there is an item of that name already     ALREADY_EXISTS
    ├── PreconditionFailed   the system isn't in the needed state      FAILED_PRECONDITION
    ├── Unauthenticated      the caller didn't say who it is           UNAUTHENTICATED
    ├── PermissionDenied     the caller may not do this                PERMISSION_DENIED
    ├── NotSupported         not built, or not in this configuration   UNIMPLEMENTED
    ├── DeadlineExceeded     the caller's time ran out                 DEADLINE_EXCEEDED
    ├── DataLoss             stored data can't be read back            DATA_LOSS
    └── Retryable            try again after a while
        ├── Overloaded       a bounded queue is full                   RESOURCE_EXHAUSTED
        └── Unavailable      an engine or a service is down            UNAVAILABLE

Their text is shown to callers; any other exception is not, it becomes INTERNAL with an id. This module imports
nothing, so that engines can raise these errors and still be lifted out. kit/status.py turns them into gRPC status.
"""


class CiteMeshError(Exception):
    """Root of the tree.

    Attributes:
        reason: short constant for machines, upper case with underscores, such as ``MODEL_MISSING``.
        remedy: says what the caller can do about it; may be empty.
    """

    reason = "UNKNOWN"

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class InvalidInput(CiteMeshError):
    """A field's value is refused: names the field (dotted path), the value's fault and the remedy."""

    reason = "INVALID_INPUT"

    def __init__(self, field: str, fault: str, remedy: str = "") -> None:
        super().__init__(f"{field}: {fault}", remedy)
        self.field = field
        self.fault = fault


class NotFound(CiteMeshError):
    """There is no item of that name."""

    reason = "NOT_FOUND"

    def __init__(self, kind: str, name: str, remedy: str = "") -> None:
        super().__init__(f"no {kind} named {name!r}", remedy)
        self.kind = kind
        self.name = name


class AlreadyExists(CiteMeshError):
    """There is an item of that name already."""

    reason = "ALREADY_EXISTS"

    def __init__(self, kind: str, name: str, remedy: str = "") -> None:
        super().__init__(f"{kind} {name!r} exists", remedy)
        self.kind = kind
        self.name = name


class PreconditionFailed(CiteMeshError):
    """The system isn't in the state that the call needs; retrying alone won't help."""

    def __init__(self, reason: str, fault: str, remedy: str = "") -> None:
        super().__init__(fault, remedy)
        self.reason = reason


class Unauthenticated(CiteMeshError):
    """The caller didn't say who it is, or not convincingly."""

    reason = "UNAUTHENTICATED"


class PermissionDenied(CiteMeshError):
    """The caller is known and may not do this."""

    reason = "PERMISSION_DENIED"


class NotSupported(CiteMeshError):
    """Not built yet, or not in this configuration."""

    reason = "NOT_SUPPORTED"

    def __init__(self, feature: str, remedy: str = "") -> None:
        super().__init__(f"{feature} is not supported", remedy)


class DeadlineExceeded(CiteMeshError):
    """The caller's time ran out before the work was done."""

    reason = "DEADLINE_EXCEEDED"

    def __init__(self, action: str, remedy: str = "") -> None:
        super().__init__(f"the deadline passed: {action}", remedy)


class DataLoss(CiteMeshError):
    """Stored data can't be read back."""

    reason = "DATA_LOSS"


class Retryable(CiteMeshError):
    """Try again after a while.

    Attributes:
        retry_after_s: seconds after which a retry is worth it; over 0.
    """

    def __init__(self, message: str, retry_after_s: float, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.retry_after_s = retry_after_s


class Overloaded(Retryable):
    """A bounded queue is full, so the work is refused at once."""

    reason = "OVERLOADED"

    def __init__(self, queue: str, retry_after_s: float, remedy: str = "") -> None:
        super().__init__(f"{queue} is full", retry_after_s, remedy)


class Unavailable(Retryable):
    """An engine or a service is down."""

    reason = "UNAVAILABLE"

    def __init__(self, service: str, retry_after_s: float = 1.0, remedy: str = "") -> None:
        super().__init__(f"{service} is not available", retry_after_s, remedy)

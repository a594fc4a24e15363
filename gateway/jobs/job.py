"""A question that is answered later."""

from dataclasses import dataclass
from typing import Any, Literal

from gateway.threads.owner import Owner

Status = Literal["CREATED", "IN_PROGRESS", "COMPLETED", "FAILED"]


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a caller hands in.

    Attributes:
        reach: the collections that its key may reach, as the identity policy says; None where none stands in front.
        base: the address under which it knows the gateway; links in the answer begin with it.
        key: the caller's own name for it, under which it is made once; empty where it gives none.
    """

    owner: Owner
    scope: str | None
    model: str
    base: str
    request: dict[str, Any]
    key: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One that is kept. Times in seconds since 1970; tries: how often it was begun."""

    place: int
    id: str
    asked: JobRequest
    status: Status
    created_at: int
    started_at: int | None
    ended_at: int | None
    tries: int
    response: dict[str, Any] | None
    error: str


@dataclass(frozen=True, slots=True)
class JobBounds:
    """How much is kept.

    Attributes:
        unfinished: jobs of a caller that aren't done; one more is refused.
        unfinished_in_all: the same, of all callers.
        kept: jobs of a caller in all; the oldest that is done gives way.
        request_bytes: most bytes of a request.
        wait_s: seconds after which a job that was never begun fails.
        keep_s: seconds after which a job that is done is deleted.
        tries: how often a job is begun, where the gateway ended in its midst.
    """

    unfinished: int = 16
    unfinished_in_all: int = 256
    kept: int = 100
    request_bytes: int = 256 * 1024
    wait_s: int = 3600
    keep_s: int = 7 * 24 * 3600
    tries: int = 2

"""How a new policy goes live under traffic: judged, renamed into place, watched at every sidecar."""

from __future__ import annotations

import contextlib
import fcntl
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from citemesh.errors import DeadlineExceeded, Unavailable
from citemesh.mesh.envoy.admin import Admin
from citemesh.mesh.envoy.filters import IDENTITY
from citemesh.mesh.placement import Placement
from citemesh.mesh.policy import SECRET_MODE, document_version, ecds_document, identity_filter, judge_identity
from citemesh.mesh.text import replace_file

Outcome = Literal["live", "refused", "timed_out"]
_POLL_S = 0.01
_DISCOVERY = f"extension_config_discovery.http_filter.{IDENTITY}."


@dataclass(frozen=True, slots=True)
class ServiceReport:
    """What became of a push at one sidecar. `reason` says why, unless it is live."""

    service: str
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PushReport:
    """What became of a push. `version` is empty when Envoy refused the document before any sidecar saw it."""

    version: str
    services: tuple[ServiceReport, ...]

    @property
    def ok(self) -> bool:
        """Live everywhere."""
        return all(service.outcome == "live" for service in self.services)


def push_identity(
    placement: Placement, services: Sequence[str], config: Mapping[str, Any], deadline_s: float = 10.0
) -> PushReport:
    """Changes keys (or, with another `identity_wasm` in the placement, code) of running sidecars.

    A refused document is taken back, so that a sidecar that restarts finds the policy it had. A sidecar that
    does not answer in time keeps the new file: Envoy has judged it good, and it is what the next start
    should run. Blocking, `deadline_s` plus the time of one validation at most; call it in a thread from
    async code.

    Raises:
        PreconditionFailed: no Envoy, or no policy file.
        DeadlineExceeded: another push holds the lock, or validation did not come to an end.
        InvalidInput: the configuration is not JSON.
        OSError: the directory can't be written.
    """
    verdict = judge_identity(placement, config)
    if not verdict.ok:
        return PushReport("", tuple(ServiceReport(service, "refused", verdict.message) for service in services))
    text = ecds_document("identity", identity_filter(placement, config))
    end = time.monotonic() + deadline_s
    with _lock(Path(placement.run_dir) / "policy.lock", end):
        pushes = [_Push(placement, service, text) for service in services]
        return PushReport(document_version(text), _settle(pushes, end))


def live_version(admin: Admin) -> str:
    """Version of the identity policy a sidecar runs; empty when none.

    The statistic is asked and not the configuration dump: the dump shows the newest document even when it was
    refused (seen on Envoy 1.40).

    Raises:
        Unavailable, DeadlineExceeded: as `Admin`.
    """
    return admin.texts(f"^{re.escape(_DISCOVERY)}version_text$").get(f"{_DISCOVERY}version_text", "")


def failures(admin: Admin) -> int:
    """How many policy updates a sidecar has refused since it started.

    Raises:
        Unavailable, DeadlineExceeded: as `Admin`.
    """
    return admin.stats(f"^{re.escape(_DISCOVERY)}config_fail$").get(f"{_DISCOVERY}config_fail", 0)


class _Push:
    """One service's part of a push."""

    def __init__(self, placement: Placement, service: str, text: str) -> None:
        self.service = service
        self._version = document_version(text)
        self._admin = Admin(placement.admin_socket(service), timeout_s=1.0)
        self._path = Path(placement.policy_file(service, "identity"))
        self._old = self._path.read_text(encoding="utf-8") if self._path.is_file() else None
        self._failed_before = self._ask_failures()
        if text != self._old:
            replace_file(self._path, text, SECRET_MODE)

    def poll(self) -> ServiceReport | None:
        """The service's report, once there is one."""
        try:
            if live_version(self._admin) == self._version:
                return ServiceReport(self.service, "live")
            failed = failures(self._admin)
        except (Unavailable, DeadlineExceeded):
            return None
        if self._failed_before is None or failed <= self._failed_before:
            return None
        self._take_back()
        return ServiceReport(
            self.service, "refused", "the sidecar refused the policy; its log says why; the old one stays"
        )

    def late(self) -> ServiceReport:
        """The report when the deadline has passed."""
        alive = self._ask_failures() is not None
        reason = "the sidecar did not take the policy in time" if alive else "the sidecar does not answer"
        return ServiceReport(self.service, "timed_out", f"{reason}; the file is in place")

    def _take_back(self) -> None:
        if self._old is not None:
            replace_file(self._path, self._old, SECRET_MODE)

    def _ask_failures(self) -> int | None:
        try:
            return failures(self._admin)
        except (Unavailable, DeadlineExceeded):
            return None


def _settle(pushes: list[_Push], end: float) -> tuple[ServiceReport, ...]:
    """Polls every service until each has reported or time is up."""
    reports: dict[str, ServiceReport] = {}
    while True:
        for push in pushes:
            if push.service not in reports and (report := push.poll()):
                reports[push.service] = report
        if len(reports) == len(pushes) or time.monotonic() >= end:
            return tuple(reports.get(push.service) or push.late() for push in pushes)
        time.sleep(_POLL_S)


@contextlib.contextmanager
def _lock(path: Path, end: float) -> Iterator[None]:
    """One push at a time; the lock goes with the process that holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise DeadlineExceeded("another policy push, which holds the lock") from None
                time.sleep(_POLL_S)
        yield

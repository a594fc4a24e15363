"""The table that jobs are kept in, and what is done with it, each within the transaction that it is given."""

import json
import sqlite3
from typing import Any

from citemesh.errors import NotFound, Overloaded, PreconditionFailed
from gateway.jobs.job import Job, JobBounds, JobRequest
from gateway.threads.owner import Owner

VERSION = 1
TABLES = """
CREATE TABLE jobs (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    reach TEXT,
    model TEXT NOT NULL,
    base TEXT NOT NULL,
    request TEXT NOT NULL,
    key TEXT NOT NULL,
    status TEXT NOT NULL,
    created INTEGER NOT NULL,
    started INTEGER,
    ended INTEGER,
    tries INTEGER NOT NULL,
    response TEXT,
    error TEXT NOT NULL
) STRICT;
CREATE INDEX jobs_of ON jobs (tenant, subject, place);
CREATE INDEX jobs_to_do ON jobs (status, place);
CREATE UNIQUE INDEX jobs_by_key ON jobs (tenant, subject, key) WHERE key <> '';
"""
_UNFINISHED = "status IN ('CREATED', 'IN_PROGRESS')"
_HEAD = "place, id, tenant, subject, reach, model, base, request, key"
_COLUMNS = f"{_HEAD}, status, created, started, ended, tries, response, error"
_MINE = "tenant = ? AND subject = ?"


def add(connection: sqlite3.Connection, job_id: str, asked: JobRequest, now: int, bounds: JobBounds) -> Job:
    """A new job, or the one that was made under the same key. Raises Overloaded, PreconditionFailed."""
    owner = (asked.owner.tenant, asked.owner.subject)
    if asked.key and (found := _one(connection, f"{_MINE} AND key = ?", (*owner, asked.key))):
        return found
    request = json.dumps(asked.request)
    if len(request) > bounds.request_bytes:
        fault = f"the request is over {bounds.request_bytes} bytes"
        raise PreconditionFailed("REQUEST_TOO_LARGE", fault, "send a shorter conversation")
    if _count(connection, _UNFINISHED, ()) >= bounds.unfinished_in_all:
        raise Overloaded("the list of questions to answer later", 60.0)
    if _count(connection, f"{_MINE} AND {_UNFINISHED}", owner) >= bounds.unfinished:
        raise Overloaded("your list of questions to answer later", 60.0, "wait for some of them")
    connection.execute(
        "INSERT INTO jobs (id, tenant, subject, reach, model, base, request, key, status, created, tries, error) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'CREATED', ?, 0, '')",
        (job_id, *owner, asked.scope, asked.model, asked.base, request, asked.key, now),
    )
    beyond = connection.execute(
        "SELECT place FROM jobs WHERE tenant = ? AND subject = ? ORDER BY place DESC LIMIT 1 OFFSET ?",
        (*owner, bounds.kept),
    ).fetchone()
    if beyond:
        _delete(connection, f"{_MINE} AND NOT {_UNFINISHED} AND place <= ?", (*owner, beyond[0]))
    return find(connection, asked.owner, job_id)


def find(connection: sqlite3.Connection, owner: Owner, job_id: str) -> Job:
    """A job. Raises NotFound, in the same words whether it is another's or nobody's."""
    found = _one(connection, f"{_MINE} AND id = ?", (owner.tenant, owner.subject, job_id))
    if found is None:
        raise NotFound("request", job_id, "list those that there are")
    return found


def page(connection: sqlite3.Connection, owner: Owner, before: int, limit: int) -> list[Job]:
    """An owner's jobs, newest first, those made before a place."""
    where = f"{_MINE} AND place < ? ORDER BY place DESC LIMIT ?"
    return _all(connection, where, (owner.tenant, owner.subject, before, limit))


def begin(connection: sqlite3.Connection, now: int) -> Job | None:
    """The job that waits longest, begun."""
    found = _one(connection, "status = 'CREATED' ORDER BY place LIMIT 1", ())
    if found is None:
        return None
    connection.execute(
        "UPDATE jobs SET status = 'IN_PROGRESS', started = ?, tries = tries + 1 WHERE place = ?", (now, found.place)
    )
    return _one(connection, "place = ?", (found.place,))


def end(connection: sqlite3.Connection, place: int, response: dict[str, Any] | None, error: str, now: int) -> None:
    """A job's answer, or why it has none."""
    connection.execute(
        "UPDATE jobs SET status = ?, ended = ?, response = ?, error = ? WHERE place = ?",
        ("COMPLETED" if response else "FAILED", now, json.dumps(response) if response else None, error, place),
    )


def recover(connection: sqlite3.Connection, now: int, bounds: JobBounds) -> None:
    """What was in progress when the gateway ended is to do again, unless that happens each time."""
    connection.execute(
        "UPDATE jobs SET status = 'FAILED', ended = ?, error = 'the gateway ended while it was being answered' "
        "WHERE status = 'IN_PROGRESS' AND tries >= ?",
        (now, bounds.tries),
    )
    connection.execute("UPDATE jobs SET status = 'CREATED', started = NULL WHERE status = 'IN_PROGRESS'")


def tidy(connection: sqlite3.Connection, now: int, bounds: JobBounds) -> None:
    """Fails what waits too long, deletes what is done for too long."""
    connection.execute(
        "UPDATE jobs SET status = 'FAILED', ended = ?, error = 'it was not begun in time' "
        "WHERE status = 'CREATED' AND created < ?",
        (now, now - bounds.wait_s),
    )
    _delete(connection, f"NOT {_UNFINISHED} AND ended < ?", (now - bounds.keep_s,))


# What these are given as `where` is written in this file; what callers send goes into `values`.


def _delete(connection: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> None:
    connection.execute(f"DELETE FROM jobs WHERE {where}", values)  # noqa: S608 - see above


def _count(connection: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> int:
    found = connection.execute(f"SELECT count(*) FROM jobs WHERE {where}", values)  # noqa: S608 - see above
    return int(found.fetchone()[0])


def _one(connection: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> Job | None:
    return next(iter(_all(connection, where, values)), None)


def _all(connection: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> list[Job]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM jobs WHERE {where}", values)  # noqa: S608 - see above
    return [_job(row) for row in rows.fetchall()]


def _job(row: tuple[Any, ...]) -> Job:
    place, job_id, tenant, subject, scope, model, base, request, key, *rest = row
    asked = JobRequest(Owner(tenant, subject), scope, model, base, json.loads(request), key)
    status, created, started, ended, tries, response, error = rest
    answer = json.loads(response) if response else None
    return Job(place, job_id, asked, status, created, started, ended, tries, answer, error)

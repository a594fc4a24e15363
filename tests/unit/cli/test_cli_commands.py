"""The commands as a shell sees them: output, exit status, and what an error says."""

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from citemesh import errors
from citemesh.client import query as query_module
from citemesh.client.types import AskEvent, DeltaEvent, DoneEvent, Location, Question, SearchFilter, Source, Span, Usage
from citemesh.mesh.topology import load_topology
from cli import main
from cli.local_mesh.keys import Keyring
from cli.local_mesh.runtime import Running, write_note
from cli.terminal.failures import exit_status, message_of, remedy_of

DONE = DoneEvent("complete", "generated", Usage(), (), {}, "", "m")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory, and none of the caller's settings."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("CITEMESH_")]:
        monkeypatch.delenv(name)


def invoke(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=stdin)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[Question]:
    """A gateway that answers; the questions it was asked."""
    asked: list[Question] = []

    async def ask(self: object, question: Question, timeout_s: float) -> AsyncIterator[AskEvent]:
        asked.append(question)
        yield DeltaEvent("Yes.")
        yield DONE

    monkeypatch.setattr(query_module.QueryClient, "ask", ask)
    return asked


def refuse(monkeypatch: pytest.MonkeyPatch, error: errors.CiteMeshError) -> None:
    async def ask(self: object, question: Question, timeout_s: float) -> AsyncIterator[AskEvent]:
        yield DeltaEvent("Y")
        raise error

    monkeypatch.setattr(query_module.QueryClient, "ask", ask)


ASK = ("ask", "--target", "127.0.0.1:9", "Why?")


def test_ask_prints_the_answer(answered: list[Question]) -> None:
    more = ("--source-type", "pdf", "--collection", "mail")
    result = invoke(*ASK, "--mode", "extractive", "--max-tokens", "9", "--collection", "notes", *more)
    assert result.exit_code == 0
    assert result.stdout.startswith("Yes.\n\n")
    chosen = SearchFilter(source_types=("pdf",))
    assert answered == [Question("Why?", "notes", "extractive", 9, filter=chosen, more_collections=("mail",))]


def test_ask_passes_on_how_the_answer_is_to_be(answered: list[Question]) -> None:
    words = ("--length", "short", "--style", "list", "--answer-language", "zh", "--related", "3")
    assert invoke(*ASK, *words).exit_code == 0
    assert answered == [Question("Why?", answer_language="zh", length="short", style="list", related_questions=3)]


def test_ask_reads_a_question_from_a_pipe(answered: list[Question]) -> None:
    assert invoke("ask", "--target", "x:1", stdin="为什么? 🤔\n".encode()).exit_code == 0
    assert invoke("ask", "--target", "x:1", "-", stdin=b"\xff?").exit_code == 0
    assert [question.question for question in answered] == ["为什么? 🤔", "\ufffd?"]


@pytest.mark.parametrize("question", ["", "   ", "\n"])
def test_an_empty_question_is_wrong_use(question: str) -> None:
    result = invoke("ask", "--target", "x:1", question)
    assert result.exit_code == 2
    assert "question: it is empty" in result.stderr


def test_no_mesh_here_says_how_to_get_one() -> None:
    result = invoke("ask", "Why?")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == "error: no mesh runs in .citemesh"
    assert "citemesh up" in result.stderr.splitlines()[1]


def test_a_mesh_that_has_gone_is_told(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    (tmp_path / ".citemesh/run").mkdir(parents=True)
    write_note(Path(".citemesh"), Running(gone.pid, True, 8080, {}, ""))
    assert "has gone" in invoke("ask", "Why?").stderr


ERRORS: list[tuple[errors.CiteMeshError, int]] = [
    (errors.InvalidInput("question", "too long", "shorten it"), 2),
    (errors.NotFound("collection", "x", "make it"), 1),
    (errors.PreconditionFailed("X", "broken", "mend it"), 1),
    (errors.Overloaded("the queue", 1.0), 3),
    (errors.Unavailable("the gateway"), 3),
    (errors.Unavailable("the gateway", 1.0, "no healthy upstream"), 3),
    (errors.Unauthenticated("no key"), 4),
    (errors.PermissionDenied("not yours"), 4),
    (errors.DeadlineExceeded("answer"), 5),
    (errors.CiteMeshError("something", ""), 1),
]


@pytest.mark.parametrize(("error", "status"), ERRORS)
def test_an_error_is_one_line_what_and_one_line_what_to_do(
    monkeypatch: pytest.MonkeyPatch, error: errors.CiteMeshError, status: int
) -> None:
    refuse(monkeypatch, error)
    result = invoke(*ASK)
    assert result.exit_code == status == exit_status(error)
    lines = result.stderr.splitlines()
    assert lines[0] == f"error: {message_of(error)}"
    assert lines[1:] == ([f"what to do: {remedy_of(error)}"] if remedy_of(error) else [])
    assert "Traceback" not in result.output


@pytest.mark.parametrize(("error", "status"), ERRORS)
def test_an_error_is_an_event_for_machines(
    monkeypatch: pytest.MonkeyPatch, error: errors.CiteMeshError, status: int
) -> None:
    refuse(monkeypatch, error)
    result = invoke(*ASK, "--json")
    assert result.exit_code == status
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["event"] for event in events] == ["delta", "error"]
    assert events[1]["message"] == message_of(error)
    assert events[1]["exit_status"] == status


def test_an_error_cannot_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, errors.InvalidInput("question", "\x1b[2J\x1b]0;x\x07", "\x1b[1m"))
    assert not {"\x1b", "\x07"} & set(invoke(*ASK).stderr)


def test_a_misspelt_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEMESH_CLI_TARGTE", "x")
    result = invoke(*ASK)
    assert result.exit_code == 2
    assert "CITEMESH_CLI_TARGET" in result.stderr


def test_settings_say_where_to_ask(monkeypatch: pytest.MonkeyPatch, answered: list[Question]) -> None:
    monkeypatch.setenv("CITEMESH_CLI_TARGET", "127.0.0.1:9")
    assert invoke("ask", "Why?").exit_code == 0


def test_search_shows_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Location(Span(0, 9), page=3)
    found = (
        Source(1, "c", "d", "default", "Guide", "g.md", place, "two\nlines", 0.75, datetime(2024, 1, 31, tzinfo=UTC)),
    )

    async def search(*arguments: object, **options: object) -> Sequence[Source]:
        return found

    monkeypatch.setattr(query_module.QueryClient, "search", search)
    result = invoke("search", "--target", "x:1", "mesh")
    assert result.stdout == "[1] Guide  g.md, page 3  0.75\n    “two lines”\n"
    machine = json.loads(invoke("search", "--target", "x:1", "mesh", "--json").stdout)
    assert (machine["location"]["page"], machine["published_at"]) == (3, "2024-01-31T00:00:00+00:00")


def test_config_page_is_written_and_checked(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "config.md"
    assert invoke("config", "--check", str(page)).exit_code == 1
    assert invoke("config", "--write", str(page)).exit_code == 0
    assert invoke("config", "--check", str(page)).exit_code == 0
    text = page.read_text()
    for name in (
        "CITEMESH_STATE_DIR",
        "CITEMESH_<SERVICE>_DRAIN_S",
        "CITEMESH_GATEWAY_HTTP_LISTEN",
        "CITEMESH_CLI_TARGET",
    ):
        assert text.count(f"`{name}`") == 1
    assert "pydantic" not in text.lower()
    page.write_text(text + "\n")
    assert "citemesh config --write" in invoke("config", "--check", str(page)).stderr


def test_keys_from_first_to_last() -> None:
    Keyring(Path(".citemesh")).ensure(load_topology())
    wanted = ("user:ann", "--tenant", "acme", "--method", "*", "--collections", "notes, team-*")
    added = invoke("policy", "key", "add", *wanted)
    assert re.fullmatch(r"cm_[0-9a-f]{8}_[\w-]{43}\n", added.stdout)
    key_id = added.stdout.split("_")[1]
    listed = [json.loads(line) for line in invoke("policy", "key", "list", "--json").stdout.splitlines()]
    told = {"id": key_id, "subject": "user:ann", "tenant": "acme", "methods": ["*"], "delegate": False}
    assert told | {"collections": ["notes", "team-*"]} in listed
    assert "user:ann" in invoke("policy", "key", "list").stdout
    assert invoke("policy", "key", "remove", key_id).exit_code == 0
    again = invoke("policy", "key", "remove", key_id)
    assert again.exit_code == 1
    assert "policy key list" in again.stderr


@pytest.mark.parametrize(
    "arguments",
    [("add", "bad,name"), ("add", "user:x", "--method", "nonsense"), ("add", "user:x", "--collections", "a,B")],
)
def test_a_key_that_the_policy_would_refuse_is_not_made(arguments: Sequence[str]) -> None:
    result = invoke("policy", "key", *arguments)
    assert result.exit_code == 2
    assert not invoke("policy", "key", "list", "--json").stdout


def test_push_needs_a_running_mesh(tmp_path: Path) -> None:
    result = invoke("policy", "push")
    assert result.exit_code == 1
    assert "no mesh runs" in result.stderr
    (tmp_path / "broken.json").write_text("{")
    result = invoke("policy", "push", "--config", "broken.json")
    assert result.exit_code == 2
    assert "not JSON" in result.stderr


def test_ingest_refuses_what_is_not_there() -> None:
    result = invoke("ingest", "--target", "x:1", "nowhere")
    assert result.exit_code == 2
    assert "nowhere is not there" in result.stderr


def test_doctor_tells_each_lack_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.operations.checks.version", _without("faiss-cpu"))
    monkeypatch.setattr("cli.operations.checks.DISK_BYTES", 1 << 60)
    result = invoke("doctor", "--json")
    assert result.exit_code == 1
    found = {check["name"]: check for check in map(json.loads, result.stdout.splitlines())}
    assert found["packages: retrieval"]["verdict"] == "lack"
    assert "faiss-cpu is missing" in found["packages: retrieval"]["found"]
    assert "citemesh[retrieval]" in found["packages: retrieval"]["remedy"]
    assert found["disk (state)"]["verdict"] == "lack"
    assert found["sqlite"]["verdict"] == "ok"
    assert all(check["remedy"] for check in found.values() if check["verdict"] != "ok")


def _without(package: str) -> object:
    def look(name: str) -> str:
        if name == package:
            raise PackageNotFoundError(name)
        return version(name)

    return look


def test_help_lists_the_commands_and_what_the_exit_status_means() -> None:
    text = invoke("--help").stdout
    for word in ("up", "ask", "search", "ingest", "doctor", "mesh", "policy", "config", "Exit status"):
        assert word in text


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(self: object, question: Question, timeout_s: float) -> AsyncIterator[AskEvent]:
        yield DeltaEvent("Y")
        raise KeyboardInterrupt

    monkeypatch.setattr(query_module.QueryClient, "ask", ask)
    assert invoke(*ASK).exit_code == 130

"""The command line as a person uses it, against the whole mesh: real keys, real sidecars, real engines."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from tests.support.running import RunningMesh

LIMIT_S = 120.0
GUIDE = """---
title: Tea house
team: kitchen
date: 2024-05-01
---

# Brewing

Green tea wants water of eighty degrees.
"""


class Tool:
    """`citemesh …` in a folder, with the state directory of a mesh."""

    def __init__(self, folder: Path, state_dir: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CITEMESH_")}
        self._env = kept | {"CITEMESH_STATE_DIR": str(state_dir.absolute())}

    def run(self, *words: str, status: int = 0) -> str:
        """Its output; the exit status must be the one that is expected."""
        done = subprocess.run(
            self._command(words), cwd=self.folder, env=self._env, capture_output=True, text=True, timeout=LIMIT_S
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def lines(self, *words: str) -> list[dict[str, Any]]:
        """Its output as JSON lines."""
        return [json.loads(line) for line in self.run(*words, "--json").splitlines()]

    def start(self, *words: str) -> "Running":
        """It runs until it is told to stop."""
        return Running(
            subprocess.Popen(self._command(words), cwd=self.folder, env=self._env, stdout=subprocess.PIPE, text=True)
        )

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-P", "-m", "cli", *words]


class Running:
    """A command that runs, and what it says."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._said: Queue[dict[str, Any]] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def until(self, **facts: Any) -> None:
        """Reads on to a line with these facts."""
        while True:
            line = self._said.get(timeout=LIMIT_S)
            if facts.items() <= line.items():
                return

    def interrupt(self) -> int:
        """Ctrl-C; answers the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(LIMIT_S)

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self._said.put(json.loads(line))


@pytest.fixture(scope="module")
def tool(mesh: RunningMesh, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tool]:
    folder = tmp_path_factory.mktemp("tool")
    (folder / "notes").mkdir()
    (folder / "notes" / "tea.md").write_text(GUIDE)
    (folder / "notes" / "people.csv").write_text("name,city,year\nAnn,Paris,2019\nBob,Lyon,2021\n")
    found = Tool(folder, mesh.options.state_dir)
    found.run("collection", "create", "tool")
    yield found
    found.run("collection", "delete", "tool", "--yes")


def test_documents_are_taken_in_found_and_narrowed(tool: Tool) -> None:
    taken = {line["uri"]: line for line in tool.lines("ingest", "notes", "--collection", "tool")}
    assert {uri: line["state"] for uri, line in taken.items()} == {
        "notes/tea.md": "committed",
        "notes/people.csv": "committed",
    }
    assert taken["notes/people.csv"]["rows"] == 2
    by_words = tool.lines("search", "eighty degrees", "--collection", "tool", "--mode", "lexical")
    assert [line["title"] for line in by_words] == ["Tea house"]
    assert by_words[0]["lexical"] > 0
    assert by_words[0]["dense"] is None
    recent = tool.lines("search", "who lives where?", "--collection", "tool", "--where", "year>=2020")
    assert [source["title"] for source in recent] == ["Bob"]
    kitchen = tool.lines("search", "tea", "--collection", "tool", "--after", "2024", "--where", "team=kitchen")
    assert [source["title"] for source in kitchen] == ["Tea house"]
    shown = tool.run("document", "show", taken["notes/tea.md"]["document_id"], "--collection", "tool", "--text")
    assert "Green tea wants water of eighty degrees." in shown


def test_a_followed_folder_and_its_collection_stay_equal(tool: Tool) -> None:
    watched = tool.folder / "watched"
    watched.mkdir()
    (watched / "one.md").write_text("White tea wants seventy degrees.")
    command = tool.start("ingest", "watched", "--collection", "tool", "--watch", "--delete", "--json")
    try:
        command.until(event="watching", files=1)
        (watched / "two.md").write_text("Black tea wants ninety-five degrees.")
        command.until(uri="watched/two.md", state="committed")
        (watched / "one.md").unlink()
        command.until(event="deleted", uri="watched/one.md")
        found = tool.lines("search", "seventy ninety-five", "--collection", "tool", "--mode", "lexical")
        assert [line["uri"] for line in found] == ["watched/two.md"]
    finally:
        assert command.interrupt() == 0


def test_a_copy_is_made_while_it_serves_and_restored_elsewhere(tool: Tool) -> None:
    (made,) = tool.lines("snapshot", "tool")
    assert made["documents"] >= 1
    (proved,) = tool.lines("restore", made["directory"], "--prove")
    assert proved["ok"]
    assert "stop it" in tool.run("restore", made["directory"], status=1)
    (restored,) = tool.lines("restore", made["directory"], "--state-dir", "elsewhere")
    assert (restored["documents"], restored["chunks"]) == (made["documents"], made["chunks"])


def test_a_wrong_key_is_told_and_what_to_do(tool: Tool) -> None:
    said = tool.run("collection", "list", "--key", f"cm_01234567_{'x' * 43}", status=4)
    assert "citemesh policy key add" in said

"""What `citemesh up` says once the mesh answers, and to whom it shows the key."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from cli.local_mesh.layout import StackOptions
from cli.local_mesh.stack import Stack
from cli.operations.up_view import JsonView, LineView


def stack_in(folder: Path, mesh: bool = True) -> Stack:
    """One that isn't started, with its key."""
    stack = Stack(StackOptions(state_dir=folder / "s", mesh=mesh))
    stack.layout.keyring.ensure(stack.layout.topology)
    return stack


def told(stack: Stack, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, color_system=None, width=400, soft_wrap=True)
    LineView(console).ready(stack)
    return out.getvalue()


def test_a_terminal_gets_the_pages_address_with_the_key(tmp_path: Path) -> None:
    stack = stack_in(tmp_path)
    text = told(stack, terminal=True)
    found = re.search(r"http://127\.0\.0\.1:8080/#key=(\S+)", text)
    assert found is not None
    assert found.group(1) == stack.key
    assert "keep it to yourself" in text
    assert re.fullmatch(r"cm_[\w-]+", stack.key), "the page takes no other"


def test_a_log_never_gets_the_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stack = stack_in(tmp_path)
    text = told(stack, terminal=False)
    assert "http://127.0.0.1:8080/\n" in text
    assert str(stack.layout.keyring.default_file) in text
    assert stack.key not in text
    JsonView().ready(stack)
    line = capsys.readouterr().out
    assert stack.key not in line
    assert json.loads(line)["event"] == "ready"


def test_without_sidecars_there_is_no_key_to_show(tmp_path: Path) -> None:
    stack = stack_in(tmp_path, mesh=False)
    text = told(stack, terminal=True)
    assert "http://127.0.0.1:8081/\n" in text
    assert "#key=" not in text
    assert stack.key not in text

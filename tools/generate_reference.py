"""Writes docs/reference from what the reference is about, or checks that the committed pages are the same.

    python tools/generate_reference.py           writes
    python tools/generate_reference.py --check   exits 1 and names each page that differs

grpc.md comes from protos/ with their comments, rest.md from the endpoints that the gateway serves, cli.md from the
commands' own help.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import click
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "reference"
WRITTEN = "<!-- Written by tools/generate_reference.py; do not edit. -->\n"
_MESSAGES, _SERVICES, _FIELDS, _METHODS, _NESTED = 4, 6, 2, 2, 3
"""Numbers of fields in FileDescriptorProto, DescriptorProto and ServiceDescriptorProto, which make comments' paths."""


def main() -> int:
    """Writes or checks; returns the exit status."""
    pages = {"grpc.md": grpc_page(image()), "rest.md": rest_page(openapi()), "cli.md": cli_page(command())}
    if "--check" in sys.argv[1:]:
        stale = [name for name, text in pages.items() if _read(OUT / name) != text]
        for name in stale:
            print(f"docs/reference/{name} is out of date: run python tools/generate_reference.py", file=sys.stderr)
        return 1 if stale else 0
    OUT.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (OUT / name).write_text(text, encoding="utf-8")
    return 0


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def image() -> FileDescriptorSet:
    """The protos with their comments."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.binpb"
        subprocess.run([Path(sys.executable).parent / "buf", "build", "-o", path], cwd=ROOT, check=True)
        return FileDescriptorSet.FromString(path.read_bytes())


def grpc_page(files: FileDescriptorSet) -> str:
    """The gRPC reference."""
    about = "Every service also answers `grpc.health.v1.Health`, server reflection and channelz.\n"
    parts = [WRITTEN, "# gRPC\n", about]
    for file in sorted(files.file, key=lambda file: file.name):
        if file.package.startswith("citemesh."):
            parts += _file_parts(file)
    return "\n".join(parts)


def _file_parts(file: FileDescriptorProto) -> Iterator[str]:
    notes = {tuple(place.path): place.leading_comments for place in file.source_code_info.location}
    yield f"## {file.name.removeprefix('citemesh/api/')}\n"
    for number, service in enumerate(file.service):
        yield f"### Service `{file.package}.{service.name}`\n"
        yield _text(notes.get((_SERVICES, number), "")) + "\n"
        yield "| method | request | answer | what it does |\n| --- | --- | --- | --- |"
        for place, method in enumerate(service.method):
            note = _cell(notes.get((_SERVICES, number, _METHODS, place), ""))
            request = ("stream " if method.client_streaming else "") + _short(method.input_type)
            answer = ("stream " if method.server_streaming else "") + _short(method.output_type)
            yield f"| `{method.name}` | `{request}` | `{answer}` | {note} |"
        yield ""
    for number, message in enumerate(file.message_type):
        yield from _message_parts(message, (_MESSAGES, number), notes, "")


def _message_parts(
    message: DescriptorProto, path: tuple[int, ...], notes: dict[tuple[int, ...], str], outer: str
) -> Iterator[str]:
    if message.options.map_entry:
        return
    name = f"{outer}{message.name}"
    yield f"### `{name}`\n\n{_text(notes.get(path, ''))}\n"
    if message.field:
        yield "| field | type | meaning |\n| --- | --- | --- |"
        for place, field in enumerate(message.field):
            yield f"| `{field.name}` | `{_type(field)}` | {_cell(notes.get((*path, _FIELDS, place), ''))} |"
        yield ""
    for place, nested in enumerate(message.nested_type):
        yield from _message_parts(nested, (*path, _NESTED, place), notes, f"{name}.")


def _type(field: FieldDescriptorProto) -> str:
    kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    name = _short(field.type_name) if field.type_name else kind
    return f"repeated {name}" if field.label == FieldDescriptorProto.LABEL_REPEATED else name


def _short(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _text(note: str) -> str:
    return "\n".join(line.removeprefix(" ") for line in note.strip("\n").splitlines())


def _cell(note: str) -> str:
    return " ".join(note.split()).replace("|", "\\|")


def openapi() -> dict[str, Any]:
    """The gateway's own description of its HTTP APIs; no endpoint is called."""
    from gateway.rest.app import ApiBackends, endpoints
    from gateway.rest.core.endpoint import HttpBounds
    from gateway.rest.openapi import described

    backends = ApiBackends(*[cast("Any", None)] * len(ApiBackends.__dataclass_fields__))
    return described(endpoints(backends, HttpBounds(1, 1, 1)))


def rest_page(description: dict[str, Any]) -> str:
    """The REST reference, by tag."""
    parts = [WRITTEN, "# REST\n", description["info"]["description"] + "\n"]
    by_tag: dict[str, list[str]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            for tag in operation.get("tags", ["Others"]):
                by_tag.setdefault(tag, []).append(_operation(method.upper(), path, operation))
    for tag, operations in by_tag.items():
        parts += [f"## {tag}\n", *operations]
    return "\n".join(parts)


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    lines = [f"### `{method} {path}`\n", operation.get("summary", "") + "\n"]
    rows = [(each["name"], each["in"], each.get("description", "")) for each in operation.get("parameters", [])]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        properties = content.get("schema", {}).get("properties", {})
        rows += [(name, "body", schema.get("description", "")) for name, schema in properties.items()]
    if rows:
        lines.append("| field | in | meaning |\n| --- | --- | --- |")
        lines += [f"| `{name}` | {place} | {_cell(meaning)} |" for name, place, meaning in dict.fromkeys(rows)]
        lines.append("")
    answer = operation.get("responses", {}).get("200", {}).get("description", "")
    return "\n".join([*lines, f"Answers: {answer}\n"] if answer else lines)


def command() -> click.Command:
    """The command line."""
    from cli.root import main as root

    return root


def cli_page(root: click.Command) -> str:
    """The command line's reference: the help of every command."""
    return "\n".join([WRITTEN, "# Command line\n", *_helps(root, "citemesh", None)])


def _helps(each: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(each, info_name=name.rsplit(" ", 1)[-1], parent=parent, terminal_width=100)
    yield f"## `{name}`\n\n```text\n{each.get_help(context)}\n```\n"
    if isinstance(each, click.Group):
        list_commands: Callable[[click.Context], list[str]] = each.list_commands
        for child in list_commands(context):
            found = each.get_command(context, child)
            if found is not None and not found.hidden:
                yield from _helps(found, f"{name} {child}", context)


if __name__ == "__main__":
    sys.exit(main())

from typing import Any

import click
from generate_reference import cli_page, grpc_page, image, openapi, rest_page


def test_every_method_and_field_of_the_protos_is_described() -> None:
    files = image()
    page = grpc_page(files)
    for file in files.file:
        if file.package.startswith("citemesh."):
            assert all(f"`{method.name}`" in page for service in file.service for method in service.method)
            assert all(f"`{field.name}`" in page for message in file.message_type for field in message.field)
    assert "| `Ask` | `AskRequest` | `stream AskResponse` |" in page
    assert "First code point of the stretch" in page


def test_every_path_of_the_gateway_is_described() -> None:
    description = openapi()
    page = rest_page(description)
    paths: dict[str, Any] = description["paths"]
    assert all(f"### `{method.upper()} {path}`" in page for path, methods in paths.items() for method in methods)
    assert "### `POST /v1/query`" in page


def test_the_help_of_every_command_is_there() -> None:
    @click.group()
    def root() -> None:
        """Does all."""

    @root.command()
    @click.option("--hard", is_flag=True, help="Harder, 再来 🚀.")
    def work(hard: bool) -> None:
        """Works."""

    page = cli_page(root)
    assert "## `citemesh work`" in page
    assert "Harder, 再来 🚀." in page

"""Options that several commands take, each written once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from cli.terminal.filters import moment, search_filter

F = TypeVar("F", bound=Callable[..., Any])

_FILTERS: tuple[Callable[..., Any], ...] = (
    click.option("--source-type", "source_types", multiple=True, help="Kind of source, such as pdf; may be repeated."),
    click.option(
        "--domain", "domains", multiple=True, help="Domain of the address; a leading - denies it. Repeatable."
    ),
    click.option("--language", "languages", multiple=True, help="Language by ISO 639-1 code, such as zh. Repeatable."),
    click.option("--after", help="Published at this date or later, such as 2024-05-01."),
    click.option("--before", help="Published before this date."),
    click.option(
        "--where",
        "conditions",
        multiple=True,
        metavar="CONDITION",
        help='Metadata, as in "team=infra", "year>=2020", "state in open,new". Repeatable; all must hold.',
    ),
)


def collection_option(help_text: str) -> Callable[[F], F]:
    """`--collection`."""
    return click.option("--collection", default="", help=help_text)


def collections_option(command: F) -> F:
    """`--collection` of a search, which may go over several."""
    help_text = "Collection to search (default: default); may be repeated."
    return click.option("--collection", "collections", multiple=True, help=help_text)(command)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What a source must be; the command gets it as `filter_of_options`, a SearchFilter. Goes below `reporting`.

    The command raises InvalidInput for a date or a condition that is none.
    """

    @functools.wraps(command)
    def gathered(
        *arguments: Any,
        source_types: tuple[str, ...],
        domains: tuple[str, ...],
        languages: tuple[str, ...],
        after: str | None,
        before: str | None,
        conditions: tuple[str, ...],
        **options: Any,
    ) -> Any:
        times = moment("--after", after), moment("--before", before)
        filter_of_options = search_filter(source_types, domains, languages, times, conditions)
        return command(*arguments, source_filter=filter_of_options, **options)

    for option in reversed(_FILTERS):
        gathered = option(gathered)
    return gathered

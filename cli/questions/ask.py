"""`citemesh ask`."""

from __future__ import annotations

import sys
from contextlib import aclosing
from pathlib import Path

import click

from citemesh.client.mesh import Mesh
from citemesh.client.types import Question, SearchFilter
from citemesh.contract.bounds import MOST_ANSWER_TOKENS, MOST_RELATED_QUESTIONS
from citemesh.errors import InvalidInput
from cli.questions.answer_view import AnswerWriter, JsonWriter, TextWriter
from cli.terminal.connect import connect, connection_options, json_option, reporting, run, settings_for
from cli.terminal.options import collections_option, filter_options
from cli.terminal.terminal import console


@click.command()
@click.argument("question", required=False)
@collections_option
@click.option("--mode", type=click.Choice(["generated", "extractive"]), default=None, help="How to answer.")
@click.option(
    "--max-tokens", type=click.IntRange(1, MOST_ANSWER_TOKENS), default=None, help="Most tokens of the answer."
)
@click.option("--length", type=click.Choice(["short", "standard", "detailed"]), help="How long the answer is to be.")
@click.option("--style", type=click.Choice(["prose", "list", "steps"]), help="What form the answer is to have.")
@click.option("--answer-language", default="", help="Language to answer in, such as zh; the question's when left out.")
@click.option(
    "--related", type=click.IntRange(0, MOST_RELATED_QUESTIONS), default=0, help="Most related questions to propose."
)
@connection_options
@json_option
@reporting
@filter_options
def ask(
    question: str | None,
    collections: tuple[str, ...],
    mode: str | None,
    max_tokens: int | None,
    length: str | None,
    style: str | None,
    answer_language: str,
    related: int,
    source_filter: SearchFilter,
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    timeout_s: float | None,
    as_json: bool,
) -> int:
    """Ask a question and watch the cited answer come in. Without QUESTION it is read from standard input.

    Behind each sentence stand the numbers of the sources that support it; they are listed below the answer with the
    very text that supports it. A sentence that nothing supports is marked so. Ctrl-C ends the work everywhere.
    """
    settings = settings_for(state_dir)
    request = Question(
        question=_text(question),
        collection=collections[0] if collections else "",
        mode=mode or "",
        max_tokens=max_tokens or 0,
        filter=source_filter,
        more_collections=collections[1:],
        answer_language=answer_language,
        length=length or "",
        style=style or "",
        related_questions=related,
    )
    writer = JsonWriter(_write_line) if as_json else TextWriter(console())
    return run(_ask(connect("gateway", settings, target, key), request, timeout_s or settings.timeout_s, writer))


async def _ask(mesh: Mesh, question: Question, timeout_s: float, writer: AnswerWriter) -> int:
    try:
        async with mesh, aclosing(mesh.query.ask(question, timeout_s)) as events:  # type: ignore[type-var]  # it is an async generator
            async for event in events:
                writer.write(event)
    finally:
        writer.close()
    return 0


def _text(question: str | None) -> str:
    """The question given, or standard input when it is piped in."""
    if question is None or question == "-":
        if sys.stdin.isatty():
            raise InvalidInput("question", "none was given", 'write it in quotes: citemesh ask "What is …?"')
        question = sys.stdin.buffer.read().decode(errors="replace")
    if not question.strip():
        raise InvalidInput("question", "it is empty", 'write it in quotes: citemesh ask "What is …?"')
    return question.strip()


def _write_line(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()

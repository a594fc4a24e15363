"""`citemesh search`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import click
from rich.console import Console
from rich.text import Text

from citemesh.client.mesh import Mesh
from citemesh.client.types import Duplicate, Passage, Search, SearchAnswer, SearchFilter, Source
from citemesh.contract.bounds import DEFAULT_RESULTS, MOST_RESULTS, MOST_SOURCES
from citemesh.errors import InvalidInput
from cli.questions.answer_view import quote_line, source_line
from cli.terminal.connect import connect, connection_options, json_option, reporting, run, settings_for
from cli.terminal.options import collections_option, filter_options
from cli.terminal.terminal import console, printable

ServiceSpec = Literal["gateway", "retrieval"]
_VECTORS = ("token_ids", "tokenizer_digest", "token_vectors", "token_vectors_digest")


@click.command()
@click.argument("query")
@collections_option
@click.option(
    "--top-k", type=click.IntRange(1, MOST_RESULTS), default=DEFAULT_RESULTS, show_default=True, help="Most to show."
)
@click.option(
    "--service",
    type=click.Choice(["gateway", "retrieval"]),
    help="Who is asked: gateway, reranked as for `ask` (default), or retrieval, with the parts of each score.",
)
@click.option("--mode", type=click.Choice(["hybrid", "dense", "lexical"]), help="How to rank (*).")
@click.option("--fusion", type=click.Choice(["min-max", "reciprocal-rank"]), help="How a hybrid search fuses (*).")
@click.option("--dense-weight", type=click.FloatRange(0, 1), help="Share of the dense part in a hybrid search (*).")
@click.option("--keep-duplicates", is_flag=True, help="Show near-duplicates as results of their own (*).")
@connection_options
@json_option
@reporting
@filter_options
def search(
    query: str,
    collections: tuple[str, ...],
    top_k: int,
    service: ServiceSpec | None,
    mode: str | None,
    fusion: str | None,
    dense_weight: float | None,
    keep_duplicates: bool,
    source_filter: SearchFilter,
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    timeout_s: float | None,
    as_json: bool,
) -> int:
    """Find passages as `ask` would, without an answer.

    What is marked (*), and more than 100 results, only the retrieval service can do: with any of it that service is
    asked itself, past the gateway's reranker, and the parts of each score are shown. --target is the address of whoever
    is asked. With --json each passage is a line, and so is each notice.
    """
    settings = settings_for(state_dir)
    if timeout_s:
        settings = settings.model_copy(update={"timeout_s": timeout_s})
    request = Search(
        query=query,
        collection=collections[0] if collections else "",
        top_k=top_k,
        mode=mode or "",
        filter=source_filter,
        fusion=(fusion or "").replace("-", "_"),
        dense_weight=dense_weight,
        keep_duplicates=keep_duplicates,
    )
    asks, more = _service(service, request), collections[1:]
    if asks == "retrieval" and more:
        raise InvalidInput("--collection", "the retrieval service searches one at a time", "name one, or leave (*) out")
    mesh = connect(asks, settings, target, key)
    return run(
        _of_gateway(mesh, request, more, as_json) if asks == "gateway" else _of_retrieval(mesh, request, as_json)
    )


def _service(requested: ServiceSpec | None, request: Search) -> ServiceSpec:
    """Who can answer it. Raises InvalidInput where the gateway is wanted and can't."""
    plain = Search(request.query, request.collection, request.top_k, filter=request.filter)
    if request == plain and request.top_k <= MOST_SOURCES:
        return requested or "gateway"
    if requested == "gateway":
        raise InvalidInput("--service", "the gateway can't do what is marked (*)", "leave --service out")
    return "retrieval"


async def _of_gateway(mesh: Mesh, request: Search, more: Sequence[str], as_json: bool) -> int:
    async with mesh:
        sources = await mesh.query.search(
            request.query, request.collection, request.top_k, filter=request.filter, more_collections=more
        )
    if as_json:
        for source in sources:
            click.echo(json.dumps(asdict(source), ensure_ascii=False, default=datetime.isoformat))
    else:
        show(sources)
    return 0


async def _of_retrieval(mesh: Mesh, request: Search, as_json: bool) -> int:
    async with mesh:
        answer = await mesh.retrieval.find(request)
    if as_json:
        for line in _lines(answer):
            click.echo(json.dumps(line, ensure_ascii=False))
    else:
        show_passages(answer)
    return 0


def show(sources: Sequence[Source]) -> None:
    """Prints the gateway's passages, best first."""
    out = console()
    for source in sources:
        line = source_line(source)
        line.append(f"  {source.score:.2f}", style="dim")
        out.print(line)
        out.print(quote_line(source.text))
    if not sources:
        _say_nothing_found(out)


def show_passages(answer: SearchAnswer) -> None:
    """Prints retrieval's passages, best first, with the parts of each score and what was folded into it."""
    out = console()
    for notice in answer.notices:
        out.print(Text(printable(notice), style="yellow"))
    for rank, passage in enumerate(answer.passages, 1):
        line = source_line(_as_source(rank, passage))
        line.append(f"  {scores(passage)}", style="dim")
        out.print(line)
        out.print(quote_line(passage.text))
        if passage.duplicates:
            out.print(_duplicates_line(passage.duplicates))
    if not answer.passages:
        _say_nothing_found(out)


def scores(passage: Passage) -> str:
    """What a passage was ordered by, and the parts of it; a part that didn't find it is left out."""
    by_part = (("dense", passage.dense), ("lexical", passage.lexical))
    parts = [f"{name} {value:.2f}" for name, value in by_part if value is not None]
    return f"{passage.fused:.2f}" + (f" ({', '.join(parts)})" if parts else "")


def _as_source(rank: int, passage: Passage) -> Source:
    return Source(
        rank,
        passage.chunk_id,
        passage.document_id,
        passage.collection,
        passage.title,
        passage.uri,
        passage.location,
        passage.text,
        passage.fused,
    )


def _duplicates_line(duplicates: Sequence[Duplicate]) -> Text:
    names = [
        f"{duplicate.uri or duplicate.title or duplicate.document_id} ({100 * duplicate.similarity:.0f} %)"
        for duplicate in duplicates
    ]
    return Text(printable(f"    nearly the same: {', '.join(names)}"), style="dim")


def _lines(answer: SearchAnswer) -> list[dict[str, Any]]:
    passages = [asdict(passage) for passage in answer.passages]
    for passage in passages:
        for name in _VECTORS:
            del passage[name]
        passage["published_at"] = passage["published_at"] and passage["published_at"].isoformat()
    return [*passages, *({"notice": notice} for notice in answer.notices)]


def _say_nothing_found(out: Console) -> None:
    out.print("Nothing found. `citemesh ingest PATH` adds documents.")

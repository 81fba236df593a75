"""``concord search``: finds facts by meaning and by words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.failures import report
from concord_server.cli.output import OutputFormat

if TYPE_CHECKING:
    from concord import SearchResult

_SCORES = ("score", "similarity", "text_rank")


def search(
    query: Annotated[str, typer.Argument(help="What to find, in words.")],
    *,
    domain: Annotated[str, typer.Option(help="Only this domain.")] = "",
    entity: Annotated[
        str, typer.Option(metavar="TYPE:ID", help="Only facts linked to or owned by this entity.")
    ] = "",
    owner: Annotated[str, typer.Option(metavar="TYPE:ID", help="Only facts owned by this entity.")] = "",
    predicate: Annotated[str, typer.Option(help="Only facts whose claim has this predicate.")] = "",
    tag: Annotated[str, typer.Option(help="Only facts with this tag.")] = "",
    as_of: Annotated[str, typer.Option(metavar="TIME", help="What held at this time.")] = "",
    known_at: Annotated[str, typer.Option(metavar="TIME", help="As it was on record at this time.")] = "",
    superseded: Annotated[bool, typer.Option("--superseded", help="Find superseded facts too.")] = False,
    conflicted: Annotated[bool, typer.Option("--conflicted", help="Find members of open conflicts too.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="How many to show at most.")] = 10,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Find current facts by meaning and by words, best first."""
    from concord import FactFilter, to_dict

    from concord_server.cli.arguments import time_option
    from concord_server.cli.connection import connected, entity_option

    where = FactFilter(
        domain=domain,
        entity=entity_option("--entity", entity),
        owner=entity_option("--owner", owner),
        predicate=predicate,
        tag=tag,
        as_of=time_option("--as-of", as_of),
        known_at=time_option("--known-at", known_at),
    )
    with connected(target, project, api_key) as client:
        results = client.search_facts(
            query, where, top_k=limit, include_superseded=superseded, include_conflicted=conflicted
        )
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(result) for result in results])
    else:
        _show(results)


def _show(results: tuple[SearchResult, ...]) -> None:
    from concord_server.cli import rendering

    if output.on_terminal():
        output.show(*(rendering.fact_card(result.fact) for result in results))
        if not results:
            report("nothing was found")
        return
    rows = (
        (*(f"{score:.4f}" for score in _scores(result)), *rendering.fact_row(result.fact)) for result in results
    )
    output.write_rows((*_SCORES, *rendering.FACT_COLUMNS), rows)


def _scores(result: SearchResult) -> tuple[float, float, float]:
    return result.score, result.similarity, result.text_rank

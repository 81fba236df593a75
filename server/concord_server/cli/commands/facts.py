"""``concord facts``: looks at what the ledger holds."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.failures import CommandError, ExitCode, report
from concord_server.cli.output import OutputFormat
from concord_server.domain.enums import FactStatus, FactType

if TYPE_CHECKING:
    from datetime import datetime

    from concord import FactDetails

facts = typer.Typer(help="Look at facts.")


@facts.command("list")
def list_facts(
    *,
    domain: Annotated[str, typer.Option(help="Only this domain.")] = "",
    entity: Annotated[
        str, typer.Option(metavar="TYPE:ID", help="Only facts linked to or owned by this entity.")
    ] = "",
    owner: Annotated[str, typer.Option(metavar="TYPE:ID", help="Only facts owned by this entity.")] = "",
    status: Annotated[
        list[FactStatus] | None,
        typer.Option(case_sensitive=False, help="Only these; repeatable. [default: all but deleted]"),
    ] = None,
    fact_type: Annotated[
        list[FactType] | None, typer.Option("--type", case_sensitive=False, help="Only these; repeatable.")
    ] = None,
    predicate: Annotated[str, typer.Option(help="Only facts whose claim has this predicate.")] = "",
    tag: Annotated[str, typer.Option(help="Only facts with this tag.")] = "",
    as_of: Annotated[str, typer.Option(metavar="TIME", help="What held at this time.")] = "",
    limit: options.Limit = 50,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """List facts, newest first."""
    from concord import FactFilter, to_dict
    from concord import FactStatus as Status
    from concord import FactType as Type

    from concord_server.cli import rendering
    from concord_server.cli.connection import connected, entity_option

    where = FactFilter(
        domain=domain,
        entity=entity_option("--entity", entity),
        owner=entity_option("--owner", owner),
        statuses=[Status(item.value) for item in status or ()],
        types=[Type(item.value) for item in fact_type or ()],
        predicate=predicate,
        tag=tag,
        as_of=_time("--as-of", as_of),
    )
    with connected(target, project, api_key) as client:
        page = client.list_facts_page(where, page_size=min(limit or 500, 500))
        found = list(page)
        if page.next_page_token and (not limit or limit > len(found)):
            found = list(islice(client.list_facts(where, page_size=500), limit or None))
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(fact) for fact in found])
    elif output.on_terminal():
        output.show(*(rendering.fact_card(fact) for fact in found))
    else:
        output.write_rows(rendering.FACT_COLUMNS, (rendering.fact_row(fact) for fact in found))
    if len(found) < page.total_size:
        report(f"showing {len(found)} of {page.total_size} facts", "--limit 0 shows all")
    elif not found and output.on_terminal():
        report("no facts" if where == FactFilter() else "no facts match")


@facts.command("show")
def show_fact(
    fact_id: Annotated[str, typer.Argument(help="Id of the fact.")],
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Show a fact with its sources and evidence."""
    from concord import to_dict

    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        details = client.get_fact(fact_id)
    if output_format is OutputFormat.JSON:
        output.write_json(to_dict(details))
    else:
        _show_details(details)


@facts.command("tree")
def show_tree(
    fact_id: Annotated[str, typer.Argument(help="Id of any fact of the family.")],
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Draw the family of a fact: what it came from, and all that came of that."""
    from concord import to_dict

    from concord_server.cli import lineage
    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        family = client.get_evolution_tree(fact_id, page_size=500)
    if output_format is OutputFormat.JSON:
        output.write_json(to_dict(family))
    elif output.on_terminal():
        output.show(lineage.family_tree(family, fact_id))
    else:
        for line in lineage.family_lines(family):
            output.write_line(line)


@facts.command("history")
def show_history(
    fact_id: Annotated[str, typer.Argument(help="Id of the fact.")],
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Show every recorded state of a fact, oldest first, with who changed it and why."""
    from concord import to_dict

    from concord_server.cli import lineage, rendering
    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        versions = list(client.list_fact_versions(fact_id, page_size=500))
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(version) for version in versions])
    elif output.on_terminal():
        output.show(rendering.row_table(lineage.VERSION_COLUMNS, lineage.version_rows(versions)))
    else:
        output.write_rows(lineage.VERSION_COLUMNS, lineage.version_rows(versions))


def _show_details(details: FactDetails) -> None:
    from concord_server.cli import rendering

    fields = [
        *rendering.fact_fields(details.fact),
        *(("source", rendering.source_text(source)) for source in details.sources),
        *(("evidence", rendering.evidence_text(evidence)) for evidence in details.evidence),
    ]
    if output.on_terminal():
        output.show(rendering.field_table(fields))
    else:
        output.write_fields(fields)


def _time(option: str, text: str) -> datetime | None:
    from concord_server.cli.statements.times import parse_time

    if not text:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise CommandError(f"{option} {error}", code=ExitCode.USAGE) from error

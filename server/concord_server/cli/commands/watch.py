"""``concord watch``: shows changes of facts as they happen."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.failures import report
from concord_server.cli.output import OutputFormat
from concord_server.domain.enums import FactChange

if TYPE_CHECKING:
    from concord import FactEvent
    from rich.console import RenderableType

_EVENT_COLUMNS = ("sequence", "time", "change")


def watch(
    *,
    after: Annotated[
        int | None,
        typer.Option(
            "--after",
            min=0,
            metavar="SEQUENCE",
            help="Begin after this change; 0 shows all that are kept.",
            show_default="from now on",
        ),
    ] = None,
    domain: Annotated[str, typer.Option(help="Only this domain.")] = "",
    entity: Annotated[
        str, typer.Option(metavar="TYPE:ID", help="Only facts linked to or owned by this entity.")
    ] = "",
    change: Annotated[
        list[FactChange] | None,
        typer.Option("--change", case_sensitive=False, help="Only these; repeatable.", show_default="all"),
    ] = None,
    access_scope: Annotated[
        str | None, typer.Option(help="Only this access scope; empty for unscoped facts.", show_default="all")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="End after so many changes; 0 never ends.")] = 0,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Show changes of facts as they happen, over restarts of the service, until Ctrl-C."""
    from concord import FactChange as Change
    from concord import to_dict

    from concord_server.cli import rendering
    from concord_server.cli.connection import connected, entity_option, require_service

    of_entity = entity_option("--entity", entity)
    require_service(target)
    if output.on_terminal():
        report("watching", "Ctrl-C ends it")
    with connected(target, project, api_key) as client:
        events = client.watch_facts(
            after_sequence=after,
            domain=domain,
            entity=of_entity,
            changes=[Change(item.value) for item in change or ()],
            access_scope=access_scope,
        )
        if output_format is OutputFormat.TABLE and not output.on_terminal():
            output.write_rows((*_EVENT_COLUMNS, *rendering.FACT_COLUMNS), ())
            sys.stdout.flush()
        for event in islice(events, limit or None):
            if output_format is OutputFormat.JSON:
                output.write_json(to_dict(event))
            elif output.on_terminal():
                output.show(_card(event))
            else:
                fields = (str(event.sequence), event.time, event.change.value, *rendering.fact_row(event.fact))
                output.write_row(fields)
            sys.stdout.flush()


def _card(event: FactEvent) -> RenderableType:
    """Lays a change out: when and what, then the fact as it was after it."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from concord_server.cli import rendering

    head = Text.assemble((event.change.value, "cyan"), (f"  {output.moment(event.time)}  {event.sequence}", "dim"))
    return Group(head, Padding(rendering.fact_card(event.fact), (0, 0, 0, 2), expand=False))

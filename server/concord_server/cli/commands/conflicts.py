"""``concord conflicts``: looks at facts that cannot all hold, and decides between them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.failures import CommandError, ExitCode, report
from concord_server.cli.output import OutputFormat
from concord_server.domain.enums import ConflictState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from concord import Conflict

conflicts = typer.Typer(help="Look at conflicts and decide them.")


@conflicts.command("list")
def list_conflicts(
    *,
    state: Annotated[ConflictState, typer.Option(case_sensitive=False, help="Only these.")] = ConflictState.OPEN,
    every: Annotated[bool, typer.Option("--all", help="Resolved ones too.")] = False,
    entity: Annotated[str, typer.Option(metavar="TYPE:ID", help="Only those about this entity.")] = "",
    domain: Annotated[str, typer.Option(help="Only this domain.")] = "",
    limit: options.Limit = 50,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """List conflicts, newest first; the incumbent comes first in each."""
    from concord import ConflictState as State
    from concord import to_dict

    from concord_server.cli.connection import connected, entity_option

    wanted = State.UNSPECIFIED if every else State(state.value)
    about = entity_option("--entity", entity)
    with connected(target, project, api_key) as client:
        pages = client.list_conflicts(state=wanted, entity=about, domain=domain, page_size=min(limit or 500, 500))
        found = list(islice(pages, limit or None))
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(conflict) for conflict in found])
        return
    _show(found)
    if output.on_terminal():
        if not found:
            report("no open conflicts" if wanted == State.OPEN else "no conflicts")
        elif wanted == State.OPEN:
            report("decide one with: concord conflicts resolve CONFLICT --keep FACT")


@conflicts.command("resolve")
def resolve_conflict(
    conflict_id: Annotated[str, typer.Argument(help="Id of the conflict.")],
    *,
    keep: Annotated[str, typer.Option(metavar="FACT", help="Keep this member; the others are superseded.")] = "",
    keep_none: Annotated[bool, typer.Option("--keep-none", help="Keep none; all are retracted.")] = False,
    keep_all: Annotated[
        bool, typer.Option("--keep-all", help="Keep all, where the predicate takes several values.")
    ] = False,
    note: Annotated[str, typer.Option(help="Why, for the history.")] = "",
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Decide a conflict: keep one fact, none, or all."""
    from concord import to_dict

    from concord_server.cli.connection import connected

    if [bool(keep), keep_none, keep_all].count(True) != 1:
        raise CommandError("give exactly one of --keep, --keep-none and --keep-all", code=ExitCode.USAGE)
    with connected(target, project, api_key) as client:
        resolved = client.resolve_conflict(
            conflict_id, keep_fact_id=keep, keep_none=keep_none, keep_all=keep_all, note=note
        )
    if output_format is OutputFormat.JSON:
        output.write_json(to_dict(resolved))
    else:
        _show([resolved])


def _show(found: Sequence[Conflict]) -> None:
    from concord_server.cli import rendering

    if output.on_terminal():
        output.show(*(rendering.conflict_card(conflict) for conflict in found))
    else:
        rows = (row for conflict in found for row in rendering.conflict_rows(conflict))
        output.write_rows(rendering.CONFLICT_COLUMNS, rows)

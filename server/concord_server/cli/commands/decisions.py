"""``concord decisions``: looks at why a statement came out as it did."""

from __future__ import annotations

from typing import Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.output import OutputFormat

decisions = typer.Typer(help="Look at decisions.")


@decisions.command("show")
def show_decision(
    decision_id: Annotated[str, typer.Argument(help="Id of the decision, as reconcile --details tells it.")],
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Show a decision: what it rests on, and every known fact that was considered."""
    from concord import to_dict

    from concord_server.cli import rendering
    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        decision = client.get_decision(decision_id)
    if output_format is OutputFormat.JSON:
        output.write_json(to_dict(decision))
        return
    fields, rows = rendering.decision_fields(decision), rendering.candidate_rows(decision)
    if output.on_terminal():
        output.show(rendering.field_table(fields))
        if rows:
            output.show("", rendering.row_table(rendering.CANDIDATE_COLUMNS, rows))
        return
    output.write_fields(fields)
    if rows:
        output.write_line("")
        output.write_rows(rendering.CANDIDATE_COLUMNS, rows)

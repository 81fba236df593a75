"""``concord brief``: what is known about an entity, as a page to read."""

from __future__ import annotations

from typing import Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.output import OutputFormat


def brief(
    entity_type: Annotated[str, typer.Argument(metavar="TYPE", help="Kind of entity, such as Person.")],
    entity_id: Annotated[str, typer.Argument(metavar="ID", help="Its id.")],
    *,
    domain: Annotated[str, typer.Option(help="Only this domain.")] = "",
    as_of: Annotated[str, typer.Option(metavar="TIME", help="What held at this time.")] = "",
    known_at: Annotated[str, typer.Option(metavar="TIME", help="As it was on record at this time.")] = "",
    conflicted: Annotated[
        bool, typer.Option("--conflicted", help="Show what is in dispute as current too.")
    ] = False,
    max_tokens: Annotated[
        int, typer.Option(min=0, help="Longest page, in tokens of a model.", show_default="the service's")
    ] = 0,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Brief about an entity: a page of markdown, rendered on a terminal."""
    from concord import to_dict

    from concord_server.cli.arguments import time_option
    from concord_server.cli.connection import connected

    moment, recorded = time_option("--as-of", as_of), time_option("--known-at", known_at)
    with connected(target, project, api_key) as client:
        briefing = client.get_entity_briefing(
            entity_type,
            entity_id,
            domain=domain,
            as_of=moment,
            known_at=recorded,
            include_conflicted=conflicted,
            max_tokens=max_tokens,
        )
    if output_format is OutputFormat.JSON:
        output.write_json(to_dict(briefing))
        return
    # Escaped by the service, but a terminal should not have to rely on that.
    page = "\n".join(output.printable(line) for line in briefing.markdown.splitlines())
    if output.on_terminal():
        from rich.markdown import Markdown

        output.show(Markdown(page, hyperlinks=False))
    else:
        output.write_line(page)

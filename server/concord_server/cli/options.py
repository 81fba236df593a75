"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from concord_server.cli.output import OutputFormat

DEFAULT_TARGET = "127.0.0.1:50051"
"""Where ``concord serve`` listens by default."""

_CONNECTION = "Connection"

Target = Annotated[
    str,
    typer.Option(
        "--target", envvar="CONCORD_TARGET", metavar="HOST:PORT", help="The service.", rich_help_panel=_CONNECTION
    ),
]
Project = Annotated[
    str,
    typer.Option(
        "--project",
        envvar="CONCORD_PROJECT",
        show_default="the service's default project",
        help="Project, where the service runs without authentication.",
        rich_help_panel=_CONNECTION,
    ),
]
ApiKey = Annotated[
    str,
    typer.Option(
        "--api-key",
        envvar="CONCORD_API_KEY",
        show_default=False,
        help="Credential. Prefer the environment variable: arguments are visible to other users of the machine.",
        rich_help_panel=_CONNECTION,
    ),
]
Output = Annotated[
    OutputFormat,
    typer.Option("--output", help="A table (tab-separated when piped), or JSON.", case_sensitive=False),
]
Limit = Annotated[int, typer.Option("--limit", min=0, help="How many to show at most; 0 shows all.")]

"""``concord reconcile``: hands the statements of a file to the service."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from concord_server.cli import options
from concord_server.cli.failures import CommandError, ExitCode, report
from concord_server.cli.output import OutputFormat, on_terminal
from concord_server.domain.enums import ContradictionPolicy, FactType

if TYPE_CHECKING:
    from concord import Client

    from concord_server.cli.statements.parse import Defaults
    from concord_server.cli.statements.report import Report

_LINES = "For lines that do not say it themselves"

File = Annotated[Path, typer.Argument(metavar="FILE|-", help="File, or - for standard input.")]
Domain = Annotated[str, typer.Option(help="Topic partition.", rich_help_panel=_LINES)]
AccessScope = Annotated[str, typer.Option(help="Access partition.", rich_help_panel=_LINES)]
TypeOfFact = Annotated[
    FactType | None,
    typer.Option("--type", case_sensitive=False, help="Kind of statement.", rich_help_panel=_LINES),
]
Owner = Annotated[str, typer.Option(metavar="TYPE:ID", help="Whose facts they are.", rich_help_panel=_LINES)]
SourceUrl = Annotated[str, typer.Option(help="Where they come from.", rich_help_panel=_LINES)]
ObserveTime = Annotated[
    str, typer.Option(metavar="TIME", help="When they were made. [default: now]", rich_help_panel=_LINES)
]
ConflictPolicy = Annotated[
    ContradictionPolicy | None,
    typer.Option(
        case_sensitive=False,
        help="Whether a contradiction supersedes what is known, or waits for a decision.",
        rich_help_panel=_LINES,
    ),
]


def reconcile(
    file: File,
    *,
    domain: Domain = "",
    access_scope: AccessScope = "",
    fact_type: TypeOfFact = None,
    owner: Owner = "",
    source_url: SourceUrl = "",
    observe_time: ObserveTime = "",
    conflict_policy: ConflictPolicy = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Decide about each line, and write nothing.")] = False,
    details: Annotated[
        bool, typer.Option("--details", "-d", help="Show what became of every line, and why.")
    ] = False,
    output: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Reconcile the statements of a file, one per line.

    A line that starts with { is a JSON object with "text" and any other fields of a statement; any other line is
    the statement itself. A line that cannot be used is reported with its number, and the others go on (exit code
    7). Reading a file again creates nothing: its statements merge into the facts they made.
    """
    from concord import ContradictionPolicy as Policy
    from concord import FactType as Type

    from concord_server.cli.connection import connected, entity_option, wait_while_starting
    from concord_server.cli.statements.parse import Defaults

    defaults = Defaults(
        type=Type(fact_type.value) if fact_type else Type.UNSPECIFIED,
        domain=domain,
        access_scope=access_scope,
        owner=entity_option("--owner", owner),
        source_url=source_url,
        observe_time=_time(observe_time) if observe_time else None,
        contradiction_policy=Policy(conflict_policy.value) if conflict_policy else Policy.UNSPECIFIED,
        validate_only=dry_run,
    )
    with _opened(file) as stream, connected(target, project, api_key) as client:
        wait_while_starting(target)
        failed = _run(client, stream, defaults, _report(output, details=details, dry_run=dry_run), target)
    if failed:
        raise typer.Exit(ExitCode.PARTIAL)


def _run(client: Client, stream: BinaryIO, defaults: Defaults, shown: Report, target: str) -> int:
    """Reconciles every line of a stream and returns how many failed."""
    from concord import DEFAULT_WINDOW

    from concord_server.cli.connection import command_error
    from concord_server.cli.statements.parse import parse_line
    from concord_server.cli.statements.reader import read_lines
    from concord_server.cli.statements.report import progress_bar
    from concord_server.cli.statements.run import BrokenRunError, reconcile_lines

    # Somebody who types statements wants the answer to each before the next.
    window = 1 if stream.isatty() else DEFAULT_WINDOW
    bar = sys.stderr.isatty() and not stream.isatty() and not (shown.streams and on_terminal())
    again = "run the same command again: what is done merges"
    try:
        with progress_bar(_size(stream), enabled=bar) as advance:
            outcomes = reconcile_lines(
                client, read_lines(stream), lambda content: parse_line(content, defaults), window=window
            )
            for outcome in outcomes:
                shown.add(outcome)
                advance(outcome, shown.tally)
    except BrokenRunError as broken:
        error = command_error(broken.error, target)
        if not shown.tally.total:
            raise error from broken
        shown.finish()
        place = f"stopped at line {broken.first_open_line}: " if broken.first_open_line else "stopped: "
        hint = f"{error.hint}; {again}".lstrip("; ")
        raise CommandError(place + error.message, hint=hint, code=error.code) from broken
    except KeyboardInterrupt:
        shown.finish()
        report(f"interrupted after {shown.tally.total} lines", again)
        raise
    shown.finish()
    return shown.tally.failed


def _report(output: OutputFormat, *, details: bool, dry_run: bool) -> Report:
    from concord_server.cli.statements.report import DetailReport, JsonReport, SummaryReport

    if output is OutputFormat.JSON:
        return JsonReport()
    return DetailReport(dry_run=dry_run) if details else SummaryReport(dry_run=dry_run)


def _opened(file: Path) -> AbstractContextManager[BinaryIO]:
    if str(file) == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return file.open("rb")
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}", code=ExitCode.USAGE) from error


def _size(stream: BinaryIO) -> int | None:
    """Returns the size of a regular file, None for a pipe or a terminal."""
    status = os.fstat(stream.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _time(text: str) -> datetime:
    from concord_server.cli.statements.times import parse_time

    try:
        return parse_time(text)
    except ValueError as error:
        raise CommandError(f"--observe-time {error}", code=ExitCode.USAGE) from error

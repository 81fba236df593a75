"""The application: its commands, and how their endings become exit codes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import typer
from typer.main import get_command

from concord_server.cli.commands.admin import GROUPS as ADMIN_GROUPS
from concord_server.cli.commands.admin import admin
from concord_server.cli.commands.brief import brief
from concord_server.cli.commands.check import check
from concord_server.cli.commands.conflicts import conflicts
from concord_server.cli.commands.decisions import decisions
from concord_server.cli.commands.demo import demo
from concord_server.cli.commands.events import events
from concord_server.cli.commands.extract import extract
from concord_server.cli.commands.facts import facts
from concord_server.cli.commands.judge import judge
from concord_server.cli.commands.observations import observations
from concord_server.cli.commands.reconcile import reconcile
from concord_server.cli.commands.runs import consolidate, runs
from concord_server.cli.commands.search import search
from concord_server.cli.commands.service import migrate, serve, work
from concord_server.cli.commands.watch import watch
from concord_server.cli.failures import CommandError, ExitCode, report
from concord_server.cli.output import on_terminal, write_line

_HELP = """Keep one trustworthy ledger of facts from many statements.

Start the service with `concord serve`, or watch it at work with `concord demo`."""


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        write_line(f"concord {version('concord-server')}")
        raise typer.Exit


def _root(
    context: typer.Context,
    _version_asked: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    _help_without_command(context)


def _help_without_command(context: typer.Context) -> None:
    """Shows the help of a group that is called without a command: that is no failure."""
    if context.invoked_subcommand is None:
        # On a terminal the framed help is printed at once, and what is left to print is empty.
        text = context.get_help()
        if text:
            write_line(text)
        raise typer.Exit


def build() -> typer.Typer:
    """Builds the application. Help is framed on a terminal and plain when piped."""
    style: Literal["rich"] | None = "rich" if on_terminal() else None
    app = typer.Typer(name="concord", help=_HELP, invoke_without_command=True, rich_markup_mode=style)
    app.callback()(_root)
    for command in (serve, work, migrate, demo, reconcile, consolidate, extract, search, brief, check, watch):
        app.command()(command)
    for name, group in (
        ("facts", facts),
        ("conflicts", conflicts),
        ("decisions", decisions),
        ("events", events),
        ("observations", observations),
        ("runs", runs),
    ):
        _add_group(app, name, group)
    for name, group in ADMIN_GROUPS.items():
        _add_group(admin, name, group)
    _add_group(app, "admin", admin)
    app.command()(judge)
    return app


def _add_group(parent: typer.Typer, name: str, group: typer.Typer) -> None:
    if all(known.typer_instance is not group for known in parent.registered_groups):
        group.callback(invoke_without_command=True)(_help_without_command)
        parent.add_typer(group, name=name)


def run(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    A failure that a user can do something about is one line on standard error. Anything else is a fault of this
    program and ends with a traceback, and exit code 1.
    """
    # What gRPC meets becomes an error of ours; its own log lines beside that would only repeat it.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # A terminal or a file with a narrow encoding shows escapes instead of ending the command.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        ended = get_command(build()).main(args=argv, prog_name="concord", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return ExitCode.UNEXPECTED
    except CommandError as error:
        report(error.message, error.hint)
        return error.code
    except typer.TyperException as error:
        return _usage_failure(error)
    except (typer.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    return ended if isinstance(ended, int) else ExitCode.OK


def _usage_failure(error: typer.TyperException) -> int:
    """Reports what is wrong with the command line, with the help to read."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "concord"
    report(error.format_message().rstrip(".").replace("\n", " "), f"see {path} --help")
    return ExitCode.USAGE


def _discard_output() -> None:
    """Leaves nothing to write to a reader that is gone, or Python would complain about it at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

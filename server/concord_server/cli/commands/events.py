"""``concord events``: hands over events, looks at them, and gives failed ones another chance."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.failures import CommandError, ExitCode, report
from concord_server.cli.output import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from concord import EventInput

events = typer.Typer(help="Hand over events and look at them.")

BATCH = 100
"""Events that are sent at once."""

_COLUMNS = ("event", "subject", "kind", "time", "state", "attempts", "error")


@events.command("append")
def append(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="One event per line, as JSON in the contract's form.")
    ],
    *,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Append the events of a file; one with an idempotency_key that is known already is not doubled."""
    from concord import to_dict

    from concord_server.cli.connection import connected

    read = _read(file)
    new = known = 0
    with connected(target, project, api_key) as client:
        while batch := list(islice(read, BATCH)):
            appended = client.append_events(batch)
            new += sum(not one.duplicate for one in appended)
            known += sum(one.duplicate for one in appended)
            if output_format is OutputFormat.JSON:
                for one in appended:
                    output.write_json(to_dict(one))
    if output_format is OutputFormat.TABLE:
        output.write_fields([("appended", new), ("known", known)])
        if output.on_terminal():
            report("they wait", "turn them into facts with: concord consolidate")


@events.command("list")
def list_events(
    *,
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed or were given up.")] = False,
    subject: Annotated[str, typer.Option(metavar="TYPE:ID", help="Only those about this entity.")] = "",
    limit: options.Limit = 50,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """List events, newest first, with where they are on their way."""
    from concord import EventState, to_dict

    from concord_server.cli.connection import connected, entity_option

    about = entity_option("--subject", subject)
    states = (EventState.FAILED, EventState.DEAD) if failed else ()
    with connected(target, project, api_key) as client:
        found = list(islice(client.list_events(states=states, subject=about), limit or None))
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(event) for event in found])
        return
    output.write_rows(
        _COLUMNS,
        (
            (
                event.event_id,
                f"{event.subject.entity_type}:{event.subject.entity_id}",
                event.kind,
                event.occur_time,
                event.state.value,
                str(event.attempts),
                event.last_error,
            )
            for event in found
        ),
    )


@events.command("retry")
def retry(
    *,
    subject: Annotated[str, typer.Option(metavar="TYPE:ID", help="Only those about this entity.")] = "",
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Give events that failed or were given up another chance."""
    from concord_server.cli.connection import connected, entity_option

    about = entity_option("--subject", subject)
    with connected(target, project, api_key) as client:
        output.write_fields([("requeued", client.retry_events(subject=about))])


def _read(file: Path) -> Iterator[EventInput]:
    """Yields the events of a file of JSON lines.

    Raises:
        CommandError: the file cannot be read, or a line is no event.
    """
    from concord_server.cli.events_file import EventFileError, read_events

    try:
        with file.open(encoding="utf-8") as lines:
            yield from read_events(lines)
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}", code=ExitCode.USAGE) from error
    except (EventFileError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: {error}", code=ExitCode.INVALID) from error

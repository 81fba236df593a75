"""``concord events``: hands over events, looks at them, and gives failed ones another chance."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.failures import CommandError, ExitCode, report
from concord_server.cli.output import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from concord import Event, EventInput, EventState

events = typer.Typer(help="Hand over events and look at them.")

BATCH = 100
"""Events that are sent at once."""

_COLUMNS = ("event_id", "subject", "kind", "occur_time", "state", "attempts", "last_error")
_SCORES = ("score", "similarity", "text_rank")


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
        if new and output.on_terminal():
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
    from concord import to_dict

    from concord_server.cli import rendering
    from concord_server.cli.connection import connected, entity_option

    about = entity_option("--subject", subject)
    with connected(target, project, api_key) as client:
        found = list(islice(client.list_events(states=_states(failed=failed), subject=about), limit or None))
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(event) for event in found])
        return
    rendering.write_table(_COLUMNS, (_row(event) for event in found))


@events.command("search")
def search(
    subject: Annotated[str, typer.Argument(metavar="TYPE:ID", help="Whose events.")],
    query: Annotated[str, typer.Argument(help="What to find, in words.")],
    *,
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed or were given up.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="How many to show at most.")] = 10,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Find events of a subject by meaning and by words, best first; new ones within seconds."""
    from concord import to_dict

    from concord_server.cli import rendering
    from concord_server.cli.connection import connected, entity_option

    about = entity_option("TYPE:ID", subject)
    if about is None:
        raise CommandError("TYPE:ID must name a subject", code=ExitCode.USAGE)
    with connected(target, project, api_key) as client:
        found = client.search_events(about, query, states=_states(failed=failed), top_k=limit)
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(match) for match in found])
        return
    rendering.write_table(
        (*_SCORES, *_COLUMNS, "text"),
        (
            (*(f"{getattr(match, name):.4f}" for name in _SCORES), *_row(match.event), _wording(match.event))
            for match in found
        ),
    )
    if not found and output.on_terminal():
        report("nothing was found")


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


def _states(*, failed: bool) -> tuple[EventState, ...]:
    """Returns which events a command is about; none stands for all."""
    from concord import EventState

    return (EventState.FAILED, EventState.DEAD) if failed else ()


def _row(event: Event) -> tuple[object, ...]:
    """Returns the values of _COLUMNS."""
    subject = f"{event.subject.entity_type}:{event.subject.entity_id}"
    return (
        *(event.event_id, subject, event.kind, event.occur_time, event.state.value),
        *(str(event.attempts), event.last_error),
    )


def _wording(event: Event) -> str:
    """Returns what an event says: its text, else its messages, else its data."""
    from concord import to_dict

    said = " ".join(message.text for message in event.messages)
    return event.text or said or (json.dumps(to_dict(event.payload), ensure_ascii=False) if event.payload else "")


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

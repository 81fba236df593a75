"""``concord consolidate`` and ``concord runs``: starts runs, watches and stops them."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from concord_server.cli import options, output
from concord_server.cli.failures import CommandError, ExitCode, report
from concord_server.cli.output import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from concord import Client, Progress, Run, RunMessage

runs = typer.Typer(help="Look at runs, watch and stop them.")

_COUNTS = (
    *("processed", "created", "reinforced", "superseded", "historical"),
    *("conflicted", "suppressed", "duplicate", "rejected", "failed"),
    *("model_calls", "input_tokens", "output_tokens"),
    *("observations_created", "observations_updated", "observations_merged", "observations_retired"),
)
_HINTS = {
    "NO_MODEL": "set CONCORD_LLM_MODEL for the service, see docs/model.md, or send candidates with the events",
    "MODEL_DENIED": "the events still wait; check the service's CONCORD_LLM_* settings, see docs/model.md",
}
_COLUMNS = ("run_id", "state", "create_time", "total", *_COUNTS, "error")
_SHORT_COLUMNS = ("run_id", "state", "create_time", "worked", "counts", "error")


class Stage(StrEnum):
    """Stages of a run."""

    EXTRACT = "extract"
    OBSERVE = "observe"


def consolidate(
    *,
    subject: Annotated[str, typer.Option(metavar="TYPE:ID", help="Only events about this entity.")] = "",
    domain: Annotated[str, typer.Option(help="Only this domain.")] = "",
    max_events: Annotated[int, typer.Option(min=0, help="At most so many events; 0 for all that wait.")] = 0,
    stage: Annotated[
        list[Stage] | None, typer.Option(help="Only this stage: extract (events) or observe (facts).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Plan, and write no fact.")] = False,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Turn the events that wait into facts, and facts into observations. Ctrl-C detaches; the run goes on."""
    from concord import RunScope, RunStage

    from concord_server.cli.connection import connected, entity_option

    about = entity_option("--subject", subject)
    stages = [RunStage(each.name) for each in stage or ()]
    scope = RunScope(about, domain=domain, max_events=max_events, stages=stages, validate_only=dry_run)
    with connected(target, project, api_key) as client:
        run = client.start_run(scope)
        follow(client, run.run_id, 0, output_format)


@runs.command("watch")
def watch(
    run_id: Annotated[str, typer.Argument(help="Id of the run.")],
    *,
    after: Annotated[
        int, typer.Option("--after", min=0, metavar="SEQUENCE", help="Begin after this message.")
    ] = 0,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Show what a run tells until its end, also after it. Ctrl-C detaches; the run goes on."""
    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        follow(client, run_id, after, output_format)


@runs.command("list")
def list_runs(
    *,
    limit: options.Limit = 50,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """List runs, newest first."""
    from concord import to_dict

    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        found = list(islice(client.list_runs(), limit or None))
    if output_format is OutputFormat.JSON:
        output.write_json([to_dict(run) for run in found])
    else:
        _show(found)


@runs.command("cancel")
def cancel(
    run_id: Annotated[str, typer.Argument(help="Id of the run.")],
    *,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Stop a run between two events; the rest waits for the next run."""
    from concord_server.cli.connection import connected

    with connected(target, project, api_key) as client:
        _show_one(client.cancel_run(run_id))


def follow(client: Client, run_id: str, after: int, output_format: OutputFormat) -> None:
    """Shows a run until its end.

    Raises:
        CommandError: the run failed, or the user detached.
    """
    from concord import Run

    seen, last = after, None
    try:
        for message in _shown(client.watch_run(run_id, after_sequence=after), output_format):
            seen = message.sequence
            last = message.update if message.last else last
    except KeyboardInterrupt:
        report("detached; the run goes on", f"watch it with: concord runs watch {run_id} --after {seen}")
        raise
    if not isinstance(last, Run):
        last = client.get_run(run_id)  # it had told all before
    if output_format is OutputFormat.TABLE:
        _show_one(last)
    if last.error:
        raise CommandError(last.error, hint=_hint(last), code=ExitCode.STATE)


def _hint(run: Run) -> str:
    """Returns what to do about a run that could not go on."""
    if run.retry_time is not None:
        return f"the events still wait; start another run from {run.retry_time:%Y-%m-%d %H:%M:%S} UTC on"
    return _HINTS.get(run.error_reason, "")


def _shown(messages: Iterator[RunMessage], output_format: OutputFormat) -> Iterator[RunMessage]:
    """Yields messages once they are shown: as JSON lines, or as a bar on a terminal."""
    from concord import Progress, Run, to_dict

    if output_format is OutputFormat.JSON:
        for message in messages:
            output.write_json(
                {"sequence": message.sequence, "update": to_dict(message.update), "last": message.last}
            )
            yield message
        return
    if not output.on_terminal():
        yield from messages
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    with Bars(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[counts]}"),
    ) as bars:  # fmt: skip
        bar = bars.add_task("EXTRACT", total=None, counts="")
        for message in messages:
            update = message.update
            progress = update.progress if isinstance(update, Run) else update
            if isinstance(progress, Progress):
                bars.update(bar, total=progress.total, completed=progress.processed, counts=_counts(progress))
            yield message


def _counts(progress: Progress) -> str:
    """Returns the counts that are not zero, in one line."""
    named = ((name, getattr(progress, name)) for name in _COUNTS[1:])
    return " · ".join(f"{count} {name.replace('_', ' ')}" for name, count in named if count)


def _show(found: Sequence[Run]) -> None:
    """Writes runs: on a terminal without the counts that are zero, for there are many."""
    from concord_server.cli import rendering

    if output.on_terminal():
        rendering.write_table(_SHORT_COLUMNS, (_short_row(run) for run in found))
    else:
        rendering.write_table(_COLUMNS, (_row(run) for run in found))


def _show_one(run: Run) -> None:
    """Writes a run: on a terminal what there is to say about it, one below the other."""
    from concord_server.cli import rendering

    if not output.on_terminal():
        rendering.write_table(_COLUMNS, [_row(run)])
        return
    _, _, _, worked, counts, error = _short_row(run)
    fields = {
        "run_id": run.run_id,
        "state": run.state.value,
        "worked": worked,
        "counts": counts,
        "error": error,
    }
    output.show(rendering.field_table((name, value) for name, value in fields.items() if value))


def _row(run: Run) -> tuple[object, ...]:
    counts = (str(getattr(run.progress, name)) for name in ("total", *_COUNTS))
    return (run.run_id, run.state.value, run.create_time, *counts, run.error)


def _short_row(run: Run) -> tuple[object, ...]:
    worked = f"{run.progress.processed}/{run.progress.total}"
    return (run.run_id, run.state.value, run.create_time, worked, _counts(run.progress), run.error)

"""``concord extract``: takes facts from a file by a language model, or shows what it would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from concord_server.cli import options, output
from concord_server.cli.failures import CommandError, ExitCode
from concord_server.cli.output import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from concord import EventInput

    from concord_server.bootstrap.extraction import Preview

_COLUMNS = ("event", "outcome", "fact", "predicate", "value", "confidence", "evidence", "reason")


def extract(
    *,
    file: Annotated[
        Path,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Events in the contract's form, or turns of a conversation, a line each.",
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be stored and what it costs; needs no service.")
    ] = False,
    subject: Annotated[str, typer.Option(metavar="TYPE:ID", help="Whom a conversation is about.")] = "",
    prompt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --dry-run: instructions instead of the default ones.")
    ] = None,
    output_format: options.Output = OutputFormat.TABLE,
    target: options.Target = options.DEFAULT_TARGET,
    project: options.Project = "",
    api_key: options.ApiKey = "",
) -> None:
    """Take facts from a file by a language model.

    With --dry-run the model that the environment names (CONCORD_LLM_MODEL, CONCORD_LLM_BASE_URL, …) is asked from here,
    and nothing is stored. Without it, the events are handed to the service and turned into facts there.
    """
    from concord_server.cli.connection import connected, entity_option

    events = _read(file, entity_option("--subject", subject) if subject else None)
    if dry_run:
        _preview(events, "" if prompt is None else _text(prompt), output_format)
        return
    if prompt is not None:
        raise CommandError(
            "--prompt goes with --dry-run; a project has its prompt in its settings", code=ExitCode.USAGE
        )
    from concord import RunScope, RunStage

    from concord_server.cli.commands.events import BATCH
    from concord_server.cli.commands.runs import follow

    scope = RunScope(stages=[RunStage.EXTRACT])
    with connected(target, project, api_key) as client:
        for start in range(0, len(events), BATCH):
            client.append_events(events[start : start + BATCH])
        follow(client, client.start_run(scope).run_id, 0, output_format)


def _preview(events: Sequence[EventInput], prompt: str, output_format: OutputFormat) -> None:
    """Shows what the model would take from events.

    Raises:
        CommandError: no model is configured, an event is malformed, or the model could not answer about one.
    """
    from concord_server.bootstrap.extraction import NoModelError, preview_extraction
    from concord_server.cli.conversation_file import new_events
    from concord_server.domain.errors import InvalidFieldsError
    from concord_server.model_settings import ModelSettingsError

    try:
        previews = preview_extraction(new_events(events), prompt)
    except (NoModelError, ModelSettingsError) as error:
        raise CommandError(str(error), code=ExitCode.START) from error
    except InvalidFieldsError as error:
        raise CommandError(str(error), code=ExitCode.INVALID) from error
    if output_format is OutputFormat.JSON:
        for number, preview in enumerate(previews, start=1):
            output.write_json(_document(number, preview))
    else:
        output.write_rows(_COLUMNS, (row for n, p in enumerate(previews, start=1) for row in _rows(n, p)))
        output.write_line("")
        output.write_fields(_totals(previews))
    failed = [preview for preview in previews if preview.failure]
    if failed:
        unread = len(events) - len(previews) + len(failed)
        raise CommandError(
            f"{unread} of {len(events)} events were not read: {failed[0].failure}", code=ExitCode.PARTIAL
        )


def _rows(number: int, preview: Preview) -> Iterator[tuple[object, ...]]:
    from concord_server.bootstrap.extraction import words_of

    for one in preview.extraction.candidates:
        claim, quotes = one.claim, " … ".join(item.quote for item in one.evidence)
        if claim is not None:
            value = claim.value if isinstance(claim.value, str) else _json(claim.value)
            yield (number, one.action.value, words_of(one), claim.predicate, value, one.confidence, quotes, "")
    for refused in preview.extraction.rejected:
        yield (number, "REJECT", refused.text, "", "", "", "", refused.reason)
    if preview.failure:
        yield (number, "FAILED", "", "", "", "", "", preview.failure)


def _document(number: int, preview: Preview) -> dict[str, Any]:
    names = ("event", "outcome", "fact", "predicate", "value", "confidence", "evidence", "reason")
    usage = preview.usage
    return {
        "event": number,
        "candidates": [dict(zip(names[1:], row[1:], strict=True)) for row in _rows(number, preview)],
        "partial": preview.extraction.partial,
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost or None,
    }


def _totals(previews: Sequence[Preview]) -> list[tuple[str, object]]:
    from concord_server.ports.language_model import Usage

    usage = Usage()
    for preview in previews:
        usage = usage.plus(preview.usage)
    price = f"{usage.cost:.6f} USD" if usage.cost else "unknown: set CONCORD_LLM_INPUT_PRICE and …_OUTPUT_PRICE"
    return [
        ("events", len(previews)),
        ("facts", sum(len(preview.extraction.candidates) for preview in previews)),
        ("rejected", sum(len(preview.extraction.rejected) for preview in previews)),
        ("cut off", sum(preview.extraction.partial for preview in previews)),
        ("model calls", usage.calls),
        ("input tokens", usage.input_tokens),
        ("output tokens", usage.output_tokens),
        ("cost", price),
    ]


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def _read(file: Path, subject: Any) -> list[EventInput]:  # noqa: ANN401 - a type of the client, imported late
    """Returns the events of a file.

    Raises:
        CommandError: the file cannot be read, or a line is no event.
    """
    from concord_server.cli.conversation_file import read_conversation
    from concord_server.cli.events_file import EventFileError

    try:
        with file.open(encoding="utf-8") as lines:
            return read_conversation(lines, subject)
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}", code=ExitCode.USAGE) from error
    except (EventFileError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: {error}", code=ExitCode.INVALID) from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"cannot read {file}: {error}", code=ExitCode.USAGE) from error

"""The demo: sample statements through the real client, and what the ledger makes of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from concord import (
    DEFAULT_WINDOW,
    Client,
    ConflictState,
    EntityRef,
    EventOutcome,
    Fact,
    FactFilter,
    FactStatus,
    ReconcileAction,
    ReconcileResult,
    Statement,
    UnimplementedError,
)
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from concord_server.cli import output, rendering
from concord_server.cli.events_file import read_events
from concord_server.cli.failures import CommandError
from concord_server.cli.statements.parse import Defaults, parse_line
from concord_server.cli.statements.reader import read_lines
from concord_server.cli.statements.report import ACTION_STYLES, failure, progress_bar
from concord_server.cli.statements.run import ACTIONS, BrokenRunError, LineOutcome, Tally, reconcile_lines

ENTITY = EntityRef("Project", "tendril")
"""Whom the demo asks about at the end."""

_NEWEST = 8
_EXAMPLES_OF_EACH = 2


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The outcomes of a sample file."""

    file: Path
    tally: Tally
    outcomes: tuple[LineOutcome, ...]


def sample_files() -> list[Path]:
    """Returns the sample files, from a checkout or from the installed package.

    Raises:
        CommandError: there are none.
    """
    package = Path(__file__).resolve().parents[1]
    for directory in (package / "_examples", package.parents[1] / "examples" / "data"):
        found = sorted(directory.glob("*.jsonl"))
        if found:
            return found
    raise CommandError("the sample data is missing", hint="install the package again")


def sample_events() -> Path:
    """Returns the file of sample events.

    Raises:
        CommandError: there is none.
    """
    found = sorted((sample_files()[0].parent / "events").glob("*.jsonl"))
    if not found:
        raise CommandError("the sample events are missing", hint="install the package again")
    return found[0]


def demonstrate(client: Client, files: Sequence[Path], events: Path) -> None:
    """Reconciles the files, consolidates the events, and shows what came of it.

    Shown are the counts, some decisions, facts, conflicts and what an entity is known for.

    Raises:
        ConcordError: a call failed.
        CommandError: a sample line was refused.
    """
    runs = [_reconcile(client, file) for file in files]
    _section(f"{sum(run.tally.total for run in runs)} statements reconciled", _counts(runs))
    results = [outcome.result for run in runs for outcome in run.outcomes if outcome.result]
    if all(result.action is ReconcileAction.MERGED for result in results):
        _section(
            "Nothing new",
            Text("Every statement merged into the fact that it made before: nothing was created twice."),
        )
    else:
        _section("How some of them were decided", *_examples(results))
    _consolidate(client, events)
    page = client.list_facts_page(page_size=_NEWEST)
    _section(f"{page.total_size} facts; the newest", *(rendering.fact_card(fact) for fact in page))
    conflicts = list(client.list_conflicts(state=ConflictState.OPEN))
    cards = [rendering.conflict_card(conflict) for conflict in conflicts]
    _section("Open conflicts, which wait for a person", *cards or [Text("none")])
    _show_entity(client)


def _reconcile(client: Client, file: Path) -> Reconciled:
    def parse(content: str) -> Statement:
        return parse_line(content, Defaults())

    tally, outcomes = Tally(), []
    with (
        file.open("rb") as stream,
        progress_bar(file.stat().st_size, enabled=sys.stderr.isatty(), label=file.name) as advance,
    ):
        try:
            for outcome in reconcile_lines(client, read_lines(stream), parse, window=DEFAULT_WINDOW):
                if outcome.result is None:
                    raise CommandError(f"{file.name}, line {outcome.line.number}: {failure(outcome)}")
                tally.add(outcome)
                outcomes.append(outcome)
                advance(outcome, tally)
        except BrokenRunError as broken:
            raise broken.error from broken
    return Reconciled(file, tally, tuple(outcomes))


def _consolidate(client: Client, file: Path) -> None:
    """Appends the events of a file, and shows what a run makes of those that wait, as it tells it."""
    with file.open(encoding="utf-8") as stream:
        events = list(read_events(stream))
    appended = client.append_events(events)
    known = sum(one.duplicate for one in appended)
    _section(f"{len(events)} events appended, {known} of them known before; what consolidating made of them")
    texts = {
        one.event_id: f"{event.kind} of {event.occur_time:%Y-%m-%d}"
        for one, event in zip(appended, events, strict=True)
    }
    total = 0
    for message in client.consolidate():
        if isinstance(message.update, EventOutcome):
            total += 1
            output.show(_outcome(message.update, texts.get(message.update.event_id, "event")))
    if not total:
        output.show("No event waits: each was consolidated once.")


def _outcome(outcome: EventOutcome, title: str) -> Text:
    lines = Text(f"{title}  {outcome.state.value.lower()}", style="dim")
    for candidate in outcome.candidates:
        lines.append(f"\n  {candidate.outcome.value.lower():<11}", style="bold")
        lines.append(f"{output.printable(candidate.text)}", style="not dim")
        if candidate.reason:
            lines.append(f"  ({output.printable(candidate.reason)})")
    return lines


def _section(title: str, *body: RenderableType) -> None:
    output.show("", Text(title, style="bold underline"), *body)


def _counts(runs: Sequence[Reconciled]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("file")
    for action in ACTIONS:
        table.add_column(action.value.lower(), justify="right")
    total = Tally()
    for run in runs:
        total.by_action.update(run.tally.by_action)
        table.add_row(run.file.name, *_cells(run.tally))
    table.add_row(Text("total", style="bold"), *_cells(total))
    return table


def _cells(tally: Tally) -> list[Text]:
    counts = [(action, tally.by_action[action]) for action in ACTIONS]
    return [Text(str(count), style=ACTION_STYLES[action] if count else "dim") for action, count in counts]


_KINDS = (
    "merged: the same, in other words",
    "branched: replaces what was known",
    "branched: adds to what is known",
    "conflicted: waits for a person",
    "created: close in wording, another matter",
)


def _examples(results: Sequence[ReconcileResult]) -> list[RenderableType]:
    """Lays out a few decisions of each kind that has something to tell."""
    cards: list[RenderableType] = []
    for kind in _KINDS:
        found = [result for result in results if _kind(result) == kind]
        if found:
            cards.append(Text(kind, style=ACTION_STYLES[found[0].action]))
            cards += [_example(result) for result in found[:_EXAMPLES_OF_EACH]]
    return cards


def _kind(result: ReconcileResult) -> str:
    """Returns which of the kinds a decision is of, empty for one that explains itself."""
    merged, replaced, added, conflicted, apart = _KINDS
    known = result.matched_fact
    if result.action == "MERGED" and known is not None and known.text_raw != known.text:
        return merged
    if result.action == "BRANCHED":
        return replaced if result.evolution_type in {"CONTRADICTION", "CORRECTION"} else added
    if result.action == "CONFLICTED":
        return conflicted
    if result.action == "CREATED" and any(candidate.discrepancies for candidate in result.decision.candidates):
        return apart
    return ""


def _example(result: ReconcileResult) -> RenderableType:
    said = result.fact.text_raw or result.fact.text
    card = Text(f"  {output.printable(said)}")
    known = result.matched_fact
    if known is not None:
        similarity = "" if result.similarity is None else f"  (similarity {result.similarity:.2f})"
        card.append(f"\n    known: {output.printable(known.text)}{similarity}", style="dim")
    if result.decision.rationale:
        card.append(f"\n    why: {output.printable(result.decision.rationale)}", style="dim")
    return card


def _show_entity(client: Client) -> None:
    """Shows the briefing of an entity, or its facts where the service has no briefings yet."""
    name = rendering.entity_text(ENTITY)
    try:
        briefing = client.get_entity_briefing(ENTITY.entity_type, ENTITY.entity_id)
    except UnimplementedError:
        about = FactFilter(entity=ENTITY)
        facts = list(islice(client.list_facts(about, order_by="valid_from"), 500))
        _section(f"Facts about {name}, by status", *_by_status(facts))
        return
    _section(f"Briefing of {name}", _markdown(briefing.markdown))


def _by_status(facts: Sequence[Fact]) -> list[RenderableType]:
    groups: list[RenderableType] = []
    for status in FactStatus:
        members = [fact for fact in facts if fact.status is status]
        if members:
            groups.append(Text(status.value.lower(), style=rendering.STATUS_STYLES[status.value]))
            groups += [_bullet(fact) for fact in members]
    return groups


def _bullet(fact: Fact) -> Text:
    bullet = Text(f"  - {output.printable(fact.text)}")
    bullet.append(f"  {fact.confidence:.2f}, {rendering.validity_text(fact)}", style="dim")
    return bullet


def _markdown(text: str) -> RenderableType:
    if not output.on_terminal():
        return Text(text)
    from rich.markdown import Markdown

    return Markdown(text, hyperlinks=False)

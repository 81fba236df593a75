"""What ``concord reconcile`` shows while it runs and when it ends."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from concord import ReconcileResult

from concord_server.cli import output
from concord_server.cli.connection import reason
from concord_server.cli.failures import report
from concord_server.cli.statements.run import LineOutcome, Tally

if TYPE_CHECKING:
    from rich.progress import Progress

ACTION_STYLES = {
    "CREATED": "green",
    "MERGED": "cyan",
    "BRANCHED": "yellow",
    "CONFLICTED": "magenta",
    "SUPPRESSED": "dim",
    "FAILED": "red",
}


class Report(ABC):
    """Shows the outcomes of lines, then the counts."""

    streams = False
    """Whether outcomes go to standard output as they come."""

    def __init__(self) -> None:
        self.tally = Tally()

    def add(self, outcome: LineOutcome) -> None:
        """Counts a line and shows it."""
        self.tally.add(outcome)
        self.show(outcome)

    @abstractmethod
    def show(self, outcome: LineOutcome) -> None:
        """Shows a line."""

    @abstractmethod
    def finish(self) -> None:
        """Shows the counts; called once, also when the run did not reach the end."""


class SummaryReport(Report):
    """Failures on standard error, and a table of counts.

    Args:
        warn: shows one message on standard error.
        dry_run: whether nothing was written.
    """

    def __init__(self, warn: Callable[[str], None] = report, *, dry_run: bool = False) -> None:
        super().__init__()
        self._warn = warn
        self._dry_run = dry_run

    def show(self, outcome: LineOutcome) -> None:
        """Shows a line that failed."""
        if outcome.result is None:
            self._warn(f"line {outcome.line.number}: {failure(outcome)}")

    def finish(self) -> None:
        """Shows the counts."""
        self.show_warnings()
        rows = self.tally.rows()
        if not output.on_terminal():
            output.write_rows(("action", "lines"), rows)
            return
        output.show(summary_table(self.tally, "would be" if self._dry_run else "action"))

    def show_warnings(self) -> None:
        """Shows each warning once, with how often it came."""
        for message, count in self.tally.warnings.items():
            self._warn(f"warning: {message}" + (f" (on {count} lines)" if count > 1 else ""))


class DetailReport(SummaryReport):
    """Every line with what became of it and why; the counts go to standard error."""

    streams = True
    _COLUMNS = ("line", "action", "similarity", "fact_id", "matched_fact_id", "decision_id", "text", "rationale")

    def __init__(self, warn: Callable[[str], None] = report, *, dry_run: bool = False) -> None:
        super().__init__(warn, dry_run=dry_run)
        if not output.on_terminal():
            output.write_line("\t".join(self._COLUMNS))

    def show(self, outcome: LineOutcome) -> None:
        """Shows a line."""
        super().show(outcome)
        if outcome.result is None:
            return
        if output.on_terminal():
            output.show(_card(outcome.result))
            return
        values = details(outcome)
        output.write_line("\t".join(output.cell(values.get(column)) for column in self._COLUMNS))

    def finish(self) -> None:
        """Shows the counts, away from the lines."""
        self.show_warnings()
        counts = ", ".join(f"{name.lower()} {count}" for name, count in self.tally.rows() if count)
        print(f"concord: {counts or 'no lines'}", file=sys.stderr)


class JsonReport(Report):
    """One JSON document, ``{"results": […], "summary": {…}}``, written as the outcomes come, one per line."""

    streams = True

    def __init__(self, warn: Callable[[str], None] = report) -> None:
        super().__init__()
        self._warn = warn
        self._start = time.monotonic()
        self._separator = '{"results": [\n'

    def show(self, outcome: LineOutcome) -> None:
        """Writes a line."""
        if outcome.result is None:
            self._warn(f"line {outcome.line.number}: {failure(outcome)}")
        sys.stdout.write(self._separator + json.dumps(details(outcome), ensure_ascii=False))
        self._separator = ",\n"

    def finish(self) -> None:
        """Writes the counts."""
        counts = dict(self.tally.rows())
        summary = {
            "total": counts.pop("TOTAL"),
            "failed": counts.pop("FAILED"),
            "by_action": counts,
            "seconds": round(time.monotonic() - self._start, 3),
        }
        start = "\n" if self.tally.total else self._separator
        output.write_line(f'{start}], "summary": {json.dumps(summary)}}}')


def failure(outcome: LineOutcome) -> str:
    """Returns why a line failed."""
    return reason(outcome.error) if outcome.error else outcome.problem


def details(outcome: LineOutcome) -> dict[str, Any]:
    """Returns what became of a line as JSON data, without what is empty."""
    result = outcome.result
    if result is None:
        error = {"message": failure(outcome)}
        if outcome.error:
            error |= {"code": outcome.error.code.name, "reason": outcome.error.reason}
        return {"line": outcome.line.number, "error": error}
    fields = {
        "line": outcome.line.number,
        "action": result.action.value,
        "evolution_type": result.evolution_type.value if result.action == "BRANCHED" else "",
        "similarity": result.similarity,
        "fact_id": result.fact.fact_id,
        "status": result.fact.status.value,
        "text": result.fact.text,
        "matched_fact_id": result.matched_fact.fact_id if result.matched_fact else "",
        "conflict_id": result.conflict.conflict_id if result.conflict else "",
        "decision_id": result.decision.decision_id,
        "basis": result.decision.basis.value,
        "rationale": result.decision.rationale,
        "warnings": list(result.warnings),
    }
    return output.without_empty(fields)


def _card(result: ReconcileResult) -> Any:  # noqa: ANN401 - a rich renderable; rich is imported when it is needed
    from rich.text import Text

    action = result.action.value
    card = Text(f"{action:<10} ", style=ACTION_STYLES.get(action, ""))
    card.append(output.printable(result.fact.text_raw or result.fact.text), style="bold")
    notes = []
    if result.matched_fact is not None and result.matched_fact.text != result.fact.text_raw:
        notes.append(f"known: {result.matched_fact.text}")
    if result.decision.rationale:
        notes.append(result.decision.rationale)
    if result.decision.decision_id:
        notes.append(f"decision {result.decision.decision_id}")
    for note in notes:
        card.append(f"\n{'':<11}{output.printable(note)}", style="dim")
    return card


def summary_table(tally: Tally, heading: str) -> Any:  # noqa: ANN401 - a rich renderable
    """Lays the counts out for a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(heading, header_style="dim")
    table.add_column("lines", justify="right", header_style="dim")
    for name, count in tally.rows():
        style = ACTION_STYLES.get(name, "bold") if count else "dim"
        table.add_row(Text(name.lower(), style=style), Text(f"{count:,}", style=style))
    return table


@contextlib.contextmanager
def progress_bar(
    total_bytes: int | None, *, enabled: bool, label: str = ""
) -> Iterator[Callable[[LineOutcome, Tally], None]]:
    """Shows a bar on standard error while lines are reconciled, on a terminal alone.

    Args:
        total_bytes: size of the input, None where it is not known.
        enabled: False shows nothing.
        label: stands before the bar.

    Yields:
        A function to call after each line.
    """
    if not enabled:
        yield lambda _outcome, _tally: None
        return
    bar = _bar()
    task = bar.add_task(label, total=total_bytes, counts="")
    with bar:

        def advance(outcome: LineOutcome, tally: Tally) -> None:
            counts = "  ".join(f"{name.lower()} {count:,}" for name, count in tally.rows()[:-1] if count)
            bar.update(task, completed=outcome.line.end, counts=counts)

        yield advance


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[counts]}", markup=False),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr, markup=False, highlight=False, emoji=False),
        transient=True,
        # Standard output may be a pipe: what is written there must not be drawn above the bar instead.
        redirect_stdout=False,
    )

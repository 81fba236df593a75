"""Reconciling the lines of a file over a stream, with every line accounted for, in order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from concord import Client, ConcordError, ReconcileAction, ReconcileResult, Statement

from concord_server.cli.statements.reader import Line, LineError

ACTIONS = tuple(action for action in ReconcileAction if action is not ReconcileAction.UNSPECIFIED)
"""Every action, in the order in which they are counted."""


@dataclass(frozen=True, slots=True)
class LineOutcome:
    """What became of a line: exactly one of ``result``, ``problem`` and ``error`` is set.

    Attributes:
        line: the line.
        result: what the service made of its statement.
        problem: why it was not sent.
        error: why the service refused it.
    """

    line: Line
    result: ReconcileResult | None = None
    problem: str = ""
    error: ConcordError | None = None


class BrokenRunError(Exception):
    """The stream broke for good.

    Attributes:
        error: why.
        first_open_line: number of the first line without an answer, None where every line read has one. It may
            have been done all the same: sending it again is safe.
    """

    def __init__(self, error: ConcordError, first_open_line: int | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.first_open_line = first_open_line


def reconcile_lines(
    client: Client, lines: Iterable[Line], parse: Callable[[str], Statement], *, window: int
) -> Iterator[LineOutcome]:
    """Reconciles lines, and yields what became of each, in the order of the lines.

    Args:
        lines: what to reconcile, read as room is made.
        parse: makes a statement of a line's content; raises LineError where it cannot.
        window: statements in flight at most.

    Raises:
        BrokenRunError: the stream broke and retries did not help. What was yielded before is done.
    """
    waiting: deque[LineOutcome] = deque()

    def statements() -> Iterator[Statement]:
        for line in lines:
            statement, problem = _parsed(line, parse)
            waiting.append(LineOutcome(line, problem=problem))
            if statement is not None:
                yield statement

    def refused() -> Iterator[LineOutcome]:
        while waiting and waiting[0].problem:
            yield waiting.popleft()

    try:
        for outcome in client.reconcile_many(statements(), window=window):
            yield from refused()
            yield LineOutcome(waiting.popleft().line, result=outcome.result, error=outcome.error)
    except ConcordError as error:
        yield from refused()
        raise BrokenRunError(error, waiting[0].line.number if waiting else None) from error
    yield from refused()


def _parsed(line: Line, parse: Callable[[str], Statement]) -> tuple[Statement | None, str]:
    if line.problem:
        return None, line.problem
    try:
        return parse(line.content), ""
    except LineError as error:
        return None, str(error)


@dataclass(slots=True)
class Tally:
    """Counts of a run."""

    by_action: Counter[ReconcileAction] = field(default_factory=Counter)
    failed: int = 0
    warnings: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: LineOutcome) -> None:
        """Counts a line."""
        if outcome.result is None:
            self.failed += 1
            return
        self.by_action[outcome.result.action] += 1
        self.warnings.update(outcome.result.warnings)

    @property
    def total(self) -> int:
        """Lines counted."""
        return self.by_action.total() + self.failed

    def rows(self) -> list[tuple[str, int]]:
        """Returns every action and its count, the unused ones too, then the failures and the total."""
        counts = [(action.value, self.by_action[action]) for action in ACTIONS]
        return [*counts, ("FAILED", self.failed), ("TOTAL", self.total)]

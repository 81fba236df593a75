"""A change log in memory, and a time that tests move."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

from concord_server.domain.enums import FactChange
from concord_server.domain.errors import UnavailableError
from concord_server.domain.watching import ChangePage, LogBounds, RecordedChange
from concord_server.ports.ledger import Ledger
from concord_server.services.signals import ChangeSignals
from concord_server.services.watch import Timing, WatchFacts

from tests.support.facts import NOON, a_fact


def a_change(sequence: int, change: FactChange = FactChange.CREATED, **fields: Any) -> RecordedChange:
    """Returns an entry of the log about a fact with these fields."""
    fact = a_fact(**{"fact_id": uuid4(), "text": f"statement {sequence}", **fields})
    owner = [fact.partition.owner] if fact.partition.owner else []
    names = frozenset((entity.entity_type, entity.entity_id) for entity in [*fact.subjects, *owner])
    return RecordedChange(sequence, change, fact, NOON, names)


class MemoryLog:
    """The change logs of a ledger in memory, and the signals of those who watch them.

    Attributes:
        reads: how many pages were read.
        down: whether reading fails.
        gate: reading waits for it.
    """

    def __init__(self) -> None:
        self.signals = ChangeSignals()
        self.reads = 0
        self.down = False
        self.gate = asyncio.Event()
        self.gate.set()
        self._entries: dict[str, list[RecordedChange]] = {}
        self._pruned: dict[str, int] = {}

    def watch_facts(self, timing: FakeTiming | None = None) -> WatchFacts:
        """Returns the use case over this log."""
        return WatchFacts(cast("Ledger", self), self.signals, timing.timing() if timing else None)

    def append(self, *changes: RecordedChange, project: str = "default", announce: bool = True) -> None:
        """Commits changes, which get the next sequences."""
        entries = self._entries.setdefault(project, [])
        for change in changes:
            entries.append(replace(change, sequence=self._last(project) + 1))
        if announce:
            self.signals.wake(project)

    def fill(self, count: int, **fields: Any) -> None:
        """Commits so many changes."""
        self.append(*(a_change(0, **fields) for _ in range(count)))

    def prune(self, through: int, project: str = "default") -> None:
        """Deletes the changes up to a sequence."""
        self._pruned[project] = through
        self._entries[project] = [entry for entry in self._entries[project] if entry.sequence > through]

    @asynccontextmanager
    async def read(self, project: str) -> AsyncIterator[Any]:
        """Opens a session that reads."""
        if self.down:
            raise UnavailableError("the database cannot be reached")

        async def bounds() -> LogBounds:
            return self._bounds(project)

        async def page(after: int, size: int) -> ChangePage:
            return await self._page(project, after, size)

        yield SimpleNamespace(change_log=SimpleNamespace(bounds=bounds, page=page))

    async def _page(self, project: str, after: int, size: int) -> ChangePage:
        self.reads += 1
        self._bounds(project).require(after)
        found = [entry for entry in self._entries.get(project, []) if entry.sequence > after][:size]
        await self.gate.wait()
        return ChangePage(found, found[-1].sequence if found else after, complete=len(found) < size)

    def _bounds(self, project: str) -> LogBounds:
        return LogBounds(self._pruned.get(project, 0), self._last(project))

    def _last(self, project: str) -> int:
        entries = self._entries.get(project)
        return entries[-1].sequence if entries else self._pruned.get(project, 0)


class FakeTiming:
    """Time that stands until a test moves it."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._limits: list[tuple[float, asyncio.Timeout]] = []

    def timing(self) -> Timing:
        """Returns what the use case needs of it."""
        return Timing(now=lambda: self._now, timeout=self._timeout)

    def advance(self, seconds: float) -> None:
        """Lets time pass."""
        self._now += seconds
        due = [limit for when, limit in self._limits if when <= self._now]
        self._limits = [(when, limit) for when, limit in self._limits if when > self._now]
        for limit in due:
            with suppress(RuntimeError):  # its block has ended already
                limit.reschedule(asyncio.get_running_loop().time())

    def _timeout(self, seconds: float) -> asyncio.Timeout:
        limit = asyncio.timeout(None)
        self._limits.append((self._now + seconds, limit))
        return limit


async def until(condition: Callable[[], bool]) -> None:
    """Returns once a condition holds."""
    while True:
        if condition():
            return
        await asyncio.sleep(0.005)


def sequences(items: Iterable[Any]) -> list[int]:
    """Returns the sequences of changes or messages."""
    return [item.sequence for item in items]

"""Watching facts: the change log from a sequence on, as it grows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from concord_server.domain.watching import ChangePage, Heartbeat, RecordedChange, WatchFilter
from concord_server.ports.ledger import Ledger
from concord_server.services.context import CallContext
from concord_server.services.signals import ChangeSignals, ProjectSignal

SILENCE_SECONDS = 15.0
"""After so long without a message, a watcher is told that the watch is alive."""

PAGE_SIZE = 100
"""Changes that are read at once: all that a watch ever holds of the log."""

READS_AT_ONCE = 2
"""Pages that a process reads at the same time, so that watchers leave connections to everybody else."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How time passes.

    Attributes:
        now: monotonic seconds.
        timeout: interrupts a block after so many seconds, as :func:`asyncio.timeout` does.
    """

    now: Callable[[], float] = time.monotonic
    timeout: Callable[[float], asyncio.Timeout] = asyncio.timeout


class WatchFacts:
    """Tells changes as they commit: at least once, in order, none missed.

    Every watch reads the log by a cursor of its own, one page at a time and the next one only once its caller
    has taken the last: a slow caller holds up nobody, and nothing is queued for it. A watch that has read to
    the end waits for a signal, and asks the database nothing until then.

    Args:
        ledger: where the log is.
        signals: wake the watches of a project when its log has grown. A wake too many costs a read, one too few
            delays changes until the next.
        timing: how time passes.
    """

    def __init__(self, ledger: Ledger, signals: ChangeSignals, timing: Timing | None = None) -> None:
        self._ledger = ledger
        self._signals = signals
        self._timing = timing or Timing()
        self._pages = SharedPages(ledger)

    async def execute(
        self, context: CallContext, where: WatchFilter, after_sequence: int | None
    ) -> AsyncIterator[RecordedChange | Heartbeat]:
        """Starts a watch. It has its place in the log once this returns; close the iterator in the end.

        Args:
            where: which changes.
            after_sequence: tells those after it; 0 tells all, ``None`` those from now on.

        Raises (also from the iterator, when changes that it has not told yet are pruned):
            SequenceNotKeptError: changes after ``after_sequence`` are no longer kept, or the log never came that
                far.
            UnavailableError: the database cannot be reached.
        """
        async with self._ledger.read(context.project) as session:
            bounds = await session.change_log.bounds()
        after = bounds.last if after_sequence is None else after_sequence
        bounds.require(after)
        return self._follow(context.project, where, after)

    async def _follow(
        self, project: str, where: WatchFilter, after: int
    ) -> AsyncIterator[RecordedChange | Heartbeat]:
        spoken = self._timing.now()
        with self._signals.watching(project) as signal:
            while True:
                generation = signal.generation
                page = await self._pages.read(project, after, generation)
                for change in filter(where.admits, page.changes):
                    yield change
                    spoken = self._timing.now()
                after, complete = page.through, page.complete
                del page  # a watch that waits holds nothing of the log
                while not await self._news(signal, generation, spoken + SILENCE_SECONDS, wait=complete):
                    yield Heartbeat(after)
                    spoken = self._timing.now()

    async def _news(self, signal: ProjectSignal, generation: int, deadline: float, *, wait: bool) -> bool:
        """Returns whether there may be something to read; false when the silence has lasted until ``deadline``."""
        remaining = deadline - self._timing.now()
        if remaining <= 0:
            return False
        if not wait:
            return True
        try:
            async with self._timing.timeout(remaining) as limit:
                await signal.after(generation)
        except TimeoutError:
            if not limit.expired():
                raise
            return False
        return True


class SharedPages:
    """Reads pages of change logs, once for all who want the same page at the same time.

    Watches of a project that are up to date all want the same page when they are woken. What a watch asks for is
    filtered after reading, so that this holds whatever they are about.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._reads: dict[tuple[str, int, int], asyncio.Task[ChangePage]] = {}
        self._room = asyncio.Semaphore(READS_AT_ONCE)

    async def read(self, project: str, after: int, generation: int) -> ChangePage:
        """Returns the page after a sequence.

        Args:
            project: whose log.
            after: where the page starts.
            generation: of the project's signal as the reader knows it. A read that began in an earlier one is
                not shared: it may miss the very changes that this reader was woken for.
        """
        key = (project, after, generation)
        task = self._reads.get(key)
        if task is None:
            task = self._reads[key] = asyncio.create_task(self._read(project, after))
            task.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(task)  # who goes away must not take the page from the others

    async def _read(self, project: str, after: int) -> ChangePage:
        async with self._room, self._ledger.read(project) as session:
            return await session.change_log.page(after, PAGE_SIZE)

    def _forget(self, key: tuple[str, int, int], done: asyncio.Task[ChangePage]) -> None:
        del self._reads[key]
        if not done.cancelled():
            done.exception()  # counts as seen, also when nobody waits for the page any more

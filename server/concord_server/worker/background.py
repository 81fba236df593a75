"""Work that goes on beside the calls: one step after the other, with pauses, for as long as the process serves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from concord_server.domain.errors import ConcordError
from concord_server.ports.clock import Clock

FIRST_RETRY = timedelta(seconds=1)
"""Pause after a step that failed; it doubles with each further failure in a row."""

LAST_RETRY = timedelta(minutes=1)
"""Longest pause after a step that failed."""

_log = structlog.get_logger(__name__)

Step = Callable[[], Awaitable[timedelta]]
"""Does what there is to do now, and returns how long to pause until the next time."""


@dataclass(frozen=True, slots=True)
class Recurring:
    """A step that is taken again and again.

    Attributes:
        name: for the log.
        sleep: waits for a number of seconds.
    """

    name: str
    step: Step
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self) -> None:
        """Takes the step for ever; a step that fails is taken again later."""
        failures = 0
        while True:
            # In a task of its own: a defect must end the step and not the recurring work.
            step = asyncio.ensure_future(self.step())
            try:
                await asyncio.wait([step])
            finally:
                step.cancel()
                await asyncio.gather(step, return_exceptions=True)
            error = step.exception()
            if error is None:
                failures, pause = 0, step.result()
            else:
                pause = min(FIRST_RETRY * 2 ** min(failures, 16), LAST_RETRY)
                failures += 1
                self._report(error, pause)
            await self.sleep(max(pause.total_seconds(), 0.0))

    def _report(self, error: BaseException, pause: timedelta) -> None:
        seconds = pause.total_seconds()
        if isinstance(error, ConcordError):
            _log.warning("background work failed", work=self.name, error=str(error), retry_seconds=seconds)
        else:
            _log.error("background work failed", work=self.name, retry_seconds=seconds, exc_info=error)


class Background:
    """Recurring work of one process."""

    def __init__(self, work: Sequence[Recurring]) -> None:
        self._work = tuple(work)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Starts the work, in the running event loop."""
        self._tasks = [asyncio.create_task(work.run(), name=work.name) for work in self._work]

    async def close(self) -> None:
        """Ends the work; a transaction that is open is rolled back."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def pause_until(due: datetime | None, clock: Clock, longest: timedelta) -> timedelta:
    """Returns how long to pause until something is due, at most ``longest``; 0 when it is due already."""
    if due is None:
        return longest
    return min(max(due - clock.now(), timedelta()), longest)

"""Activates scheduled facts when their time comes.

What is scheduled is in the database alone, so that a restart loses nothing, and every serving process runs this.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

from concord_server.ports.clock import Clock
from concord_server.worker.background import Recurring, pause_until

LOOK_AGAIN = timedelta(minutes=1)
"""Longest time between two looks at the schedule.

A fact is scheduled only if its time is further ahead than this, so each is seen before it is due.
"""


class ActivateScheduled(Protocol):
    """Does what is due."""

    async def execute(self) -> datetime | None:
        """Returns when the next scheduled fact is due, ``None`` without one."""


def scheduling(activate: ActivateScheduled, clock: Clock) -> Recurring:
    """Returns the work of the scheduler: at each due time, and at least every :data:`LOOK_AGAIN`."""

    async def step() -> timedelta:
        return pause_until(await activate.execute(), clock, LOOK_AGAIN)

    return Recurring("scheduler", step)

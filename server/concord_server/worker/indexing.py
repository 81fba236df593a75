"""Makes events findable soon after they were appended."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from concord_server.worker.background import Recurring

LOOK_AGAIN = timedelta(seconds=2)
"""Time between two looks for new events."""

WHILE_UNAVAILABLE = timedelta(seconds=10)
"""The same while the embedder is unavailable."""


class IndexEvents(Protocol):
    """Makes events findable."""

    async def execute(self) -> bool:
        """Returns whether the embedder was available."""


def indexing(index_events: IndexEvents) -> Recurring:
    """Returns the work that looks for events that cannot be found yet."""

    async def step() -> timedelta:
        return LOOK_AGAIN if await index_events.execute() else WHILE_UNAVAILABLE

    return Recurring("events", step)

"""Takes up facts that were stored while the embedder was unavailable, once it is back."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from concord_server.worker.background import Recurring

LOOK_AGAIN = timedelta(seconds=10)
"""Time between two looks at what waits."""


class CatchUp(Protocol):
    """Takes up what waits."""

    async def execute(self) -> bool:
        """Returns whether the embedder was available."""


def catching_up(catch_up: CatchUp) -> Recurring:
    """Returns the work that looks for facts without an embedding."""

    async def step() -> timedelta:
        await catch_up.execute()
        return LOOK_AGAIN

    return Recurring("catch-up", step)

"""Removes, now and then, what has been kept for long enough."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

import structlog

from concord_server.services.upkeep import Removed
from concord_server.worker.background import Recurring

LOOK_AGAIN = timedelta(minutes=10)
"""Time between two looks at what is due."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Upkeep(Protocol):
    """Removes what has been kept for long enough."""

    async def execute(self) -> Removed:
        """Returns how much was removed."""


def keeping_up(upkeep: Upkeep) -> Recurring:
    """Returns the work that removes old answers to repeated requests, and the change log's old end."""

    async def step() -> timedelta:
        removed = await upkeep.execute()
        if removed.requests or removed.changes:
            _log.info("old entries removed", requests=removed.requests, changes=removed.changes)
        return LOOK_AGAIN

    return Recurring("upkeep", step)

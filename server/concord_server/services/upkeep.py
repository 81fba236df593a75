"""Removing what has been kept for long enough: answers to repeated requests, and the change log's old end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from concord_server.ports.clock import Clock
from concord_server.ports.ledger import Ledger
from concord_server.ports.upkeep import Expiry, UpkeepAgenda

REQUESTS_KEPT = timedelta(hours=48)
"""How long answers are kept for repeated requests; 24 hours are promised."""

BATCH = 1000
"""Rows of each kind that one transaction removes at most, so that none takes long."""


@dataclass(frozen=True, slots=True)
class Removed:
    """How many were removed."""

    requests: int = 0
    changes: int = 0

    def __add__(self, other: Removed) -> Removed:
        """Returns both together."""
        return Removed(self.requests + other.requests, self.changes + other.changes)


class Upkeep:
    """Removes what has been kept for long enough, in every project.

    Any number of processes may do so at once: a project is worked by one of them at a time.
    """

    def __init__(
        self, ledger: Ledger, agenda: UpkeepAgenda, clock: Clock, changes_kept: timedelta | None = None
    ) -> None:
        """Builds the use case.

        Args:
            changes_kept: how long the change log is kept; ``None`` for ever.
        """
        self._ledger = ledger
        self._agenda = agenda
        self._clock = clock
        self._changes_kept = changes_kept

    async def execute(self) -> Removed:
        """Removes all that is due, and returns how much it was.

        Raises:
            UnavailableError: the database cannot be reached; what was removed before stays so.
        """
        now = self._clock.now()
        expiry = Expiry(now - REQUESTS_KEPT, now - self._changes_kept if self._changes_kept else None)
        removed, after = Removed(), ""
        while project := await self._agenda.overdue_project(expiry, after=after):
            removed += await self._clear(project, expiry)
            after = project
        return removed

    async def _clear(self, project: str, expiry: Expiry) -> Removed:
        removed = Removed()
        while True:
            batch = await self._batch(project, expiry)
            removed += batch
            if max(batch.requests, batch.changes) < BATCH:
                return removed

    async def _batch(self, project: str, expiry: Expiry) -> Removed:
        async with self._ledger.write(project) as session:
            if not await session.work.take_upkeep():
                return Removed()
            requests = await session.requests.purge(expiry.requests, limit=BATCH)
            changes = 0
            if expiry.changes is not None:
                changes = await session.change_log.prune(expiry.changes, limit=BATCH)
        return Removed(requests, changes)

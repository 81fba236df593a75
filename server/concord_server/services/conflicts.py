"""Reading conflicts."""

from __future__ import annotations

from uuid import UUID

from concord_server.domain.errors import ConflictNotFoundError
from concord_server.domain.model import Conflict
from concord_server.domain.queries import ConflictFilter, ConflictSummary, Cursor, FactOrder, Page
from concord_server.ports.ledger import Ledger
from concord_server.services.context import CallContext


class GetConflict:
    """Reads one conflict."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(self, context: CallContext, conflict_id: UUID) -> Conflict:
        """Returns the conflict with its facts.

        Raises:
            ConflictNotFoundError: no such conflict in the project.
        """
        async with self._ledger.read(context.project) as session:
            conflict = await session.conflicts.get(conflict_id)
        if conflict is None:
            raise ConflictNotFoundError(str(conflict_id))
        return conflict


class ListConflicts:
    """Lists conflicts."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(
        self, context: CallContext, where: ConflictFilter, order: FactOrder, after: Cursor | None, size: int
    ) -> tuple[Page[Conflict], ConflictSummary]:
        """Returns a page of conflicts by the time that they opened, and how many are open since when."""
        async with self._ledger.read(context.project) as session:
            return await session.conflicts.list(where, after=after, size=size, oldest_first=not order.descending)

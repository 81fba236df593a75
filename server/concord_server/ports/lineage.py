"""The ports behind which lineage and history are read."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from concord_server.domain.lineage import FamilyPage
from concord_server.domain.model import Fact, FactVersion
from concord_server.domain.queries import Cursor, Page


class LineageRepository(Protocol):
    """The family graph. Every method is one round trip, and ends also where the graph has a cycle."""

    async def chain(self, fact_id: UUID) -> list[Fact]:
        """Returns the line from the root to the fact, root first; of several parents it follows the first-listed.

        Empty for an unknown fact. Where the line runs into a cycle, the fact before it would repeat is the root.
        """

    async def latest(self, fact_id: UUID) -> Fact | None:
        """Returns the end of the way from the fact downwards, ``None`` for an unknown fact.

        At each step the way goes to the child of highest confidence (then newest, then id) among those that are
        :data:`~concord_server.domain.lineage.STEPPABLE`.
        """

    async def family(self, fact_id: UUID, *, after: UUID | None, size: int) -> FamilyPage:
        """Returns a page of the fact's family: its ancestors up to the roots, and all that descends from them.

        Breadth-first: the roots first, then their children, root by root; siblings by creation, then id. What no
        root leads to, on a graph with a cycle, comes last, by creation, then id.

        Args:
            fact_id: any member.
            after: the last fact of the page before, ``None`` for the first page.
            size: how many facts.
        """


class HistoryRepository(Protocol):
    """Recorded states of facts."""

    async def versions(self, fact_id: UUID, *, after: Cursor | None, size: int) -> Page[FactVersion]:
        """Returns a page of a fact's recorded states, oldest first; ``total`` is 0 for an unknown fact.

        Raises:
            InvalidPageTokenError: ``after`` is not a position in this list.
        """

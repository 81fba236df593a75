"""The port behind which facts are found by meaning and by words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from concord_server.domain.model import Fact
from concord_server.domain.queries import CurrentRead, FactFilter
from concord_server.domain.search import SearchHit
from concord_server.ports.embedder import Vector


class SearchRepository(Protocol):
    """Finds facts. Erased ones are never found."""

    async def words(self, query: str) -> list[str]:
        """Returns the words of a query as they are looked for, each once; ones that say nothing are left out."""

    async def hits(
        self,
        where: FactFilter,
        current: CurrentRead | None,
        *,
        vector: Vector | None,
        words: Sequence[str],
        depth: int,
    ) -> list[SearchHit]:
        """Returns the facts that are nearest to a vector, and those that match words best.

        The filter is applied first: only what passes it is ranked. Where few facts pass, both rankings are exact;
        else the nearest are found by an index that may miss some, and frequent words count only together.

        Args:
            where: which facts; with ``known_at``, as they were recorded then (but by their wording of today).
            current: leaves out what does not hold; ``None`` leaves that to ``where``.
            vector: embedding of the query, ``None`` to find by words alone.
            words: of :meth:`words`; a fact matches when it has one of them.
            depth: how many of each ranking.
        """

    async def recorded(self, fact_ids: Sequence[UUID], known_at: datetime | None) -> list[Fact]:
        """Returns the facts in the order asked for, as they are, or as they were recorded then.

        Facts that are erased by now are left out.
        """

    async def of_slots(self, slot_keys: Sequence[str], where: FactFilter) -> list[Fact]:
        """Returns the facts on slots of these keys, in every partition that passes the filter, by id."""

"""The port behind which facts are ranked and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from concord_server.domain.confidence import SourceStatistics
from concord_server.domain.enums import FactStatus, FactType
from concord_server.domain.model import Fact, FactVersion
from concord_server.domain.queries import CurrentRead, Cursor, FactFilter, Page


@dataclass(frozen=True, slots=True)
class FactCounts:
    """How many facts pass a filter, by type and by status; zero counts are absent."""

    by_type: Mapping[FactType, int]
    by_status: Mapping[FactStatus, int]

    @property
    def total(self) -> int:
        """Number of facts."""
        return sum(self.by_status.values())


class BriefingRepository(Protocol):
    """Ranks facts by noteworthiness, and counts them."""

    async def ranked(
        self,
        where: FactFilter,
        current: CurrentRead | None,
        *,
        now: datetime,
        after: Cursor | None,
        size: int,
        active_first: bool = True,
    ) -> tuple[Page[Fact], datetime]:
        """Returns a page of facts by noteworthiness, then id, and the time that the ranking is as of.

        Later pages rank as of the first one's ``now``, so that time passing moves nothing between pages.

        Args:
            active_first: whether ACTIVE facts come before all others.
        """

    async def counts(self, where: FactFilter) -> FactCounts:
        """Returns how many facts pass a filter."""

    async def latest_changes(self, where: FactFilter, since: datetime, size: int) -> Sequence[FactVersion]:
        """Returns the facts that changed last, each by its newest version (as of ``known_at``), newest first."""

    async def source_statistics(self, fact_ids: Sequence[UUID]) -> Mapping[UUID, SourceStatistics]:
        """Returns what confidence needs of the sources of each fact; facts without sources are absent."""

"""The port behind which sources are found and removed across facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from concord_server.domain.model import Partition


@dataclass(frozen=True, slots=True)
class SourceName:
    """What a caller knows a source by: exactly one of the two is not empty."""

    external_id: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class SourceUse:
    """A source under one fact; ``slot_id`` is the timeline that the fact is on."""

    source_id: UUID
    fact_id: UUID
    slot_id: UUID


class SourceRepository(Protocol):
    """Sources across facts."""

    async def partitions(self, source: SourceName) -> dict[UUID, Partition]:
        """Returns the partitions with facts that rest on the source, by id."""

    async def uses(self, source: SourceName, partition_id: UUID) -> list[SourceUse]:
        """Returns where the source is used within a partition, by slot and fact."""

    async def remove(self, source_ids: Sequence[UUID]) -> None:
        """Removes sources with their evidence; what was stated by them no longer names a source."""

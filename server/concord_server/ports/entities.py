"""The port behind which entities are known by their facts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from concord_server.domain.entities import EntityOrder, EntitySummary
from concord_server.domain.model import EntityRef, Fact, Partition
from concord_server.domain.queries import Cursor, Page

EntityKey = tuple[str, str]
"""Type and id of an entity."""


@dataclass(frozen=True, slots=True)
class MergedSlot:
    """A slot that moves to another partition as it is.

    Attributes:
        slot_id: the slot, or line of statements without a claim.
        partition_id: where it goes.
        slot_key: its key there; ``None`` for a line.
        subject: the subject of its claims there; ``None`` for a line.
    """

    slot_id: UUID
    partition_id: UUID
    slot_key: str | None = None
    subject: str | None = None


class EntityRepository(Protocol):
    """Entities: which there are, and which of them are one."""

    async def resolve(self, entities: Collection[EntityKey]) -> Mapping[EntityKey, str]:
        """Returns, for each entity that was merged into another, the id of that one."""

    async def hold(self, entities: Collection[EntityKey]) -> Mapping[EntityKey, str]:
        """Does as :meth:`resolve`, and keeps entities from being merged until the session ends.

        Write sessions only, before partitions are locked.
        """

    async def hold_all(self) -> None:
        """Keeps every other session from writing about entities until this one ends, and waits for those that do.

        Write sessions only, before partitions are locked.
        """

    async def list(
        self, entity_type: str, order: EntityOrder, *, after: Cursor | None, size: int
    ) -> Page[EntitySummary]:
        """Returns a page of the entities of a type, of all types where it is empty."""

    def partition_id(self, partition: Partition) -> UUID:
        """Returns the id that a partition has, also before its first use."""

    async def partitions_of(self, entity: EntityRef) -> Sequence[Partition]:
        """Returns the partitions with a fact that is owned by or linked to the entity, erased facts included."""

    async def facts_of(self, entity: EntityRef) -> Sequence[Fact]:
        """Returns the facts owned by or linked to this very id, erased ones left out, by id."""

    async def add_alias(self, entity: EntityRef, into_id: str, now: datetime) -> None:
        """Makes an id, and all that were merged into it, resolve to another."""

    async def move_slot(self, slot: MergedSlot) -> None:
        """Moves a slot or line, with its assertions and conflicts."""

    async def drop_slot(self, slot_id: UUID) -> None:
        """Forgets a slot whose facts are on another one now."""

    async def move_search(self, fact_ids: Sequence[UUID], partition_id: UUID) -> None:
        """Lets facts be found in another partition."""

    async def align(self, partition_ids: Sequence[UUID], moment: datetime) -> None:
        """Lets nothing more be recorded in these locked partitions before ``moment``."""

"""Partitions, their revisions and their locks."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import func, literal, select
from sqlalchemy.dialects.postgresql import insert

from concord_server.domain.enums import FactType
from concord_server.domain.model import Partition
from concord_server.ports.ledger import LockedPartition, PartitionState
from concord_server.storage.fact_tables import facts
from concord_server.storage.statements import SessionContext
from concord_server.storage.tables import partitions

_TICK = timedelta(microseconds=1)


class PostgresPartitions:
    """Implements :class:`~concord_server.ports.ledger.PartitionRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._locked: dict[Partition, LockedPartition] = {}

    async def find(self, partition: Partition) -> PartitionState | None:
        """Returns the partition's state, ``None`` when nothing was ever written to it."""
        query = select(partitions.c.partition_id, partitions.c.revision).where(
            partitions.c.project_id == self._context.project,
            partitions.c.partition_id == partition_id_of(partition),
        )
        row = await self._context.statements.first(query)
        return PartitionState(row.partition_id, row.revision) if row else None

    async def of_fact(self, fact_id: UUID) -> tuple[UUID, Partition] | None:
        """Returns the partition of a fact, whatever its status; ``None`` for an unknown one."""
        columns = ("partition_id", "access_scope", "domain", "type", "owner_type", "owner_id")
        query = select(*(facts.c[name] for name in columns)).where(
            facts.c.project_id == self._context.project, facts.c.fact_id == fact_id
        )
        row = await self._context.statements.first(query)
        if row is None:
            return None
        return row.partition_id, Partition(
            row.access_scope, row.domain, FactType(row.type), row.owner_type, row.owner_id
        )

    async def lock(self, partition: Partition, now: datetime) -> LockedPartition:
        """Locks the partition until the session ends, making its row at first use.

        The update of the row is the lock: whoever comes second waits for it, and then sees the first one's
        revision. Locking again within a session gives the same.
        """
        if partition in self._locked:
            return self._locked[partition]
        statement = insert(partitions).values(
            project_id=self._context.project,
            partition_id=partition_id_of(partition),
            access_scope=partition.access_scope,
            domain=partition.domain,
            type=partition.type.value,
            owner_type=partition.owner_type,
            owner_id=partition.owner_id,
            revision=1,
            recorded_time=now,
        )
        taken = statement.on_conflict_do_update(
            index_elements=["project_id", "partition_id"],
            set_={
                "revision": partitions.c.revision + 1,
                "recorded_time": func.greatest(
                    statement.excluded.recorded_time, partitions.c.recorded_time + literal(_TICK)
                ),
            },
        ).returning(partitions.c.partition_id, partitions.c.revision, partitions.c.recorded_time)
        row = (await self._context.statements.execute(taken)).one()
        locked = LockedPartition(row.partition_id, partition, row.revision, row.recorded_time)
        self._locked[partition] = locked
        return locked


def partition_id_of(partition: Partition) -> UUID:
    """Returns the partition's id, which follows from its fields: so it is unique to them, and known before use.

    The fields themselves may be longer than an index can hold.
    """
    fields = [
        partition.access_scope,
        partition.domain,
        partition.type.value,
        partition.owner_type,
        partition.owner_id,
    ]
    digest = hashlib.sha256(json.dumps(fields, ensure_ascii=False).encode()).digest()
    number = int.from_bytes(digest[:16])
    number = number & ~(0xF << 76) | 0x8 << 76  # version 8: made from data of one's own
    number = number & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=number)

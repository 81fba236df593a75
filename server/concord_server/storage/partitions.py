"""Partitions, their revisions and their locks."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Executable, Row, bindparam, func, literal, select
from sqlalchemy.dialects.postgresql import insert

from concord_server.domain.enums import FactType
from concord_server.domain.model import Partition
from concord_server.ports.ledger import LockedPartition, PartitionState
from concord_server.storage.fact_tables import facts
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import partitions

_FIELDS = ("access_scope", "domain", "type", "owner_type", "owner_id")
_TICK = timedelta(microseconds=1)

_FIND = select(partitions.c.partition_id, partitions.c.revision).where(
    partitions.c.project_id == PROJECT, partitions.c.partition_id == bindparam("partition")
)
_OF_FACT = select(facts.c.partition_id, *(facts.c[name] for name in _FIELDS)).where(
    facts.c.project_id == PROJECT, facts.c.fact_id == bindparam("fact")
)


def _lock() -> Executable:
    inserted = insert(partitions)
    later = func.greatest(inserted.excluded.recorded_time, partitions.c.recorded_time + literal(_TICK))
    return inserted.on_conflict_do_update(
        index_elements=["project_id", "partition_id"],
        set_={"revision": partitions.c.revision + 1, "recorded_time": later},
    ).returning(partitions.c.partition_id, partitions.c.revision, partitions.c.recorded_time)


_LOCK = _lock()


class PostgresPartitions:
    """Implements :class:`~concord_server.ports.ledger.PartitionRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._locked: dict[Partition, LockedPartition] = {}

    async def find(self, partition: Partition) -> PartitionState | None:
        """Returns the partition's state, ``None`` when nothing was ever written to it."""
        parameters = {"project": self._context.project, "partition": partition_id_of(partition)}
        row = await self._context.statements.first(_FIND, parameters)
        return PartitionState(row.partition_id, row.revision) if row else None

    async def of_fact(self, fact_id: UUID) -> tuple[UUID, Partition] | None:
        """Returns the partition of a fact, whatever its status; ``None`` for an unknown one."""
        parameters = {"project": self._context.project, "fact": fact_id}
        row = await self._context.statements.first(_OF_FACT, parameters)
        return (row.partition_id, partition_from_row(row)) if row else None

    async def lock(self, partition: Partition, now: datetime) -> LockedPartition:
        """Locks the partition until the session ends, making its row at first use.

        The update of the row is the lock: whoever comes second waits for it, and then sees the first one's
        revision. Locking again within a session gives the same.
        """
        if partition in self._locked:
            return self._locked[partition]
        values = {
            "project_id": self._context.project,
            "partition_id": partition_id_of(partition),
            "access_scope": partition.access_scope,
            "domain": partition.domain,
            "type": partition.type.value,
            "owner_type": partition.owner_type,
            "owner_id": partition.owner_id,
            "revision": 1,
            "recorded_time": now,
        }
        row = (await self._context.statements.execute(_LOCK, values)).one()
        locked = LockedPartition(row.partition_id, partition, row.revision, row.recorded_time)
        self._locked[partition] = locked
        return locked


def partition_from_row(row: Row[Any]) -> Partition:
    """Returns the partition of a row that has its five fields."""
    return Partition(row.access_scope, row.domain, FactType(row.type), row.owner_type, row.owner_id)


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

"""Locking the partition of a fact that a call names."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from concord_server.domain.errors import ConcurrentUpdateError, FactNotFoundError
from concord_server.domain.model import Fact
from concord_server.ports.ledger import LockedPartition, WriteSession


async def lock_fact(session: WriteSession, fact_id: UUID, now: datetime) -> tuple[LockedPartition, Fact]:
    """Locks the partition of a fact, and returns it with the fact as it is then.

    Raises:
        FactNotFoundError: no such fact in the project.
        ConcurrentUpdateError: the fact was moved to another partition meanwhile.
    """
    found = await session.partitions.of_fact(fact_id)
    if found is None:
        raise FactNotFoundError(str(fact_id))
    locked = await session.partitions.lock(found[1], now)
    fact = await session.facts.get(fact_id)
    if fact is None:
        raise FactNotFoundError(str(fact_id))
    if fact.partition != locked.partition:
        raise ConcurrentUpdateError("the fact was moved meanwhile; send the call again")
    return locked, fact

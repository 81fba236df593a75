"""Groups of facts as workers take them: leases, batches, what is recalled, and what is marked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Executable, delete, select

from concord_server.domain.consolidation import MAX_ATTEMPTS, setback
from concord_server.domain.enums import EventState
from concord_server.domain.errors import LeaseLostError
from concord_server.domain.events import Failure
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.observations import Observation, basis_of, group_of, is_observable
from concord_server.domain.runs import ObserveProgress, RunScope
from concord_server.ports.embedder import Vector
from concord_server.ports.observations import GroupLease, Near, ObservationWrite, Recalled, Told
from concord_server.storage import observation_writing as writing
from concord_server.storage import observe_statements as sql
from concord_server.storage.fact_tables import facts as facts_table
from concord_server.storage.facts import PostgresFacts
from concord_server.storage.observation_rows import group_from_row, observation_from_row
from concord_server.storage.observation_tables import MarkerState, observation_markers
from concord_server.storage.observations import PostgresObservations
from concord_server.storage.observe_stage import ObserveStage
from concord_server.storage.statements import SessionContext

_LOOKAHEAD = 32
"""How many facts are looked at to find a batch of those that can still be considered."""


class PostgresObserving:
    """Implements :class:`~concord_server.ports.observations.ObserveRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._facts = PostgresFacts(context)
        self._observations = PostgresObservations(context)

    async def take(self, run_id: UUID, lease_id: UUID, lease: timedelta) -> GroupLease | None:
        """Takes the group that waits for longest, of those that are free and have facts before the run."""
        row = (await self._execute(sql.TAKE, run=run_id, lease_id=lease_id, lease=lease)).one_or_none()
        return GroupLease(run_id, group_from_row(row), lease_id) if row else None

    async def release(self, lease: GroupLease) -> None:
        """Lets the group go."""
        await self._execute(sql.RELEASE, **_kept(lease))

    async def extend(self, lease_ids: Sequence[UUID], lease: timedelta) -> None:
        """Keeps the leases that were not lost for this long from now."""
        await self._execute(sql.EXTEND, lease_ids=list(lease_ids), lease=lease)

    async def batch(self, lease: GroupLease, size: int) -> list[Fact]:
        """Returns the next facts of the group, oldest first; drops those that changed so that none can be formed."""
        group_id = lease.group.group_id
        while True:
            rows = (await self._execute(sql.NEXT_FACTS, run=lease.run_id, group=group_id, size=_LOOKAHEAD)).all()
            ids = [row.fact_id for row in rows]
            known = await self._facts.get_many(ids)
            usable = [f for f in known if is_observable(f) and group_of(f).group_id == group_id]
            kept = {fact.fact_id for fact in usable}
            gone = [fact_id for fact_id in ids if fact_id not in kept]
            if gone:
                await self._execute(sql.DROP, run=lease.run_id, facts=gone)
            if usable or not ids:
                return usable[:size]

    async def recall(self, lease: GroupLease, batch: Sequence[Fact]) -> Recalled:
        """Returns what is known beside a batch."""
        ids = [fact.fact_id for fact in batch]
        group = lease.group.group_id
        rows = (await self._execute(sql.RECALL_OBSERVATIONS, group=group, facts=ids)).all()
        observations = [observation_from_row(row) for row in rows]
        near = [row.fact_id for row in (await self._execute(sql.RECALL_FACTS, group=group, facts=ids)).all()]
        newest = [s.fact_id for each in observations for s in each.support[-sql.SHOWN_SOURCES :]]
        known = [each.observation_id for each in observations]
        wordings = [row.fact_id for row in (await self._execute(sql.WORDED_BY, ids=known)).all()]
        others = dict.fromkeys(fact_id for fact_id in (*near, *newest, *wordings) if fact_id not in ids)
        earlier = await self._facts.get_many(list(others))
        earlier = [fact for fact in earlier if is_observable(fact)]
        every = [*ids, *(fact.fact_id for fact in earlier)]
        vectors = (await self._execute(sql.VECTORS, facts=every)).all()
        origins = (await self._execute(sql.ORIGINS, facts=every)).all()
        return Recalled(
            observations=observations,
            facts=earlier,
            vectors={row.fact_id: row.embedding for row in vectors},
            origins={row.fact_id: frozenset(bytes(each) for each in row.digests) for row in origins},
        )

    async def near(self, lease: GroupLease, vectors: Sequence[Vector], min_similarity: float) -> list[Near]:
        """Returns the group's observations near each of some wordings."""
        if not vectors:
            return []
        given = ["[" + ",".join(map(repr, vector.tolist())) + "]" for vector in vectors]
        group = lease.group.group_id
        rows = (await self._execute(sql.NEAR, vectors=given, group=group, min_similarity=min_similarity)).all()
        found = await self._observations.get_many(list({row.observation_id for row in rows}))
        by_id = {each.observation_id: each for each in found}
        return [Near(row.position - 1, by_id[row.observation_id], row.similarity) for row in rows]

    async def hold(self, lease: GroupLease) -> None:
        """Makes sure that the group is this worker's until the session ends; write sessions only, first of all.

        Raises:
            LeaseLostError: somebody else has the group.
        """
        if (await self._execute(sql.HOLD, **_kept(lease))).one_or_none() is None:
            raise LeaseLostError(f"group {lease.group.group_id} was taken by another worker")

    async def lock(self, observation_ids: Sequence[UUID]) -> list[Observation]:
        """Locks observations, in the order of their ids, and returns them as they are then."""
        if not observation_ids:
            return []
        await self._execute(sql.LOCK_OBSERVATIONS, ids=list(observation_ids))
        return await self._observations.get_many(observation_ids)

    async def save(self, lease: GroupLease, writes: Sequence[ObservationWrite], now: datetime) -> None:
        """Stores new states of observations. Version 1 is a new one."""
        for write in writes:
            await writing.save(self._context, write, now, group_id=lease.group.group_id, run_id=lease.run_id)

    async def consider(self, lease: GroupLease, facts: Sequence[Fact], now: datetime) -> None:
        """Marks facts as considered."""
        rows = [self._marker(lease, fact, now) for fact in facts]
        if rows:
            await self._context.statements.execute(writing.MARK, rows)

    async def fail(self, lease: GroupLease, fact: Fact, failure: Failure, now: datetime) -> None:
        """Marks one fact as failed, once more; it is taken up by later runs after a rest, five times at most."""
        marker = observation_markers.c
        before = select(marker.attempts).where(
            marker.project_id == self._context.project,
            marker.fact_id == fact.fact_id,
            marker.group_id == lease.group.group_id,
            marker.state == MarkerState.FAILED.value,
        )
        attempts = ((await self._context.statements.execute(before)).scalar() or 0) + 1
        row = self._marker(lease, fact, now) | {
            "state": MarkerState.FAILED.value,
            "attempts": attempts,
            "error_reason": failure.reason,
            "error_message": failure.message,
            "retry_time": setback(attempts, now).retry_time,
        }
        await self._context.statements.execute(writing.MARK, [row])

    async def settle(
        self,
        lease: GroupLease,
        facts: Sequence[Fact],
        told: Sequence[Told],
        progress: ObserveProgress,
        now: datetime,
    ) -> None:
        """Takes facts off every run, counts them, and lets the run tell of it; last of all."""
        await self._execute(sql.SETTLED, facts=[fact.fact_id for fact in facts])
        await writing.tell(self._context, lease.run_id, told, progress, now)

    async def waiting(self, scope: RunScope) -> int:
        """Returns how many facts are pending within a scope."""
        return await ObserveStage(self._context).count(scope)

    async def retry(self, states: Sequence[EventState], subject: EntityRef | None) -> int:
        """Makes failed facts pending again, their attempts forgotten, and returns how many."""
        marker = observation_markers.c
        conditions = [
            marker.project_id == self._context.project,
            marker.state == MarkerState.FAILED.value,
        ]
        named = set(states) or {EventState.FAILED, EventState.DEAD}
        if named == {EventState.FAILED}:
            conditions.append(marker.attempts < MAX_ATTEMPTS)
        elif named == {EventState.DEAD}:
            conditions.append(marker.attempts >= MAX_ATTEMPTS)
        if subject is not None:
            owned = select(facts_table.c.fact_id).where(
                facts_table.c.project_id == self._context.project,
                facts_table.c.owner_type == subject.entity_type,
                facts_table.c.owner_id == subject.entity_id,
            )
            conditions.append(marker.fact_id.in_(owned))
        return (await self._context.statements.execute(delete(observation_markers).where(*conditions))).rowcount

    def _marker(self, lease: GroupLease, fact: Fact, now: datetime) -> dict[str, Any]:
        return {
            "project_id": self._context.project,
            "fact_id": fact.fact_id,
            "group_id": lease.group.group_id,
            "state": MarkerState.CONSIDERED.value,
            "basis": basis_of(fact),
            "attempts": 0,
            "error_reason": "",
            "error_message": "",
            "retry_time": None,
            "update_time": now,
        }

    async def _execute(self, statement: Executable, **parameters: object) -> Any:  # noqa: ANN401 - a result of rows
        return await self._context.statements.execute(statement, {"project": self._context.project, **parameters})


def _kept(lease: GroupLease) -> dict[str, Any]:
    return {"group": lease.group.group_id, "lease_id": lease.lease_id}

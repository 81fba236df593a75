"""Resolving a conflict by hand."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from concord_server.domain.cardinality import parts_without
from concord_server.domain.commands import KeepAll, KeepOne, Resolution
from concord_server.domain.conflicts import ConflictReview
from concord_server.domain.enums import Cardinality, ConflictState, FactChange
from concord_server.domain.errors import (
    ConcurrentUpdateError,
    ConflictAlreadyResolvedError,
    ConflictNotFoundError,
    FactNotFoundError,
    FactNotInConflictError,
    SlotOccupiedError,
)
from concord_server.domain.model import Conflict, Fact
from concord_server.domain.resolution import keeping_none, keeping_one, standing_alone
from concord_server.domain.settlement import Timeline, settle
from concord_server.domain.values import slot_key
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.ledger import Ledger, LockedPartition, WriteSession
from concord_server.services import idempotency as repeats
from concord_server.services.change_cardinality import CardinalityChange
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.statuses import check_etag
from concord_server.services.timeline_writer import TimelineChange, TimelineWriter

_NO_CONFLICT = ConflictReview(opens=False, members=(), ends=False)


class ResolveConflict:
    """Keeps one, none or all of the facts of a conflict."""

    def __init__(self, ledger: Ledger, clock: Clock, ids: Ids) -> None:
        self._ledger = ledger
        self._clock = clock
        self._ids = ids
        self._writer = TimelineWriter(ids)

    async def execute(
        self,
        context: CallContext,
        conflict_id: UUID,
        resolution: Resolution,
        note: str,
        etag: str = "",
        idempotency: Idempotency[Conflict] | None = None,
    ) -> Conflict | Replay:
        """Returns the conflict as it is afterwards.

        Raises:
            ConflictNotFoundError: no such conflict.
            ConflictAlreadyResolvedError: it was resolved before.
            FactNotFoundError: the fact to keep does not exist.
            FactNotInConflictError: it is not a member.
            SlotOccupiedError: all were to be kept where only one value may hold.
            EtagMismatchError: the conflict changed since the caller read it.
            ConcurrentUpdateError: an entity that it is about was merged meanwhile.
        """
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        now = self._clock.now()
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            partition = await session.conflicts.of_conflict(conflict_id)
            if partition is None:
                raise ConflictNotFoundError(str(conflict_id))
            locked = await session.partitions.lock(partition, now)
            if await session.conflicts.of_conflict(conflict_id) != partition:
                raise ConcurrentUpdateError("the conflict moved to another entity meanwhile; send the call again")
            conflict = await self._checked(session, conflict_id, resolution, etag)
            await self._resolve(session, locked, context, conflict, resolution, note, now)
            resolved = await session.conflicts.get(conflict_id)
            if resolved is None:
                raise ConflictNotFoundError(str(conflict_id))
            await repeats.complete(session, idempotency, resolved, [f.fact_id for f in resolved.facts])
            return resolved

    async def _checked(
        self, session: WriteSession, conflict_id: UUID, resolution: Resolution, etag: str
    ) -> Conflict:
        conflict = await session.conflicts.get(conflict_id)
        if conflict is None:
            raise ConflictNotFoundError(str(conflict_id))
        if isinstance(resolution, KeepOne) and await session.facts.get(resolution.fact_id) is None:
            raise FactNotFoundError(str(resolution.fact_id))
        if conflict.state is ConflictState.RESOLVED:
            raise ConflictAlreadyResolvedError(f"conflict {conflict_id} is resolved already")
        check_etag(etag, conflict.etag)
        members = {fact.fact_id for fact in conflict.facts}
        if isinstance(resolution, KeepOne) and resolution.fact_id not in members:
            raise FactNotInConflictError(f"fact {resolution.fact_id} is not in conflict {conflict_id}")
        return conflict

    async def _resolve(
        self,
        session: WriteSession,
        locked: LockedPartition,
        context: CallContext,
        conflict: Conflict,
        resolution: Resolution,
        note: str,
        now: datetime,
    ) -> None:
        before = await session.slots.timeline(conflict.slot_id)
        kept: UUID | None = None
        if isinstance(resolution, KeepAll):
            await self._keep_all(session, locked, context, conflict, before, note, now)
        else:
            if isinstance(resolution, KeepOne):
                kept = resolution.fact_id
                timeline = keeping_one(before, conflict.facts, kept, self._ids.new())
            else:
                timeline = keeping_none(before, conflict.facts)
            after = settle(timeline, now, self._ids.new)
            if kept is not None:
                kept = after.state(kept).joined_into or kept
            drafts = {f.fact_id: f for f in timeline.facts if f != before.fact(f.fact_id)}
            await self._writer.write(
                session,
                locked,
                TimelineChange(
                    before=before,
                    after=after,
                    review=_NO_CONFLICT,
                    actor=context.actor,
                    reason=note or "conflict resolved",
                    drafts=drafts,
                ),
            )
        await session.conflicts.resolve(conflict.conflict_id, kept=kept, note=note, now=locked.recorded_time)

    async def _keep_all(
        self,
        session: WriteSession,
        locked: LockedPartition,
        context: CallContext,
        conflict: Conflict,
        before: Timeline,
        note: str,
        now: datetime,
    ) -> None:
        """Gives every member a slot of its own, as slots of several values have them, and then what else is there."""
        moved: dict[UUID, Timeline] = {}
        for fact in conflict.facts:
            slot_id = await self._value_slot(session, locked, fact)
            moved[slot_id] = standing_alone(before, fact, slot_id)
        for slot_id, timeline in moved.items():
            after = settle(timeline, now, self._ids.new)
            await self._writer.write(
                session,
                locked,
                TimelineChange(
                    before=Timeline(slot_id),
                    after=after,
                    review=_NO_CONFLICT,
                    actor=context.actor,
                    reason=note or "all values kept",
                    drafts={f.fact_id: f for f in timeline.facts},
                    changes={f.fact_id: FactChange.STATUS_CHANGED for f in timeline.facts},
                ),
            )
        await self._spread_rest(session, locked, context, conflict, before, note, now)

    async def _spread_rest(
        self,
        session: WriteSession,
        locked: LockedPartition,
        context: CallContext,
        conflict: Conflict,
        before: Timeline,
        note: str,
        now: datetime,
    ) -> None:
        """Gives every other value of the slot one of its own: what was superseded there stays so."""
        names = {fact.claim.predicate for fact in conflict.facts if fact.claim}
        found = [slot for slot in await session.predicates.slots_of(names) if slot.slot_id == conflict.slot_id]
        rest = parts_without(before, {fact.fact_id for fact in conflict.facts})
        change = CardinalityChange(
            session, {locked.partition_id: locked}, self._ids, context.actor, note or "all values kept", now
        )
        for slot in found:
            await change.spread(slot, rest)

    async def _value_slot(self, session: WriteSession, locked: LockedPartition, fact: Fact) -> UUID:
        claim = fact.claim
        cardinality = await session.slots.cardinality(claim.predicate) if claim else None
        if claim is None or cardinality is not Cardinality.MULTI:
            raise SlotOccupiedError("all can be kept only where the predicate is MULTI; make it so first")
        key = slot_key(claim.subject, claim.predicate, claim.qualifiers, discriminator=fact.value_key)
        found = await session.slots.find(locked.partition_id, key)
        if found is not None:
            raise SlotOccupiedError(f"the value of fact {fact.fact_id} is known as another fact; keep one")
        slot_id = self._ids.new()
        await session.slots.create(
            locked.partition_id,
            key,
            slot_id,
            subject=claim.subject,
            predicate=claim.predicate,
            qualifiers=claim.qualifiers,
        )
        return slot_id

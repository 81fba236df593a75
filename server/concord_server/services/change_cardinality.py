"""Giving the slots of a predicate the form of another cardinality, under the locks of their partitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.cardinality import split_by_value
from concord_server.domain.entity_merge import join
from concord_server.domain.enums import Cardinality, FactStatus
from concord_server.domain.errors import ConcurrentUpdateError
from concord_server.domain.model import Fact
from concord_server.domain.settlement import Timeline, settle
from concord_server.domain.values import canonical, normalise_subject, slot_key
from concord_server.ports.clock import Ids
from concord_server.ports.entities import MergedSlot
from concord_server.ports.ledger import LockedPartition, WriteSession
from concord_server.ports.predicates import PredicateSlot
from concord_server.services.moving import moving_change
from concord_server.services.timeline_writer import TimelineWriter


async def hold_predicates(
    session: WriteSession, names: Collection[str], now: datetime
) -> dict[UUID, LockedPartition]:
    """Locks predicates with every partition that uses them, and returns the partitions by id.

    In the order in which writers take them: partitions by id, then predicates.

    Raises:
        ConcurrentUpdateError: another partition began to use one of them meanwhile.
    """
    partitions = await session.predicates.partitions_of(names)
    ordered = sorted(partitions, key=session.entities.partition_id)
    locked = [await session.partitions.lock(partition, now) for partition in ordered]
    await session.predicates.hold(names)
    if set(await session.predicates.partitions_of(names)) != set(partitions):
        raise ConcurrentUpdateError("a predicate came into use elsewhere meanwhile")
    return {one.partition_id: one for one in locked}


@dataclass(frozen=True, slots=True)
class CardinalityChange:
    """One change at work; the session holds the predicates.

    Attributes:
        partitions: those that use the predicates, locked.
        reason: recorded with every fact.
    """

    session: WriteSession
    partitions: Mapping[UUID, LockedPartition]
    ids: Ids
    actor: str
    reason: str
    now: datetime

    async def apply(self, names: Collection[str], cardinality: Cardinality) -> None:
        """Rewrites the slots of the predicates. Occurrences stay as they are: they never compete."""
        slots = await self.session.predicates.slots_of(names)
        if cardinality is Cardinality.MULTI:
            for slot in slots:
                await self._split(slot)
            return
        groups: dict[str, list[PredicateSlot]] = {}
        for slot in slots:
            alike = [normalise_subject(slot.subject), slot.predicate, canonical(dict(slot.qualifiers))]
            groups.setdefault(f"{slot.partition_id} {alike}", []).append(slot)
        for group in groups.values():
            await self._join(group)

    async def _split(self, slot: PredicateSlot) -> None:
        """Gives every value of a slot a slot of its own. An open conflict is for a person to resolve first."""
        if slot.slot_key != slot_key(slot.subject, slot.predicate, slot.qualifiers):
            return
        timeline = await self.session.slots.timeline(slot.slot_id)
        if timeline.conflict_id is None:
            await self.spread(slot, split_by_value(timeline))

    async def spread(self, slot: PredicateSlot, parts: Mapping[str, Timeline]) -> None:
        """Gives each part of a slot, by its value's key, the slot of that value; the old one is forgotten."""
        for key, part in parts.items():
            name = slot_key(slot.subject, slot.predicate, slot.qualifiers, discriminator=key)
            known = await self.session.slots.find(slot.partition_id, name)
            if known is not None:
                await self._move(slot, part, await self.session.slots.timeline(known), Cardinality.MULTI)
                continue
            slot_id = self.ids.new()
            await self.session.slots.create(
                slot.partition_id,
                name,
                slot_id,
                subject=slot.subject,
                predicate=slot.predicate,
                qualifiers=slot.qualifiers,
            )
            await self._move(slot, part, Timeline(slot_id), Cardinality.MULTI)
        await self.session.entities.drop_slot(slot.slot_id)

    async def _join(self, group: Sequence[PredicateSlot]) -> None:
        """Makes one slot of those of one subject: what holds beside the incumbent challenges it."""
        found = [(slot, await self.session.slots.timeline(slot.slot_id)) for slot in group]
        slots = [pair for pair in found if pair[1].facts]
        for slot, timeline in found:
            if not timeline.facts:
                await self.session.entities.drop_slot(slot.slot_id)
        if not slots:
            return
        (slot, first), *others = sorted(slots, key=lambda pair: _standing(pair[1]))
        plain = slot_key(slot.subject, slot.predicate, slot.qualifiers)
        taken = next((other for other, _ in others if other.slot_key == plain), None)
        if taken is not None:  # its key goes to the one that stays
            await self.session.entities.drop_slot(taken.slot_id)
        await self.session.entities.move_slot(
            MergedSlot(slot.slot_id, slot.partition_id, slot_key=plain, subject=slot.subject)
        )
        await self._restate(slot, first)
        for other, timeline in others:
            staying = await self.session.slots.timeline(slot.slot_id)
            await self._move(other, timeline, staying, Cardinality.SINGLE)
            await self.session.entities.drop_slot(other.slot_id)

    async def _restate(self, slot: PredicateSlot, timeline: Timeline) -> None:
        """Writes the facts of the slot that stays, with their new cardinality and nothing else."""
        facts = _with_cardinality(timeline.facts, slot.slot_id, Cardinality.SINGLE)
        after = settle(replace(timeline, facts=facts), self.now, self.ids.new)
        change = moving_change(
            timeline, after, facts, contests=False, reviewed=timeline, actor=self.actor, reason=self.reason
        )
        await TimelineWriter(self.ids).write(self.session, self.partitions[slot.partition_id], change)

    async def _move(
        self, slot: PredicateSlot, moving: Timeline, staying: Timeline, cardinality: Cardinality
    ) -> None:
        """Moves facts to another slot, which may be empty."""
        locked = self.partitions[slot.partition_id]
        if moving.conflict_id is not None:
            await self.session.conflicts.resolve(
                moving.conflict_id, kept=None, note=self.reason, now=locked.recorded_time
            )
        facts = _with_cardinality(moving.facts, staying.slot_id, cardinality)
        joined = join(staying, replace(moving, facts=facts, conflict_id=None), self.now)
        after = settle(joined.timeline, self.now, self.ids.new)
        change = moving_change(
            staying,
            after,
            facts,
            contests=joined.contested,
            reviewed=staying,
            actor=self.actor,
            reason=self.reason,
        )
        await TimelineWriter(self.ids).write(self.session, locked, change)


def _with_cardinality(facts: Sequence[Fact], slot_id: UUID, cardinality: Cardinality) -> tuple[Fact, ...]:
    return tuple(
        replace(
            fact,
            slot_id=slot_id,
            claim=replace(fact.claim, cardinality=cardinality) if fact.claim else None,
            conflict_id=None,
        )
        for fact in facts
    )


def _standing(timeline: Timeline) -> tuple[bool, int, datetime, UUID]:
    """Orders timelines by their claim to be the incumbent: what holds now, most trusted, for the longest."""
    first = next((f for f in timeline.facts if f.status is FactStatus.ACTIVE), timeline.facts[0])
    return (first.status is not FactStatus.ACTIVE, -first.trust, first.valid_from, first.fact_id)

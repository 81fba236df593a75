"""Making one entity of two: links, ownership and claims move, and clashing claims become conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.commands import Violations, validate_entity_id, validate_entity_type
from concord_server.domain.entity_merge import join
from concord_server.domain.enums import LIVE_STATUSES, FactType, SubjectRole
from concord_server.domain.model import Conflict, EntityRef, Fact, Partition
from concord_server.domain.settlement import Timeline, settle
from concord_server.domain.values import normalise_subject, slot_key
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.entities import EntityKey, MergedSlot
from concord_server.ports.ledger import Ledger, LockedPartition, WriteSession
from concord_server.services import idempotency as repeats
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.entities import renamed_all, save_revision
from concord_server.services.moving import moving_change
from concord_server.services.timeline_writer import TimelineWriter, text_digest


@dataclass(frozen=True, slots=True)
class EntityMerge:
    """Which entities are one: ``from_id`` goes and keeps resolving, ``into_id`` stays."""

    entity_type: str
    from_id: str
    into_id: str
    reason: str = ""

    def validate(self, found: Violations) -> None:
        """Adds what is wrong with the ids."""
        validate_entity_type("entity_type", self.entity_type, found)
        validate_entity_id("from_id", self.from_id, found)
        validate_entity_id("into_id", self.into_id, found)
        if self.from_id and self.from_id == self.into_id:
            found.add("into_id", "must be another entity than from_id")


@dataclass(frozen=True, slots=True)
class MergeReceipt:
    """What a merge did.

    Attributes:
        moved_count: facts that were owned by or linked to the entity that went.
        conflicts: those that clashing claims opened or joined.
    """

    moved_count: int
    conflicts: tuple[Conflict, ...] = ()


@dataclass(slots=True)
class _Move:
    """One merge at work: what it is about, and what it has found so far.

    Attributes:
        targets: by its id, each locked partition of the entity that goes, and the one that its facts go to.
    """

    session: WriteSession
    source: EntityRef
    into_id: str
    actor: str
    reason: str
    now: datetime
    moment: datetime
    targets: dict[Partition, LockedPartition] = field(default_factory=dict)
    contested: list[UUID] = field(default_factory=list)

    @property
    def names(self) -> dict[EntityKey, str]:
        """The new id of the entity that goes."""
        return {(self.source.entity_type, self.source.entity_id): self.into_id}

    def partition(self, partition: Partition) -> Partition:
        """Returns where the facts of a partition go."""
        if (partition.owner_type, partition.owner_id) != (self.source.entity_type, self.source.entity_id):
            return partition
        return replace(partition, owner_id=self.into_id)

    def owns(self, fact: Fact) -> bool:
        """Whether the entity that goes owns the fact."""
        return self.partition(fact.partition) != fact.partition

    def renames(self, fact: Fact) -> bool:
        """Whether the fact's claim is about the entity that goes, by its id."""
        if fact.claim is None:
            return False
        about = replace(self.source, role=SubjectRole.SUBJECT) in fact.subjects or self.owns(fact)
        return about and normalise_subject(fact.claim.subject) == normalise_subject(self.source.entity_id)

    def moved(self, fact: Fact) -> Fact:
        """Returns a fact as it is about the entity that stays."""
        claim = fact.claim
        if claim is not None and self.renames(fact):
            claim = replace(claim, subject=self.into_id)
        return replace(
            fact,
            partition=self.partition(fact.partition),
            claim=claim,
            subjects=renamed_all(fact.subjects, self.names),
        )


class MergeEntities:
    """Makes one entity of two."""

    def __init__(self, ledger: Ledger, clock: Clock, ids: Ids) -> None:
        self._ledger = ledger
        self._clock = clock
        self._ids = ids
        self._writer = TimelineWriter(ids)

    async def execute(
        self, context: CallContext, merge: EntityMerge, idempotency: Idempotency[MergeReceipt] | None = None
    ) -> MergeReceipt | Replay:
        """Merges in one transaction. Entities that are one already are left as they are: nothing moves.

        Raises:
            InvalidFieldsError: an id is malformed, or both are the same.
            ConcurrentUpdateError: it lost to other writers; nothing was written.
        """
        found = Violations()
        merge.validate(found)
        found.raise_if_any()
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        now = self._clock.now()
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            await session.entities.hold_all()
            receipt = await self._merge(session, context, merge, now)
            carried = [fact.fact_id for conflict in receipt.conflicts for fact in conflict.facts]
            await repeats.complete(session, idempotency, receipt, carried)
            return receipt

    async def _merge(
        self, session: WriteSession, context: CallContext, merge: EntityMerge, now: datetime
    ) -> MergeReceipt:
        names = [(merge.entity_type, merge.from_id), (merge.entity_type, merge.into_id)]
        resolved = await session.entities.resolve(names)
        from_id, into_id = (resolved.get(name, name[1]) for name in names)
        if from_id == into_id:
            return MergeReceipt(0)
        source = EntityRef(merge.entity_type, from_id)
        reason = f"{merge.entity_type} {from_id} is {into_id}" + (f": {merge.reason}" if merge.reason else "")
        move = _Move(session, source, into_id, context.actor, reason, now, now)
        await self._lock(move)
        facts = await session.entities.facts_of(source)
        await session.entities.add_alias(source, into_id, now)
        for slot_id in dict.fromkeys(fact.slot_id for fact in facts):
            await self._move_slot(move, slot_id)
        conflicts = [await session.conflicts.get(conflict_id) for conflict_id in dict.fromkeys(move.contested)]
        return MergeReceipt(len(facts), tuple(conflict for conflict in conflicts if conflict is not None))

    async def _lock(self, move: _Move) -> None:
        """Locks every partition that the merge touches, in the order of their ids, and sets their clocks alike."""
        touched = await move.session.entities.partitions_of(move.source)
        goals = {move.partition(partition) for partition in touched}
        locked: dict[Partition, LockedPartition] = {}
        for partition in sorted({*touched, *goals}, key=move.session.entities.partition_id):
            locked[partition] = await move.session.partitions.lock(partition, move.now)
        if not locked:
            return
        # A fact's history must not run backwards because its new partition's clock is behind the old one's.
        move.moment = max(one.recorded_time for one in locked.values())
        await move.session.entities.align([one.partition_id for one in locked.values()], move.moment)
        for partition in touched:
            goal = locked[move.partition(partition)]
            move.targets[partition] = replace(goal, recorded_time=move.moment)

    async def _move_slot(self, move: _Move, slot_id: UUID) -> None:
        """Moves what a slot or line says about the entity that goes."""
        timeline = await move.session.slots.timeline(slot_id)
        locked = move.targets[timeline.facts[0].partition]
        moved = tuple(move.moved(fact) for fact in timeline.facts)
        if not any(move.owns(fact) or move.renames(fact) for fact in timeline.facts):
            await self._relink(move, timeline, moved, locked)
            return
        renamed = replace(timeline, facts=moved)
        goal = await self._goal(move, timeline, renamed, locked)
        if goal is None:
            await self._take_along(move, renamed, locked)
        else:
            await self._join(move, renamed, goal, locked)
        fact_ids = [fact.fact_id for fact in moved]
        await move.session.entities.move_search(fact_ids, locked.partition_id)

    async def _relink(
        self, move: _Move, timeline: Timeline, moved: Sequence[Fact], locked: LockedPartition
    ) -> None:
        for before, fact in zip(timeline.facts, moved, strict=True):
            if fact != before:
                fact = replace(fact, version=fact.version + 1, update_time=move.moment)  # noqa: PLW2901
                await save_revision(move.session, fact, locked.partition_id, move.actor, move.reason)

    async def _goal(
        self, move: _Move, timeline: Timeline, renamed: Timeline, locked: LockedPartition
    ) -> UUID | None:
        """Returns the slot or line that a moving one meets, ``None`` when it keeps to itself.

        A slot that keeps to itself is moved at once, under its new key.
        """
        key = await self._new_key(move, timeline, renamed)
        if key is None:
            goal = await self._twin_line(move, renamed, locked)
        else:
            goal = await move.session.slots.find(locked.partition_id, key)
        if goal is not None and goal != timeline.slot_id:
            return goal
        claims = [fact.claim for fact in renamed.facts if fact.claim is not None]
        subject = claims[0].subject if claims else None
        await move.session.entities.move_slot(
            MergedSlot(timeline.slot_id, locked.partition_id, slot_key=key, subject=subject)
        )
        return None

    async def _new_key(self, move: _Move, timeline: Timeline, renamed: Timeline) -> str | None:
        """Returns the key of a slot under the new subject; ``None`` for a line."""
        for before, after in zip(timeline.facts, renamed.facts, strict=True):
            if before.claim is None or after.claim is None:
                continue
            partition_id = move.session.entities.partition_id(before.partition)
            occurrence = f"{before.value_key}@{before.valid_from.isoformat()}"
            for discriminator in ("", before.value_key, occurrence):
                old, new = (
                    slot_key(claim.subject, claim.predicate, claim.qualifiers, discriminator=discriminator)
                    for claim in (before.claim, after.claim)
                )
                if await move.session.slots.find(partition_id, old) == timeline.slot_id:
                    return new
        return None

    async def _twin_line(self, move: _Move, renamed: Timeline, locked: LockedPartition) -> UUID | None:
        """Returns a line of the goal with a live fact of the same wording as a live one on the moving line."""
        for fact in renamed.facts:
            if fact.claim is not None or fact.status not in LIVE_STATUSES:
                continue
            for twin in await move.session.facts.by_text(locked.partition_id, text_digest(fact.text)):
                same_time = twin.valid_from == fact.valid_from or fact.partition.type is not FactType.EVENT
                if twin.claim is None and twin.status in LIVE_STATUSES and same_time:
                    return twin.slot_id
        return None

    async def _take_along(self, move: _Move, renamed: Timeline, locked: LockedPartition) -> None:
        """Writes a slot's facts into the partition that the slot was moved to; what it says does not change."""
        after = settle(renamed, move.now, self._ids.new)
        before = Timeline(renamed.slot_id, (), (), renamed.conflict_id)
        change = moving_change(
            before, after, renamed.facts, contests=False, reviewed=renamed, actor=move.actor, reason=move.reason
        )
        await self._writer.write(move.session, locked, change)

    async def _join(self, move: _Move, renamed: Timeline, goal: UUID, locked: LockedPartition) -> None:
        """Joins a slot into the one that it meets."""
        if renamed.conflict_id is not None:
            await move.session.conflicts.resolve(renamed.conflict_id, kept=None, note=move.reason, now=move.moment)
        staying = await move.session.slots.timeline(goal)
        joined = join(staying, renamed, move.now)
        after = settle(joined.timeline, move.now, self._ids.new)
        change = moving_change(
            staying,
            after,
            renamed.facts,
            contests=joined.contested,
            reviewed=staying,
            actor=move.actor,
            reason=move.reason,
        )
        written = await self._writer.write(move.session, locked, change)
        await move.session.entities.drop_slot(renamed.slot_id)
        if joined.contested and written.conflict_id is not None:
            move.contested.append(written.conflict_id)

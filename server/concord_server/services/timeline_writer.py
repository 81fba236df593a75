"""Writes what a settled timeline means: fact versions, assertions, edges and the slot's conflict.

Every change of a timeline goes through here, whatever caused it, so that conflicts are re-evaluated and
neighbours are re-folded on every path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.confidence import confidence
from concord_server.domain.conflicts import ConflictReview
from concord_server.domain.enums import EvolutionType, FactChange, FactStatus
from concord_server.domain.errors import CycleError
from concord_server.domain.lineage import EvolutionEdge
from concord_server.domain.model import Claim, Fact, Source
from concord_server.domain.settlement import FactState, Settlement, Timeline
from concord_server.domain.text import text_key
from concord_server.ports.clock import Ids
from concord_server.ports.embedder import Vector
from concord_server.ports.ledger import LockedPartition, WriteSession


@dataclass(frozen=True, slots=True)
class TimelineChange:
    """A change of one timeline, decided and not yet written.

    Attributes:
        before: the slot as it was loaded, without drafts.
        after: the slot settled anew.
        review: what that means for its conflict; ``conflict_reason`` is stored with one that opens.
        drafts: facts that are new, or known facts with other changes to be stored (wording, links, metadata). A
            known fact that no statement is about any more follows from no timeline, and is stored as drafted.
        changes: why the version of a fact is written, where it is neither creation nor a mere consequence.
        embeddings: of new facts; a new fact without one is queued to be embedded.
        sources: to be stored with new facts (those of known facts are stored before).
        refreshed: facts to be stored anew whatever the comparison says (their sources changed).
    """

    before: Timeline
    after: Settlement
    review: ConflictReview
    actor: str
    reason: str
    conflict_reason: str = ""
    drafts: Mapping[UUID, Fact] = field(default_factory=dict)
    changes: Mapping[UUID, FactChange] = field(default_factory=dict)
    edges: Sequence[EvolutionEdge] = ()
    embeddings: Mapping[UUID, Vector] = field(default_factory=dict)
    sources: Mapping[UUID, Source] = field(default_factory=dict)
    refreshed: frozenset[UUID] = frozenset()


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: the changed facts, and the slot's open conflict afterwards."""

    facts: dict[UUID, Fact]
    conflict_id: UUID | None


class TimelineWriter:
    """Writes timeline changes within a session that holds the partition."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    async def write(self, session: WriteSession, locked: LockedPartition, change: TimelineChange) -> Written:
        """Writes a change and returns the facts that it changed.

        Facts that stop being ACTIVE are written before the one that starts, so that the database's own guard
        (one ACTIVE fact per slot) holds at every statement.

        Raises:
            CycleError: an edge would make a fact its own ancestor.
        """
        conflict_id = await self._conflict_before_facts(session, locked, change)
        # Before the facts, which otherwise would make the edges themselves, as of their own evolution type.
        await self._add_edges(session, locked, change)
        written: dict[UUID, Fact] = {}
        for fact in _unsettled(change):
            written[fact.fact_id] = await self._save(session, locked, change, fact)
        for state in sorted(change.after.states, key=_active_last):
            settled = self._next_fact(change, state, conflict_id)
            if settled is not None:
                written[state.fact_id] = await self._save(session, locked, change, settled, state.split_from)
        await self._save_assertions(session, locked, change)
        await self._conflict_after_facts(session, locked, change, conflict_id)
        return Written(written, None if change.review.ends else conflict_id)

    async def _conflict_before_facts(
        self, session: WriteSession, locked: LockedPartition, change: TimelineChange
    ) -> UUID | None:
        if not change.review.opens:
            return change.before.conflict_id
        conflict_id = self._ids.new()
        await session.conflicts.open(
            conflict_id,
            change.before.slot_id,
            locked.partition_id,
            change.conflict_reason,
            locked.recorded_time,
        )
        return conflict_id

    async def _conflict_after_facts(
        self,
        session: WriteSession,
        locked: LockedPartition,
        change: TimelineChange,
        conflict_id: UUID | None,
    ) -> None:
        if conflict_id is None:
            return
        members = change.review.members
        if change.review.ends:
            await session.conflicts.resolve(conflict_id, kept=None, note=change.reason, now=locked.recorded_time)
        if not members:
            return
        active = {s.fact_id for s in change.after.states if s.status is FactStatus.ACTIVE}
        incumbent = next((member for member in members if member in active), None)
        await session.conflicts.set_members(conflict_id, members, incumbent, locked.recorded_time)

    def _next_fact(self, change: TimelineChange, state: FactState, conflict_id: UUID | None) -> Fact | None:
        """Returns the fact as its state says, or ``None`` when nothing about it changes."""
        before = change.before.fact(state.fact_id)
        base = change.drafts.get(state.fact_id, before)
        if base is None:
            base = self._split(change, state)
        member = state.fact_id in change.review.members
        fact = replace(
            base,
            slot_id=change.before.slot_id,
            status=state.status,
            valid_from=state.valid_from,
            valid_to=state.valid_to,
            value_key=state.value_key,
            claim=_with_value(base.claim, state),
            trust=state.trust,
            reinforcement_count=state.reinforcement_count,
            last_reinforce_time=state.last_reinforce_time,
            off_timeline=state.off_timeline,
            conflict_id=conflict_id if member else None,
        )
        if before is not None and fact == before and state.fact_id not in change.refreshed:
            return None
        return fact

    def _split(self, change: TimelineChange, state: FactState) -> Fact:
        """Returns the draft of a fact that a late statement split off: as its origin, without its history."""
        assert state.split_from is not None
        origin = change.drafts.get(state.split_from) or change.before.fact(state.split_from)
        assert origin is not None
        return replace(
            origin,
            fact_id=state.fact_id,
            version=0,
            source_count=0,
            parent_ids=(),
            evolution_type=EvolutionType.CONTRADICTION,
            conflict_id=None,
        )

    async def _save(
        self,
        session: WriteSession,
        locked: LockedPartition,
        change: TimelineChange,
        fact: Fact,
        split_from: UUID | None = None,
    ) -> Fact:
        before = change.before.fact(fact.fact_id)
        is_new = before is None and fact.version == 0
        await self._carry_sources(session, change, fact.fact_id, is_new=is_new)
        now = locked.recorded_time
        own = await self._own_sources(session, change, fact.fact_id, split_from) if is_new else []
        fact = await self._with_confidence(session, fact, now, own if is_new else None)
        relevant = before is None or _depends_on(before) != _depends_on(fact)
        fact = replace(
            fact,
            version=fact.version + 1,
            create_time=now if is_new else fact.create_time,
            update_time=now,
            partition_revision=locked.revision if relevant else fact.partition_revision,
        )
        await session.facts.save(
            fact,
            _change_of(change, before, fact),
            actor=change.actor,
            reason=change.reason,
            partition_id=locked.partition_id,
            text_digest=text_digest(fact.text),
            embedding=change.embeddings.get(fact.fact_id),
        )
        for source in own:
            await session.facts.upsert_source(source)
        return fact

    async def _with_confidence(
        self, session: WriteSession, fact: Fact, now: datetime, own: Sequence[Source] | None
    ) -> Fact:
        """Returns the fact with its confidence, from ``own`` sources when it is new, else from the stored ones."""
        if own is None:
            statistics = await session.facts.source_statistics(fact.fact_id)
            credibilities, newest = statistics.credibilities, statistics.newest_time
        else:
            credibilities = tuple(source.credibility for source in own)
            newest = max((source.extract_time for source in own), default=None)
        return replace(
            fact,
            source_count=len(credibilities),
            confidence=confidence(credibilities, newest, fact.corroboration_score, now),
        )

    async def _carry_sources(
        self, session: WriteSession, change: TimelineChange, fact_id: UUID, *, is_new: bool
    ) -> None:
        """Gives a fact the sources of those whose segment it took over."""
        if is_new:
            return
        for other in change.after.states:
            if other.joined_into == fact_id:
                for source in await session.facts.sources(other.fact_id):
                    await session.facts.upsert_source(replace(source, source_id=self._ids.new(), fact_id=fact_id))

    async def _own_sources(
        self, session: WriteSession, change: TimelineChange, fact_id: UUID, split_from: UUID | None
    ) -> list[Source]:
        """Returns the sources that a new fact begins with, not stored yet.

        That of its statement; for a fact that was split off, those of the statements that went over to it.
        """
        given = change.sources.get(fact_id)
        if given is not None or split_from is None:
            return [given] if given is not None else []
        moved = {a.source_id for a in change.after.assertions if a.fact_id == fact_id and a.source_id}
        return [
            replace(source, source_id=self._ids.new(), fact_id=fact_id)
            for source in await session.facts.sources(split_from)
            if source.source_id in moved
        ]

    async def _save_assertions(
        self, session: WriteSession, locked: LockedPartition, change: TimelineChange
    ) -> None:
        known = {a.assertion_id: a for a in change.before.assertions}
        changed = [a for a in change.after.assertions if known.get(a.assertion_id) != a]
        if changed:
            await session.slots.save_assertions(
                change.before.slot_id, locked.partition_id, changed, locked.recorded_time
            )

    async def _add_edges(self, session: WriteSession, locked: LockedPartition, change: TimelineChange) -> None:
        """Adds the edges. Nobody else adds any within the partition meanwhile, so what holds here holds at commit."""
        for edge in change.edges:
            child = change.drafts.get(edge.child_id)
            is_new = child is not None and child.version == 0  # nothing descends from it yet
            if not is_new and await session.facts.is_ancestor(edge.child_id, edge.parent_id):
                raise CycleError(f"fact {edge.parent_id} descends from fact {edge.child_id} already")
            await session.facts.add_edges(
                edge.child_id, [edge.parent_id], edge.evolution_type, locked.recorded_time
            )


def text_digest(text: str) -> bytes:
    """Returns the digest of a wording's text key, under which equal wordings are found."""
    return hashlib.sha256(text_key(text).encode("utf-8")).digest()


def _unsettled(change: TimelineChange) -> list[Fact]:
    """Returns the drafts of known facts that have no state on the timeline."""
    return [draft for draft in change.drafts.values() if draft.fact_id not in change.after.by_fact]


def _with_value(claim: Claim | None, state: FactState) -> Claim | None:
    return claim if claim is None else replace(claim, value=state.value)


def _active_last(state: FactState) -> bool:
    return state.status is FactStatus.ACTIVE


def _depends_on(fact: Fact) -> tuple[object, ...]:
    """The parts of a fact that decisions about other statements depend on."""
    return (
        fact.status,
        fact.text,
        fact.valid_from,
        fact.valid_to,
        fact.value_key,
        fact.slot_id,
        fact.off_timeline,
    )


def _change_of(change: TimelineChange, before: Fact | None, fact: Fact) -> FactChange:
    if fact.version == 1:
        return FactChange.CREATED
    named = change.changes.get(fact.fact_id)
    if named is not None:
        return named
    if before is not None and before.status is not fact.status:
        return FactChange.STATUS_CHANGED
    return FactChange.REVISED

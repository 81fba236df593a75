"""Reconciling a known fact again, once it can be compared with the others of its partition.

Its statements are placed as they would have been, had they been compared when they came: on the timeline of what they
meet, in support of a fact there or as the fact itself; or below it in the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.choice import ChoiceKind
from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.conflicts import review
from concord_server.domain.enums import (
    SUPPRESSING_STATUSES,
    EvolutionType,
    FactChange,
    FactStatus,
    FactType,
    ReconcileAction,
)
from concord_server.domain.lineage import EvolutionEdge
from concord_server.domain.model import Decision, Fact, Thresholds
from concord_server.domain.placement import Outcome, Placing, Statement, challenge, place
from concord_server.domain.settlement import Timeline, settle
from concord_server.domain.timeline import Assertion, AssertionKind, AssertionState
from concord_server.ports.clock import Ids
from concord_server.ports.embedder import Vector
from concord_server.ports.ledger import LockedPartition, WriteSession
from concord_server.services.drafts import corroborated, merged
from concord_server.services.matching import Match
from concord_server.services.reconcile_plan import action_of, parents_of
from concord_server.services.timeline_writer import TimelineChange, TimelineWriter, text_digest

ACTOR = "catch-up"
"""Who is recorded with what a second look changes."""


def is_untouched(fact: Fact, line: Timeline) -> bool:
    """Tells whether a fact is still as its statements left it, so that it may be reconciled again.

    What a caller has derived, dated, disputed or taken back since then stays as it is.
    """
    return (
        fact.claim is None
        and fact.partition.type is not FactType.EVENT
        and fact.status in {FactStatus.ACTIVE, FactStatus.PENDING}
        and fact.conflict_id is None
        and not fact.parent_ids
        and [other.fact_id for other in line.facts] == [fact.fact_id]
        and all(a.state is AssertionState.ADMITTED and a.kind is not AssertionKind.AMEND for a in line.assertions)
    )


@dataclass(frozen=True, slots=True)
class _Placed:
    """The fact's statements on the timeline of what it meets.

    Attributes:
        timeline: with the statements, and with the fact where it joined.
        placings: one per statement, in order.
        joined: whether the fact itself is on the timeline now; otherwise others say what it said.
    """

    timeline: Timeline
    placings: tuple[Placing, ...]
    joined: bool

    @property
    def first(self) -> Placing:
        """Where the fact's first statement went."""
        return self.placings[0]


class SecondLook:
    """One fact being reconciled again, under its partition's lock."""

    def __init__(
        self, session: WriteSession, locked: LockedPartition, ids: Ids, now: datetime, thresholds: Thresholds
    ) -> None:
        self._session = session
        self._locked = locked
        self._ids = ids
        self._now = now
        self._thresholds = thresholds
        self._writer = TimelineWriter(ids)

    async def take(self, fact: Fact, line: Timeline, match: Match, vector: Vector) -> None:
        """Stores the fact's embedding and what follows from the match, with a decision that says so."""
        target = await self._session.facts.get(match.target.fact_id) if match.target else None
        kind = match.choice.kind
        if target is None or target.status is FactStatus.DELETED or kind is ChoiceKind.CREATE:
            await self._session.facts.set_embedding(fact.fact_id, vector, self._locked.revision)
            await self._decide(match, ReconcileAction.CREATED, fact.fact_id, match.rationale)
        elif kind is ChoiceKind.BRANCH:
            evolution_type = match.choice.evolution_type or EvolutionType.EXTENSION
            await self._descend(fact, line, target, evolution_type, vector)
            await self._decide(match, ReconcileAction.BRANCHED, fact.fact_id, match.rationale)
        else:
            await self._meet(fact, line, target, match, vector)

    async def _descend(
        self, fact: Fact, line: Timeline, target: Fact, evolution_type: EvolutionType, vector: Vector
    ) -> None:
        """Puts the fact below what it refines or extends, unless that descends from it already."""
        if await self._session.facts.is_ancestor(fact.fact_id, target.fact_id):
            await self._session.facts.set_embedding(fact.fact_id, vector, self._locked.revision)
            return
        child = replace(
            fact,
            evolution_type=evolution_type,
            parent_ids=(target.fact_id,),
            subjects=merged([*fact.subjects, *target.subjects]),
        )
        after = settle(line, self._now, self._ids.new)
        change = TimelineChange(
            before=line,
            after=after,
            review=review(line, after),
            actor=ACTOR,
            reason=f"compared again: {evolution_type.value.lower()} of fact {target.fact_id}",
            drafts={fact.fact_id: child},
            changes={fact.fact_id: FactChange.REVISED},
            edges=(EvolutionEdge(target.fact_id, fact.fact_id, evolution_type),),
            embeddings={fact.fact_id: vector},
        )
        await self._writer.write(self._session, self._locked, change)

    async def _meet(self, fact: Fact, line: Timeline, target: Fact, match: Match, vector: Vector) -> None:
        """Moves the fact's statements to the timeline of what says the same or otherwise."""
        before = await self._session.slots.timeline(target.slot_id)
        placed = self._placed(fact, line, target, before, merges=match.choice.kind is ChoiceKind.MERGE)
        after = settle(placed.timeline, self._now, self._ids.new)
        action = action_of(placed.first)
        if action is ReconcileAction.CREATED:
            action = ReconcileAction.BRANCHED
        reason = f"compared again: {action.value.lower()}: {placed.first.reason}"
        contests = any(placing.contests_active for placing in placed.placings)
        drafts, edges = await self._joining(fact, target, match, before, placed)
        changes: dict[UUID, FactChange] = {}
        if placed.joined:
            if after.state(fact.fact_id).status is not fact.status:
                changes = {fact.fact_id: FactChange.STATUS_CHANGED}
        else:
            home = placed.first.fact_id
            changes = {home: FactChange.MERGED, fact.fact_id: FactChange.STATUS_CHANGED}
            assertions = await self._hand_over(fact, home, after.assertions)
            await self._session.facts.add_wording(home, text_digest(fact.text))
            after = replace(after, assertions=assertions)
            drafts = self._giving_way(fact, before, home)
        change = TimelineChange(
            before=before,
            after=after,
            review=review(before, after, contests_active=contests),
            actor=ACTOR,
            reason=reason,
            conflict_reason=placed.first.reason,
            drafts=drafts,
            changes=changes,
            edges=edges,
            embeddings={fact.fact_id: vector},
            refreshed=frozenset(drafts),
        )
        await self._writer.write(self._session, self._locked, change)
        decided = fact.fact_id if placed.joined else placed.first.fact_id
        await self._decide(match, action, decided, f"{match.rationale} ({placed.first.reason})")

    def _placed(self, fact: Fact, line: Timeline, target: Fact, before: Timeline, *, merges: bool) -> _Placed:
        key = target.value_key if merges else fact.value_key
        value = target.claim.value if merges and target.claim else None
        joining = replace(fact, slot_id=before.slot_id, value_key=key, claim=target.claim if merges else None)
        timeline, placings = before, []
        for said in sorted(line.assertions, key=lambda a: a.order):
            statement = Statement(
                assertion_id=said.assertion_id,
                new_fact_id=fact.fact_id,
                time=said.time,
                value_key=key,
                value=value,
                trust=said.trust,
                end=said.end,
                ends=said.ends,
            )
            placing = self._placing(timeline, statement, target, merges=merges)
            own = tuple(
                replace(a, source_id=said.source_id) if a.assertion_id == said.assertion_id else a
                for a in placing.assertions
            )
            facts = timeline.facts
            if placing.is_new and timeline.fact(fact.fact_id) is None:
                waits = placing.outcome is Outcome.CONFLICTED
                facts = (*facts, replace(joining, status=FactStatus.PENDING if waits else FactStatus.ACTIVE))
            timeline = replace(timeline, facts=facts, assertions=own)
            placings.append(placing)
        return _Placed(timeline, tuple(placings), timeline.fact(fact.fact_id) is not None)

    def _placing(self, timeline: Timeline, statement: Statement, target: Fact, *, merges: bool) -> Placing:
        if merges and target.status in SUPPRESSING_STATUSES:
            assertion = statement.assertion(target.fact_id, AssertionState.SUSPENDED)
            return Placing(
                Outcome.SUPPRESSED,
                target.fact_id,
                is_new=False,
                assertions=(*timeline.assertions, assertion),
                met_fact_id=target.fact_id,
                reason=f"the same was {target.status.value.lower()} before",
            )
        if not merges and target.claim is not None:
            return challenge(timeline, statement, self._now, "it has no claim, and what it contradicts has one")
        return place(timeline, statement, self._now)

    async def _joining(
        self, fact: Fact, target: Fact, match: Match, before: Timeline, placed: _Placed
    ) -> tuple[dict[UUID, Fact], tuple[EvolutionEdge, ...]]:
        """Returns the fact as it is on its new timeline, with its place in the graph; nothing when it did not join."""
        joining = placed.timeline.fact(fact.fact_id)
        if joining is None:
            return {}, ()
        met = before.fact(placed.first.met_fact_id) if placed.first.met_fact_id else None
        evolution_type = match.choice.evolution_type or EvolutionType.CONTRADICTION
        drafts, edges = {}, []
        parents = []
        for parent in parents_of(before, placed.first, met or target):
            if not await self._session.facts.is_ancestor(fact.fact_id, parent.fact_id):
                parents.append(parent)
                edges.append(EvolutionEdge(parent.fact_id, fact.fact_id, evolution_type))
        following = before.fact(placed.first.next_fact_id) if placed.first.next_fact_id else None
        if following is not None and not await self._above(following, parents):
            drafts[following.fact_id] = replace(following, parent_ids=(*following.parent_ids, fact.fact_id))
            edges.append(EvolutionEdge(fact.fact_id, following.fact_id, EvolutionType.CONTRADICTION))
        drafts[fact.fact_id] = replace(
            joining,
            evolution_type=evolution_type if parents else joining.evolution_type,
            parent_ids=tuple(parent.fact_id for parent in parents),
            subjects=merged([*joining.subjects, *(s for parent in parents for s in parent.subjects)]),
        )
        return drafts, tuple(edges)

    async def _above(self, fact: Fact, others: list[Fact]) -> bool:
        """Whether the fact is above one of the others in the graph."""
        for other in others:
            if await self._session.facts.is_ancestor(fact.fact_id, other.fact_id):
                return True
        return False

    def _giving_way(self, fact: Fact, before: Timeline, home: UUID) -> dict[UUID, Fact]:
        """Returns the fact that takes the statements over, and the one that gives them: it never held."""
        taking = before.fact(home)
        assert taking is not None
        partition = fact.partition
        command = ReconcileCommand(
            text=fact.text_raw,
            type=partition.type,
            domain=partition.domain,
            access_scope=partition.access_scope,
            owner=partition.owner,
            subjects=fact.subjects,
            contents=fact.contents,
            tags=fact.tags,
            corroboration_score=fact.corroboration_score,
            metadata=fact.metadata,
        )
        gone = replace(fact, slot_id=before.slot_id, status=FactStatus.SUPERSEDED, valid_to=fact.valid_from)
        return {home: corroborated(taking, command), fact.fact_id: gone}

    async def _hand_over(self, fact: Fact, home: UUID, assertions: tuple[Assertion, ...]) -> tuple[Assertion, ...]:
        """Moves the fact's sources and evidence to another; returns the assertions with the sources' new ids."""
        facts = self._session.facts
        names: dict[UUID, UUID] = {}
        for source in await facts.sources(fact.fact_id):
            stored = await facts.upsert_source(replace(source, source_id=self._ids.new(), fact_id=home))
            names[source.source_id] = stored.source_id

        def renamed(source_id: UUID | None) -> UUID | None:
            return None if source_id is None else names.get(source_id, source_id)

        moved = [
            replace(item, evidence_id=self._ids.new(), fact_id=home, source_id=renamed(item.source_id))
            for item in await facts.evidence(fact.fact_id)
        ]
        await facts.add_evidence(moved)
        await self._session.sources.remove(list(names))
        return tuple(replace(a, source_id=renamed(a.source_id)) for a in assertions)

    async def _decide(self, match: Match, action: ReconcileAction, fact_id: UUID, rationale: str) -> None:
        decision = Decision(
            decision_id=self._ids.new(),
            basis=match.basis,
            judge=match.judge,
            action=action,
            candidates=match.candidates,
            thresholds=self._thresholds,
            rationale=rationale,
            create_time=self._locked.recorded_time,
            fact_id=fact_id,
        )
        await self._session.decisions.save(decision)

"""Writes one planned statement: shared by every way in which statements reach the ledger."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.conflicts import review
from concord_server.domain.enums import EvolutionType, FactChange, Trust
from concord_server.domain.lineage import EvolutionEdge
from concord_server.domain.model import Fact, Source
from concord_server.domain.predicates import learnable
from concord_server.domain.settlement import Settlement, Timeline, settle
from concord_server.ports.clock import Ids
from concord_server.ports.embedder import Vector
from concord_server.ports.ledger import LockedPartition, WriteSession
from concord_server.services.context import CallContext
from concord_server.services.drafts import corroborated, draft_evidence, draft_fact, draft_source
from concord_server.services.reconcile_plan import Plan
from concord_server.services.timeline_writer import TimelineChange, TimelineWriter, Written, text_digest


@dataclass(frozen=True, slots=True)
class WrittenStatement:
    """What became of a statement.

    Attributes:
        fact: the fact that it supports now.
        source: as stored with that fact, if one came along.
        matched: the fact that it met, as it is afterwards.
        conflict_id: the slot's open conflict, if any.
    """

    fact: Fact
    source: Source | None
    matched: Fact | None
    conflict_id: UUID | None


class StatementWriter:
    """Writes one planned statement under its partition's lock: source, timeline, evidence, edges."""

    def __init__(
        self,
        writer: TimelineWriter,
        ids: Ids,
        session: WriteSession,
        locked: LockedPartition,
        context: CallContext,
        command: ReconcileCommand,
    ) -> None:
        self._writer = writer
        self._ids = ids
        self._session = session
        self._locked = locked
        self._context = context
        self._command = command
        self._trust: Trust = min(command.trust, context.trust_cap)

    async def write(self, plan: Plan, vector: Vector | None, now: datetime) -> WrittenStatement:
        """Writes the plan and returns the fact that the statement supports now.

        Args:
            vector: embedding of the text, stored with a fact that is new.
        """
        source = await self._stored_source(plan)
        follower = await self._follower(plan)
        after = self._settled(plan, source, now)
        change = self._change(plan, after, source, vector, follower)
        written = await self._writer.write(self._session, self._locked, change)
        fact = await self._resulting_fact(plan, written)
        await self._remember_wording(plan, fact)
        await self._learn_alias(plan)
        evidence = draft_evidence(self._command, fact.fact_id, source, self._ids, self._locked.recorded_time)
        if evidence:
            await self._session.facts.add_evidence(evidence)
        matched = _matched(plan, written, fact)
        return WrittenStatement(fact, source, matched, written.conflict_id)

    async def _remember_wording(self, plan: Plan, fact: Fact) -> None:
        """Lets a wording that merged by meaning be found by its words, so that repeating it meets the same fact.

        With a claim the wording decides nothing, and so it is no name of the fact.
        """
        if plan.placing.is_new or self._command.claim is not None:
            return
        digest = text_digest(self._command.text)
        if digest != text_digest(fact.text):
            await self._session.facts.add_wording(fact.fact_id, digest)

    async def _learn_alias(self, plan: Plan) -> None:
        """Keeps that the predicate of the statement is another name of the one whose fact it superseded."""
        if not plan.alias or plan.claim is None:
            return
        known = await self._session.predicates.aliases_of([plan.alias, plan.claim.predicate])
        if learnable(plan.alias, plan.claim.predicate, known):
            await self._session.predicates.add_alias(
                plan.alias, plan.claim.predicate, self._locked.recorded_time, learned=True
            )

    async def _stored_source(self, plan: Plan) -> Source | None:
        """Returns the statement's source; that of a known fact is stored at once, under its known id."""
        placing = plan.placing
        source = draft_source(self._command, placing.fact_id, self._trust, self._ids, self._locked.recorded_time)
        if source is None or placing.is_new:
            return source
        return await self._session.facts.upsert_source(source)

    def _settled(self, plan: Plan, source: Source | None, now: datetime) -> Settlement:
        own = plan.statement.assertion_id
        assertions = tuple(
            replace(a, source_id=source.source_id) if source and a.assertion_id == own else a
            for a in plan.placing.assertions
        )
        facts = (plan.adopted,) if plan.adopted else plan.timeline.facts
        timeline = Timeline(plan.timeline.slot_id, facts, assertions, plan.timeline.conflict_id)
        return settle(timeline, now, self._ids.new)

    async def _follower(self, plan: Plan) -> Fact | None:
        """Returns the fact that late history leads to, unless an edge to it would close a cycle."""
        following = plan.placing.next_fact_id
        fact = plan.timeline.fact(following) if following else None
        if fact is None:
            return None
        for parent in plan.lineage.parents:
            if await self._session.facts.is_ancestor(fact.fact_id, parent.fact_id):
                return None
        return fact

    def _change(
        self,
        plan: Plan,
        after: Settlement,
        source: Source | None,
        vector: Vector | None,
        follower: Fact | None,
    ) -> TimelineChange:
        placing, command = plan.placing, self._command
        if placing.is_new:
            fact = draft_fact(
                command,
                placing.fact_id,
                plan.timeline.slot_id,
                claim=plan.claim,
                value_key=plan.statement.value_key,
                trust=self._trust,
                start=plan.statement.time,
                lineage=plan.lineage,
            )
        else:
            known = plan.adopted or plan.timeline.fact(placing.fact_id)
            assert known is not None
            fact = corroborated(known, command)
        drafts = {fact.fact_id: fact}
        if follower is not None:
            parents = (*follower.parent_ids, placing.fact_id)
            drafts[follower.fact_id] = replace(follower, parent_ids=parents)
        reviewed = review(plan.timeline, after, contests_active=placing.contests_active)
        return TimelineChange(
            before=plan.timeline,
            after=after,
            review=reviewed,
            actor=self._context.actor,
            reason=f"{plan.action.value.lower()}: {placing.reason}",
            conflict_reason=placing.reason,
            drafts=drafts,
            changes={} if placing.is_new else {fact.fact_id: FactChange.MERGED},
            edges=_edges(plan, follower),
            embeddings={placing.fact_id: vector} if placing.is_new and vector is not None else {},
            sources={placing.fact_id: source} if placing.is_new and source else {},
            refreshed=frozenset() if placing.is_new else frozenset({fact.fact_id}),
        )

    async def _resulting_fact(self, plan: Plan, written: Written) -> Fact:
        fact = written.facts.get(plan.placing.fact_id)
        if fact is None:
            fact = await self._session.facts.get(plan.placing.fact_id)
        assert fact is not None
        return fact


def _matched(plan: Plan, written: Written, fact: Fact) -> Fact | None:
    """Returns the fact that the statement met, as it is afterwards."""
    if plan.matched is None:
        return None
    if plan.matched.fact_id == fact.fact_id:
        return fact
    return written.facts.get(plan.matched.fact_id, plan.matched)


def _edges(plan: Plan, follower: Fact | None) -> tuple[EvolutionEdge, ...]:
    """Edges to a new fact from what it came from, and from late history to what followed it."""
    placing = plan.placing
    if not placing.is_new:
        return ()
    edges = [
        EvolutionEdge(parent.fact_id, placing.fact_id, plan.lineage.evolution_type)
        for parent in plan.lineage.parents
    ]
    if follower is not None:
        edges.append(EvolutionEdge(placing.fact_id, follower.fact_id, EvolutionType.CONTRADICTION))
    return tuple(edges)

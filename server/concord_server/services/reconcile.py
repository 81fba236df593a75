"""Reconcile: tells what a statement is to the ledger, and keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.commands import ReconcileCommand, Violations, validate_reconcile
from concord_server.domain.conflicts import review
from concord_server.domain.enums import EvolutionType, FactChange, FactType, ReconcileAction, Trust
from concord_server.domain.errors import ConcurrentUpdateError
from concord_server.domain.model import Decision, Fact, Source, Thresholds
from concord_server.domain.settlement import Settlement, Timeline, settle
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.embedder import Embedder, EmbedderUnavailableError, Vector
from concord_server.ports.ledger import Ledger, LockedPartition, WriteSession
from concord_server.services import idempotency as repeats
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.drafts import corroborated, draft_evidence, draft_fact, draft_source
from concord_server.services.matching import Match, Matcher
from concord_server.services.reconcile_plan import Plan, Planner
from concord_server.services.results import ReconcileResult
from concord_server.services.timeline_writer import Edge, TimelineChange, TimelineWriter, Written, text_digest

MAX_ATTEMPTS = 50
"""How often a plan is made anew when others keep changing what it rests on; each loss is another's progress."""

_NOT_EMBEDDED = "the embedder is unavailable: the fact will be found by search once it is back"


class _OvertakenError(Exception):
    """What the plan rests on changed before the partition was locked."""


class _DryRun(Exception):  # noqa: N818 - it carries an answer out of a transaction that must not commit
    def __init__(self, result: ReconcileResult) -> None:
        super().__init__()
        self.result = result


class Reconcile:
    """The use case behind Reconcile, BatchReconcile and StreamReconcile."""

    def __init__(
        self,
        ledger: Ledger,
        matcher: Matcher,
        embedder: Embedder,
        clock: Clock,
        ids: Ids,
        thresholds: Callable[[str], Thresholds] = lambda _project: Thresholds(),
    ) -> None:
        """Builds the use case.

        Args:
            thresholds: gives a project's thresholds.
        """
        self._ledger = ledger
        self._matcher = matcher
        self._embedder = embedder
        self._clock = clock
        self._ids = ids
        self._writer = TimelineWriter(ids)
        self._thresholds = thresholds

    async def execute(
        self,
        context: CallContext,
        command: ReconcileCommand,
        idempotency: Idempotency[ReconcileResult] | None = None,
        vector: Vector | None = None,
    ) -> ReconcileResult | Replay:
        """Reconciles one statement.

        Args:
            idempotency: lets the request be sent again; ignored with ``validate_only``.
            vector: embedding of the text, where the caller has it already.

        Raises:
            InvalidFieldsError: the statement is malformed; nothing was read or written.
            RequestIdReusedError: the request id was used for another request.
            ConcurrentUpdateError: others kept changing what the statement meets.
        """
        self.validate(context, command)
        if command.validate_only:
            idempotency = None
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        for _ in range(MAX_ATTEMPTS):
            try:
                return await self._attempt(context, command, idempotency, vector)
            except (_OvertakenError, ConcurrentUpdateError):
                continue
        raise ConcurrentUpdateError("others kept changing what this statement meets; send it again")

    def validate(self, context: CallContext, command: ReconcileCommand) -> None:
        """Checks a statement without reading or writing.

        Raises:
            InvalidFieldsError: the statement is malformed.
        """
        found = Violations()
        validate_reconcile(command, self._thresholds(context.project), self._clock.now(), found)
        found.raise_if_any()

    async def _attempt(
        self,
        context: CallContext,
        command: ReconcileCommand,
        idempotency: Idempotency[ReconcileResult] | None,
        vector: Vector | None,
    ) -> ReconcileResult | Replay:
        now = self._clock.now()
        thresholds = command.thresholds.over(self._thresholds(context.project))
        match: Match | None = None
        warnings: tuple[str, ...] = ()
        if command.claim is None and command.type is not FactType.EVENT:
            moment = command.valid_from or command.observe_time or now
            digest = text_digest(command.text)
            match = await self._matcher.match(
                context.project, command.partition, command.text, digest, moment, thresholds, vector
            )
            vector, warnings = match.vector, match.warnings
        elif vector is None:
            vector, warnings = await self._embed(command.text)
        try:
            async with self._ledger.write(context.project) as session:
                known = await repeats.claim(session, idempotency, now)
                if known is not None:
                    return known
                locked = await session.partitions.lock(command.partition, now)
                if match is not None and await _overtaken(session, locked, match):
                    raise _OvertakenError
                writing = _Writing(self._writer, self._ids, session, locked, context, command)
                result = await writing.apply(match, vector, thresholds, now, warnings)
                if command.validate_only:
                    raise _DryRun(result)
                await repeats.complete(session, idempotency, result, _mentioned(result))
                return result
        except _DryRun as dry:
            return dry.result

    async def _embed(self, text: str) -> tuple[Vector | None, tuple[str, ...]]:
        try:
            [vector] = await self._embedder.embed([text])
        except EmbedderUnavailableError:
            return None, (_NOT_EMBEDDED,)
        return vector, ()


class _Writing:
    """One statement being written under its partition's lock."""

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

    async def apply(
        self,
        match: Match | None,
        vector: Vector | None,
        thresholds: Thresholds,
        now: datetime,
        warnings: tuple[str, ...],
    ) -> ReconcileResult:
        planner = Planner(self._session, self._locked, self._command, self._trust, now, self._ids)
        plan = await planner.plan(match)
        if plan is None:
            raise _OvertakenError
        source = await self._stored_source(plan)
        follower = await self._follower(plan)
        after = self._settled(plan, source, now)
        change = self._change(plan, after, source, vector, follower)
        written = await self._writer.write(self._session, self._locked, change)
        fact = await self._resulting_fact(plan, written)
        evidence = draft_evidence(self._command, fact.fact_id, source, self._ids, self._locked.recorded_time)
        if evidence:
            await self._session.facts.add_evidence(evidence)
        decision = self._decision(plan, match, thresholds, fact)
        if not self._command.validate_only:
            await self._session.decisions.save(decision)
        conflict = None
        if written.conflict_id is not None and plan.action is ReconcileAction.CONFLICTED:
            conflict = await self._session.conflicts.get(written.conflict_id)
        return ReconcileResult(
            action=plan.action,
            fact=fact,
            decision=decision,
            source=source,
            similarity=match.similarity if match else None,
            matched_fact=await self._matched(plan, written, fact),
            evolution_type=_evolution_type(plan),
            conflict=conflict,
            warnings=(*plan.warnings, *warnings),
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

    async def _matched(self, plan: Plan, written: Written, fact: Fact) -> Fact | None:
        if plan.matched is None:
            return None
        if plan.matched.fact_id == fact.fact_id:
            return fact
        return written.facts.get(plan.matched.fact_id, plan.matched)

    def _decision(self, plan: Plan, match: Match | None, thresholds: Thresholds, fact: Fact) -> Decision:
        return Decision(
            decision_id=self._ids.new(),
            basis=plan.basis,
            judge=match.judge if match else "",
            action=plan.action,
            candidates=match.candidates if match else (),
            thresholds=thresholds,
            rationale=plan.rationale,
            create_time=self._locked.recorded_time,
            fact_id=fact.fact_id,
        )


async def _overtaken(session: WriteSession, locked: LockedPartition, match: Match) -> bool:
    """Tells whether something that the match rests on changed since it was made."""
    if locked.revision == match.revision + 1:
        return False
    return await session.facts.changed_since(locked.partition_id, match.revision, match.probe)


def _edges(plan: Plan, follower: Fact | None) -> tuple[Edge, ...]:
    """Edges to a new fact from what it came from, and from late history to what followed it."""
    placing = plan.placing
    if not placing.is_new:
        return ()
    edges = [Edge(parent.fact_id, placing.fact_id, plan.lineage.evolution_type) for parent in plan.lineage.parents]
    if follower is not None:
        edges.append(Edge(placing.fact_id, follower.fact_id, EvolutionType.CONTRADICTION))
    return tuple(edges)


def _evolution_type(plan: Plan) -> EvolutionType | None:
    if plan.placing.is_new:
        return plan.lineage.evolution_type
    return None


def _mentioned(result: ReconcileResult) -> list[UUID]:
    facts = [result.fact, result.matched_fact, *(result.conflict.facts if result.conflict else ())]
    return [fact.fact_id for fact in facts if fact is not None]

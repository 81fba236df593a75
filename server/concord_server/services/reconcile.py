"""Reconcile: tells what a statement is to the ledger, and keeps it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.commands import (
    ANY_THRESHOLDS,
    ReconcileCommand,
    Violations,
    validate_reconcile,
    validate_thresholds,
)
from concord_server.domain.enums import EvolutionType, FactType, ReconcileAction
from concord_server.domain.errors import ConcurrentUpdateError
from concord_server.domain.model import Decision, Thresholds
from concord_server.domain.predicates import Proposal
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.embedder import Embedder, Vector
from concord_server.ports.ledger import Ledger, LockedPartition, WriteSession
from concord_server.ports.project_settings import DefaultSettings, SettingsOfProjects
from concord_server.services import idempotency as repeats
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.embedding import NOT_EMBEDDED, embed_one
from concord_server.services.entities import entities_of, with_entities
from concord_server.services.matching import Match, Matcher, Recollection
from concord_server.services.propose_predicates import PredicateProposer
from concord_server.services.reconcile_plan import Plan, Planner
from concord_server.services.results import ReconcileResult
from concord_server.services.statement_writer import StatementWriter
from concord_server.services.timeline_writer import TimelineWriter, text_digest
from concord_server.services.turns import Turns

MAX_ATTEMPTS = 50
"""How often a plan is made anew when others keep changing what it rests on; each loss is another's progress."""


class _OvertakenError(Exception):
    """What the plan rests on changed before the partition was locked."""


class _DryRun(Exception):  # noqa: N818 - it carries an answer out of a transaction that must not commit
    def __init__(self, result: ReconcileResult) -> None:
        super().__init__()
        self.result = result


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What was made ready before the transaction."""

    now: datetime
    thresholds: Thresholds
    vector: Vector | None
    proposal: Proposal | None
    warnings: tuple[str, ...]


class Reconcile:
    """The use case behind Reconcile, BatchReconcile and StreamReconcile."""

    def __init__(
        self,
        ledger: Ledger,
        matcher: Matcher,
        embedder: Embedder,
        clock: Clock,
        ids: Ids,
        settings: SettingsOfProjects | None = None,
        proposer: PredicateProposer | None = None,
    ) -> None:
        """Builds the use case.

        Args:
            settings: of projects, for what calls leave open; the defaults where they are not given.
            proposer: finds which predicate a claim by a new name means; without it names mean themselves.
        """
        self._ledger = ledger
        self._matcher = matcher
        self._embedder = embedder
        self._clock = clock
        self._ids = ids
        self._writer = TimelineWriter(ids)
        self._turns = Turns()
        self._settings = settings or DefaultSettings()
        self._proposer = proposer

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
            InvalidFieldsError: the statement is malformed; nothing was written.
            RequestIdReusedError: the request id was used for another request.
            ConcurrentUpdateError: others kept changing what the statement meets.
        """
        self._check(command)
        if command.validate_only:
            idempotency = None
        # Before the settings are looked at: they may have changed since the request was answered.
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        command, thresholds = await self._by_settings(context, command)
        recollection = Recollection(vector)
        resolved = command
        for _ in range(MAX_ATTEMPTS):
            try:
                before, resolved = resolved, await self._resolved(context, command)
                if resolved.partition != before.partition:
                    recollection = Recollection(recollection.vector)  # the owner was merged: judged anew
                return await self._attempt(context, resolved, thresholds, idempotency, recollection)
            except (_OvertakenError, ConcurrentUpdateError):
                continue
        raise ConcurrentUpdateError("others kept changing what this statement meets; send it again")

    async def validate(self, context: CallContext, command: ReconcileCommand) -> None:
        """Checks a statement; nothing is written.

        Raises:
            InvalidFieldsError: the statement is malformed.
        """
        self._check(command)
        await self._by_settings(context, command)

    def _check(self, command: ReconcileCommand) -> None:
        """Checks what no setting has a say in."""
        found = Violations()
        validate_reconcile(command, ANY_THRESHOLDS, self._clock.now(), found)
        found.raise_if_any()

    async def _by_settings(
        self, context: CallContext, command: ReconcileCommand
    ) -> tuple[ReconcileCommand, Thresholds]:
        """Returns the statement with the project's policy where it has none, and the thresholds it goes by.

        Raises:
            InvalidFieldsError: its thresholds and those of the project are not in order.
        """
        settings = await self._settings.of(context.project)
        found = Violations()
        validate_thresholds(command.thresholds, settings.thresholds, found)
        found.raise_if_any()
        policy = command.contradiction_policy or settings.contradiction_policy
        return replace(command, contradiction_policy=policy), command.thresholds.over(settings.thresholds)

    async def _attempt(
        self,
        context: CallContext,
        command: ReconcileCommand,
        thresholds: Thresholds,
        idempotency: Idempotency[ReconcileResult] | None,
        recollection: Recollection,
    ) -> ReconcileResult | Replay:
        now = self._clock.now()
        match: Match | None = None
        warnings: tuple[str, ...] = ()
        if command.claim is None and command.type is not FactType.EVENT:
            moment = command.valid_from or command.observe_time or now
            digest = text_digest(command.text)
            match = await self._matcher.match(
                context.project, command.partition, command.text, digest, moment, thresholds, recollection
            )
            warnings = match.warnings
        elif recollection.vector is None:
            recollection.vector = await embed_one(self._embedder, command.text)
            warnings = () if recollection.vector is not None else (NOT_EMBEDDED,)
        vector = match.vector if match is not None else recollection.vector
        proposal = await self._proposal(context, command)
        prepared = _Prepared(now, thresholds, vector, proposal, warnings)
        result = await self._write(context, command, idempotency, match, prepared)
        if self._proposer is not None and not command.validate_only:
            await self._proposer.record(context.project, [proposal])
        return result

    async def _proposal(self, context: CallContext, command: ReconcileCommand) -> Proposal | None:
        if self._proposer is None or command.claim is None:
            return None
        [proposal] = await self._proposer.propose(context.project, [command])
        return proposal

    async def _write(
        self,
        context: CallContext,
        command: ReconcileCommand,
        idempotency: Idempotency[ReconcileResult] | None,
        match: Match | None,
        prepared: _Prepared,
    ) -> ReconcileResult | Replay:
        """Plans and writes the statement in one transaction.

        Raises:
            _OvertakenError: what was prepared does not hold any more.
        """
        now = prepared.now
        try:
            async with (
                self._turns.take(context.project, command.partition),
                self._ledger.write(context.project) as session,
            ):
                known = await repeats.claim(session, idempotency, now)
                if known is not None:
                    return known
                if await session.entities.hold(entities_of(command)):
                    raise _OvertakenError
                locked = await session.partitions.lock(command.partition, now)
                if match is not None and await _overtaken(session, locked, match):
                    raise _OvertakenError
                result = await self._apply(session, locked, context, command, match, prepared)
                if command.validate_only:
                    raise _DryRun(result)
                await repeats.complete(session, idempotency, result, _mentioned(result))
                return result
        except _DryRun as dry:
            return dry.result

    async def _resolved(self, context: CallContext, command: ReconcileCommand) -> ReconcileCommand:
        """Returns the statement about the entities that those which it names were merged into."""
        named = entities_of(command)
        if not named:
            return command
        async with self._ledger.read(context.project) as session:
            return with_entities(command, await session.entities.resolve(named))

    async def _apply(
        self,
        session: WriteSession,
        locked: LockedPartition,
        context: CallContext,
        command: ReconcileCommand,
        match: Match | None,
        prepared: _Prepared,
    ) -> ReconcileResult:
        """Plans and writes the statement under its partition's lock."""
        trust = min(command.trust, context.trust_cap)
        planner = Planner(session, locked, command, trust, prepared.now, self._ids, prepared.proposal)
        plan = await planner.plan(match)
        if plan is None:
            raise _OvertakenError
        writer = StatementWriter(self._writer, self._ids, session, locked, context, command)
        written = await writer.write(plan, prepared.vector, prepared.now)
        decision = Decision(
            decision_id=self._ids.new(),
            basis=plan.basis,
            judge=match.judge if match else "",
            action=plan.action,
            candidates=match.candidates if match else (),
            thresholds=prepared.thresholds,
            rationale=plan.rationale,
            create_time=locked.recorded_time,
            fact_id=written.fact.fact_id,
        )
        if not command.validate_only:
            await session.decisions.save(decision)
        conflict = None
        if written.conflict_id is not None and plan.action is ReconcileAction.CONFLICTED:
            conflict = await session.conflicts.get(written.conflict_id)
        return ReconcileResult(
            action=plan.action,
            fact=written.fact,
            decision=decision,
            source=written.source,
            similarity=match.similarity if match else None,
            matched_fact=written.matched,
            evolution_type=_evolution_type(plan),
            conflict=conflict,
            warnings=(*plan.warnings, *prepared.warnings),
        )


async def _overtaken(session: WriteSession, locked: LockedPartition, match: Match) -> bool:
    """Tells whether something that the match rests on changed since it was made."""
    if locked.revision == match.revision + 1:
        return False
    return await session.facts.changed_since(locked.partition_id, match.revision, match.probe)


def _evolution_type(plan: Plan) -> EvolutionType | None:
    if plan.placing.is_new:
        return plan.lineage.evolution_type
    return None


def _mentioned(result: ReconcileResult) -> list[UUID]:
    facts = [result.fact, result.matched_fact, *(result.conflict.facts if result.conflict else ())]
    return [fact.fact_id for fact in facts if fact is not None]

"""Branch: adds a fact that a caller derives from known ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.commands import ReconcileCommand, Violations, validate_interval, validate_reconcile
from concord_server.domain.enums import (
    DecisionBasis,
    EvolutionType,
    FactStatus,
    FactType,
    ReconcileAction,
)
from concord_server.domain.errors import (
    ConcurrentUpdateError,
    FactNotFoundError,
    IllegalStatusTransitionError,
    PartitionMismatchError,
    SlotOccupiedError,
)
from concord_server.domain.model import Claim, Fact, Partition, Source, Thresholds
from concord_server.domain.placement import Outcome, Placing, Statement, challenge, place
from concord_server.domain.settlement import Timeline
from concord_server.domain.text import text_key
from concord_server.domain.values import text_value_key
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.embedder import Embedder
from concord_server.ports.ledger import Ledger, LockedPartition, WriteSession
from concord_server.services import idempotency as repeats
from concord_server.services.claim_slots import ClaimSlots
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.drafts import Lineage
from concord_server.services.embedding import embed_one
from concord_server.services.entities import entities_of, with_entities
from concord_server.services.reconcile_plan import Plan
from concord_server.services.statement_writer import StatementWriter
from concord_server.services.timeline_writer import TimelineWriter
from concord_server.services.turns import Turns

REPLACING = frozenset({EvolutionType.CORRECTION, EvolutionType.CONTRADICTION})
"""Evolution types that supersede the parent; the others leave it."""

_NOT_EMBEDDED = "the embedder is unavailable: the fact will be found by search once it is back"


@dataclass(frozen=True, slots=True)
class BranchCommand:
    """A fact to be derived.

    Attributes:
        statement: the new fact's fields; its partition is the parents' wherever it is left open.
        type_given: whether the caller named a fact type.
    """

    parent_ids: tuple[UUID, ...]
    evolution_type: EvolutionType
    statement: ReconcileCommand
    type_given: bool = False


@dataclass(frozen=True, slots=True)
class Branched:
    """A fact that was derived.

    Attributes:
        source: as stored with the fact, if one came along.
        warnings: for people; nothing was refused.
    """

    fact: Fact
    source: Source | None = None
    warnings: tuple[str, ...] = ()


class Branch:
    """Adds a fact below its parents; corrections and contradictions supersede the parent by event time."""

    def __init__(self, ledger: Ledger, embedder: Embedder, clock: Clock, ids: Ids) -> None:
        self._ledger = ledger
        self._embedder = embedder
        self._clock = clock
        self._ids = ids
        self._writer = TimelineWriter(ids)
        self._turns = Turns()

    async def execute(
        self, context: CallContext, command: BranchCommand, idempotency: Idempotency[Branched] | None = None
    ) -> Branched | Replay:
        """Returns the new fact, in the partition of its parents.

        Raises:
            InvalidFieldsError: the command is malformed, or names another partition than the parents'.
            FactNotFoundError: a parent does not exist.
            IllegalStatusTransitionError: a parent was erased.
            SlotOccupiedError: the claim's slot holds another fact, and the type does not replace it.
            ConcurrentUpdateError: an entity that it names was merged meanwhile.
            OverloadedError: too many texts wait to be embedded.
        """
        now = self._clock.now()
        _validate(command, now)
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        command = await self._resolved(context, command)
        partition = await self._partition(context, command)
        statement = _within(command.statement, partition)
        _validate_interval(statement, now)
        vector = await embed_one(self._embedder, statement.text)
        async with (
            self._turns.take(context.project, partition),
            self._ledger.write(context.project) as session,
        ):
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            if await session.entities.hold(entities_of(statement)):
                raise ConcurrentUpdateError("an entity was merged into another meanwhile; send the call again")
            locked = await session.partitions.lock(partition, now)
            parents = await _parents(session, command.parent_ids, partition)
            derived = _Derivation(session, locked, command, statement, parents, context, self._ids, now)
            plan = await derived.plan()
            writer = StatementWriter(self._writer, self._ids, session, locked, context, statement)
            written = await writer.write(plan, vector, now)
            warnings = (*derived.warnings, *(() if vector is not None else (_NOT_EMBEDDED,)))
            branched = Branched(written.fact, written.source, warnings)
            await repeats.complete(session, idempotency, branched, [written.fact.fact_id])
            return branched

    async def _resolved(self, context: CallContext, command: BranchCommand) -> BranchCommand:
        """Returns the command about the entities that those which it names were merged into."""
        named = entities_of(command.statement)
        if not named:
            return command
        async with self._ledger.read(context.project) as session:
            merged = await session.entities.resolve(named)
        return replace(command, statement=with_entities(command.statement, merged))

    async def _partition(self, context: CallContext, command: BranchCommand) -> Partition:
        async with self._ledger.read(context.project) as session:
            parents = await session.facts.get_many(command.parent_ids)
        found = {parent.fact_id: parent.partition for parent in parents}
        for parent_id in command.parent_ids:
            if parent_id not in found:
                raise FactNotFoundError(str(parent_id))
        partition = found[command.parent_ids[0]]
        if any(other != partition for other in found.values()):
            raise PartitionMismatchError.of("parent_ids", "must be facts of one partition")
        _check_partition(command, partition)
        return partition


class _Derivation:
    """One branch being planned under its partition's lock."""

    def __init__(
        self,
        session: WriteSession,
        locked: LockedPartition,
        command: BranchCommand,
        statement: ReconcileCommand,
        parents: Sequence[Fact],
        context: CallContext,
        ids: Ids,
        now: datetime,
    ) -> None:
        self._session = session
        self._locked = locked
        self._type = command.evolution_type
        self._command = statement
        self._parents = tuple(parents)
        self._parent_ids = command.parent_ids
        self._trust = min(statement.trust, context.trust_cap)
        self._ids = ids
        self._now = now
        self.warnings: tuple[str, ...] = ()

    async def plan(self) -> Plan:
        """Returns where the new fact goes."""
        if self._command.claim is not None:
            return await self._with_claim()
        statement = self._statement(text_value_key(text_key(self._command.text)))
        if self._type not in REPLACING:
            timeline = Timeline(statement.new_fact_id)
            return self._plan(timeline, statement, place(timeline, statement, self._now))
        parent = self._parents[0]
        timeline = await self._session.slots.timeline(parent.slot_id)
        if parent.claim is None:
            return self._plan(timeline, statement, place(timeline, statement, self._now))
        reason = "it has no claim, and what it is to replace has one"
        return self._plan(timeline, statement, challenge(timeline, statement, self._now, reason))

    async def _with_claim(self) -> Plan:
        given = self._command.claim
        assert given is not None
        command = self._command
        start = command.valid_from or command.observe_time or self._now
        slot = await ClaimSlots(self._session, self._locked, self._ids).find(given, command.type, start)
        assert slot is not None, "nothing was proposed"
        self.warnings = slot.warnings
        timeline = Timeline(slot.slot_id) if slot.is_new else await self._session.slots.timeline(slot.slot_id)
        active = timeline.active()
        replaces = self._type in REPLACING and active is not None and active.fact_id in self._parent_ids
        if active is not None and not replaces:
            raise SlotOccupiedError(
                f"fact {active.fact_id} holds in the slot of the claim; correct or contradict it instead"
            )
        statement = replace(self._statement(slot.value_key), value=slot.claim.value)
        return self._plan(timeline, statement, place(timeline, statement, self._now), slot.claim)

    def _plan(
        self, timeline: Timeline, statement: Statement, placing: Placing, claim: Claim | None = None
    ) -> Plan:
        if not placing.is_new:
            raise SlotOccupiedError(f"fact {placing.fact_id} says the same: {placing.reason}")
        return Plan(
            timeline,
            statement,
            placing,
            _action(placing),
            DecisionBasis.SLOT,
            placing.reason,
            claim=claim,
            lineage=Lineage(self._type, self._parents),
            matched=self._parents[0],
        )

    def _statement(self, key: str) -> Statement:
        command = self._command
        return Statement(
            assertion_id=self._ids.new(),
            new_fact_id=self._ids.new(),
            time=command.valid_from or command.observe_time or self._now,
            value_key=key,
            correct=self._type is EvolutionType.CORRECTION,
            trust=self._trust,
            end=command.valid_to,
            ends=command.valid_to is not None,
        )


def _validate(command: BranchCommand, now: datetime) -> None:
    found = Violations()
    count = len(command.parent_ids)
    if count == 0:
        found.add("parent_ids", "must name at least one fact")
    elif len(set(command.parent_ids)) != count:
        found.add("parent_ids", "must not name a fact twice")
    elif count > 1 and command.evolution_type is not EvolutionType.MERGE:
        found.add("parent_ids", "may name several facts only for EVOLUTION_TYPE_MERGE")
    if command.evolution_type is EvolutionType.ORIGINAL:
        found.add("evolution_type", "must not be EVOLUTION_TYPE_ORIGINAL: a branch has parents")
    statement = command.statement
    if not command.type_given:
        # An occurrence may end when it begins; whether it is one is known once the parents are.
        statement = replace(statement, type=FactType.EVENT)
    validate_reconcile(statement, Thresholds(), now, found)
    found.raise_if_any()


def _validate_interval(statement: ReconcileCommand, now: datetime) -> None:
    found = Violations()
    start = statement.valid_from or statement.observe_time or now
    validate_interval(start, statement.valid_to, statement.type, found)
    found.raise_if_any()


def _check_partition(command: BranchCommand, partition: Partition) -> None:
    """Checks that whatever the caller says of the partition is the parents'.

    Raises:
        PartitionMismatchError: something is not.
    """
    statement = command.statement
    pairs: list[tuple[str, object, object]] = [
        ("domain", statement.domain, partition.domain),
        ("access_scope", statement.access_scope, partition.access_scope),
        ("owner", statement.partition.owner, partition.owner),
    ]
    if command.type_given:
        pairs.append(("type", statement.type, partition.type))
    for name, given, inherited in pairs:
        if given and given != inherited:
            raise PartitionMismatchError.of(name, "must be that of the parents; leave it out to inherit it")


def _within(statement: ReconcileCommand, partition: Partition) -> ReconcileCommand:
    return replace(
        statement,
        domain=partition.domain,
        access_scope=partition.access_scope,
        type=partition.type,
        owner=partition.owner,
    )


async def _parents(session: WriteSession, parent_ids: Sequence[UUID], partition: Partition) -> list[Fact]:
    """Returns the parents as they are under their partition's lock.

    Raises:
        IllegalStatusTransitionError: one was erased.
        ConcurrentUpdateError: one moved to another partition.
    """
    facts = await session.facts.get_many(parent_ids)
    for fact in facts:
        if fact.status is FactStatus.DELETED:
            raise IllegalStatusTransitionError(fact.status.value, "a parent")
        if fact.partition != partition:
            raise ConcurrentUpdateError(f"fact {fact.fact_id} was moved meanwhile; send the call again")
    return facts


def _action(placing: Placing) -> ReconcileAction:
    if placing.outcome is Outcome.CONFLICTED:
        return ReconcileAction.CONFLICTED
    return ReconcileAction.BRANCHED

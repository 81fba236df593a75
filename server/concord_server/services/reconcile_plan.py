"""What to do with a statement, planned under its partition's lock.

Three ways in: a claim (its slot decides), an occurrence (equal text, owner and time), and a plain statement
(what :mod:`concord_server.services.matching` found). All three end as one :class:`Plan`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from concord_server.domain.choice import ChoiceKind
from concord_server.domain.commands import ClaimInput, ReconcileCommand
from concord_server.domain.enums import (
    SUPPRESSING_STATUSES,
    Cardinality,
    ContradictionPolicy,
    DecisionBasis,
    EvolutionType,
    FactStatus,
    FactType,
    ReconcileAction,
    Trust,
)
from concord_server.domain.model import Claim, Fact
from concord_server.domain.placement import Outcome, Placing, Statement, challenge, place
from concord_server.domain.predicates import Proposal, teaches
from concord_server.domain.settlement import Timeline
from concord_server.domain.text import text_key
from concord_server.domain.timeline import AssertionState
from concord_server.domain.values import text_value_key
from concord_server.ports.clock import Ids
from concord_server.ports.ledger import LockedPartition, WriteSession
from concord_server.services.claim_slots import ClaimSlot, ClaimSlots
from concord_server.services.drafts import UNRELATED, Lineage
from concord_server.services.matching import Match, exact_match
from concord_server.services.timeline_writer import text_digest

_ACTIONS = {
    Outcome.REINFORCED: ReconcileAction.MERGED,
    Outcome.SUPPRESSED: ReconcileAction.SUPPRESSED,
    Outcome.CONFLICTED: ReconcileAction.CONFLICTED,
    Outcome.HISTORICAL: ReconcileAction.BRANCHED,
    Outcome.SUPERSEDED: ReconcileAction.BRANCHED,
    Outcome.CREATED: ReconcileAction.CREATED,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """A statement placed on a timeline, and how to tell the caller.

    Attributes:
        timeline: the slot or line as it is now, before the statement.
        claim: of the fact that the statement becomes, should it become one.
        lineage: of that fact.
        matched: the fact that the statement met.
        adopted: a known fact without a claim that gains the statement's.
        alias: a name that turned out to mean the claim's predicate, to be learned; empty for none.
    """

    timeline: Timeline
    statement: Statement
    placing: Placing
    action: ReconcileAction
    basis: DecisionBasis
    rationale: str
    claim: Claim | None = None
    lineage: Lineage = UNRELATED
    matched: Fact | None = None
    adopted: Fact | None = None
    alias: str = ""
    warnings: tuple[str, ...] = ()


class Planner:
    """Plans statements; one per use of :meth:`plan`'s session, built by the use case."""

    def __init__(
        self,
        session: WriteSession,
        locked: LockedPartition,
        command: ReconcileCommand,
        trust: Trust,
        now: datetime,
        ids: Ids,
        proposal: Proposal | None = None,
    ) -> None:
        self._session = session
        self._locked = locked
        self._command = command
        self._trust = trust
        self._now = now
        self._ids = ids
        self._proposal = proposal
        self._start = command.valid_from or command.observe_time or now

    async def plan(self, match: Match | None) -> Plan | None:
        """Returns the plan, or ``None`` when what it rests on is gone and must be found again."""
        if self._command.claim is not None:
            return await self._plan_claim()
        if match is None:
            return await self._plan_occurrence()
        if match.basis is DecisionBasis.EXACT_TEXT:
            return await self._plan_exact()
        return await self._plan_match(match)

    async def _plan_exact(self) -> Plan | None:
        facts = await self._same_wording()
        fact = exact_match(facts, self._start)
        if fact is None:
            return None
        plan = await self._corroborate(fact, DecisionBasis.EXACT_TEXT, "the same wording")
        return plan

    async def _plan_occurrence(self) -> Plan:
        """Occurrences are equal when text, owner and time are; they never compete."""
        same = [fact for fact in await self._same_wording() if fact.valid_from == self._start]
        fact = exact_match(same, self._start)
        if fact is not None:
            return await self._corroborate(fact, DecisionBasis.EXACT_TEXT, "the same occurrence")
        return self._create(DecisionBasis.NO_CANDIDATE, "a new occurrence")

    async def _plan_match(self, match: Match) -> Plan | None:
        choice = match.choice
        if choice.kind is ChoiceKind.CREATE or match.target is None:
            return self._create(match.basis, match.rationale)
        target = await self._session.facts.get(match.target.fact_id)
        if target is None or target.status is FactStatus.DELETED:
            return None
        if choice.kind is ChoiceKind.MERGE:
            return await self._corroborate(target, match.basis, match.rationale)
        evolution = choice.evolution_type or EvolutionType.EXTENSION
        lineage = Lineage(evolution, (target,))
        if choice.kind is ChoiceKind.BRANCH:
            plan = self._create(match.basis, match.rationale)
            return replace(plan, action=ReconcileAction.BRANCHED, lineage=lineage, matched=target)
        return await self._contradict(target, lineage, match)

    async def _contradict(self, target: Fact, lineage: Lineage, match: Match) -> Plan:
        timeline = await self._session.slots.timeline(target.slot_id)
        statement = self._statement(text_value_key(text_key(self._command.text)))
        if target.claim is not None:
            reason = "it has no claim, and what it contradicts has one"
            placing = challenge(timeline, statement, self._now, reason)
        else:
            placing = place(timeline, statement, self._now)
        action = action_of(placing)
        if action is ReconcileAction.CREATED:
            action = ReconcileAction.BRANCHED
        met = timeline.fact(placing.met_fact_id) if placing.met_fact_id else None
        parents = parents_of(timeline, placing, met or target)
        return Plan(
            timeline,
            statement,
            placing,
            action,
            match.basis,
            f"{match.rationale} ({placing.reason})",
            lineage=Lineage(lineage.evolution_type, parents),
            matched=met or target,
        )

    async def _corroborate(self, fact: Fact, basis: DecisionBasis, rationale: str) -> Plan:
        """Plans a statement that says what a known fact says."""
        timeline = await self._session.slots.timeline(fact.slot_id)
        statement = self._statement(fact.value_key, fact)
        if fact.status in SUPPRESSING_STATUSES:
            assertion = statement.assertion(fact.fact_id, AssertionState.SUSPENDED)
            placing = Placing(
                Outcome.SUPPRESSED,
                fact.fact_id,
                False,
                (*timeline.assertions, assertion),
                met_fact_id=fact.fact_id,
                reason=f"the same was {fact.status.value.lower()} before",
            )
        else:
            placing = place(timeline, statement, self._now)
        met = timeline.fact(placing.met_fact_id) if placing.met_fact_id else None
        return Plan(
            timeline,
            statement,
            placing,
            action_of(placing),
            basis,
            f"{rationale} ({placing.reason})",
            claim=fact.claim,
            lineage=_lineage(timeline, placing, met),
            matched=met or fact,
        )

    def _create(self, basis: DecisionBasis, rationale: str) -> Plan:
        """Plans a statement that begins a line of its own."""
        statement = self._statement(text_value_key(text_key(self._command.text)))
        timeline = Timeline(statement.new_fact_id)
        placing = place(timeline, statement, self._now)
        return Plan(timeline, statement, placing, ReconcileAction.CREATED, basis, rationale)

    async def _plan_claim(self) -> Plan | None:
        given = self._command.claim
        assert given is not None
        slots = ClaimSlots(self._session, self._locked, self._ids)
        slot = await slots.find(given, self._command.type, self._start, self._proposal)
        if slot is None:
            return None
        timeline = Timeline(slot.slot_id) if slot.is_new else await self._session.slots.timeline(slot.slot_id)
        # The slots of occurrences and of one among several values are named by the value, so it stands as a whole.
        whole = self._command.type is FactType.EVENT or slot.claim.cardinality is Cardinality.MULTI
        statement = replace(self._statement(slot.value_key), value=slot.claim.value, whole=whole)
        placing = place(timeline, statement, self._now)
        met = timeline.fact(placing.met_fact_id) if placing.met_fact_id else None
        equal = placing.outcome in {Outcome.REINFORCED, Outcome.SUPPRESSED}
        plan = Plan(
            timeline,
            statement,
            placing,
            action_of(placing),
            DecisionBasis.EXACT_CLAIM if equal else DecisionBasis.SLOT,
            placing.reason,
            claim=slot.claim,
            lineage=_lineage(timeline, placing, met),
            matched=met,
            alias=self._alias(given, slot, placing),
            warnings=slot.warnings,
        )
        if placing.outcome is Outcome.CREATED and not timeline.facts:
            return await self._adopted(plan, slot.claim) or plan
        return plan

    def _alias(self, given: ClaimInput, slot: ClaimSlot, placing: Placing) -> str:
        """Returns the name that the statement teaches to mean the predicate of its slot, empty for none."""
        taught = teaches(slot.meaning.ground, placing.outcome, self._trust)
        return given.normalised().predicate if taught else ""

    async def _adopted(self, plan: Plan, claim: Claim) -> Plan | None:
        """Lets a live twin of the same wording gain the claim, if it stands alone on its line.

        Its statements move to the slot with it, now as statements of the claim's value.
        """
        twins = [f for f in await self._same_wording() if f.status is FactStatus.ACTIVE and f.claim is None]
        if not twins:
            return None
        twin = twins[0]
        line = await self._session.slots.timeline(twin.slot_id)
        if len(line.facts) > 1 or line.conflict_id is not None:
            return None
        gained = replace(twin, claim=claim, value_key=plan.statement.value_key, slot_id=plan.timeline.slot_id)
        moved = tuple(replace(a, value_key=plan.statement.value_key, value=claim.value) for a in line.assertions)
        placing = place(Timeline(plan.timeline.slot_id, (gained,), moved), plan.statement, self._now)
        if placing.is_new:
            return None
        return replace(
            plan,
            placing=placing,
            action=ReconcileAction.MERGED,
            basis=DecisionBasis.EXACT_TEXT,
            rationale="a known fact of the same wording gains the claim",
            matched=twin,
            adopted=gained,
            lineage=UNRELATED,
        )

    async def _same_wording(self) -> list[Fact]:
        return await self._session.facts.by_text(self._locked.partition_id, text_digest(self._command.text))

    def _statement(self, key: str, corroborates: Fact | None = None) -> Statement:
        command = self._command
        start = self._start
        if corroborates is not None and _says_nothing_of_time(command) and _is_over(corroborates, start):
            start = corroborates.valid_from
        supersede = command.contradiction_policy is not ContradictionPolicy.CONFLICT
        return Statement(
            assertion_id=self._ids.new(),
            new_fact_id=self._ids.new(),
            time=start,
            value_key=key,
            value=corroborates.claim.value if corroborates and corroborates.claim else None,
            supersede=supersede,
            trust=self._trust,
            end=command.valid_to,
            ends=command.valid_to is not None,
        )


def _says_nothing_of_time(command: ReconcileCommand) -> bool:
    return command.valid_from is None and command.valid_to is None


def _is_over(fact: Fact, moment: datetime) -> bool:
    """Whether an active fact's own stated end has passed: repeating its words does not begin it again."""
    return fact.status is FactStatus.ACTIVE and fact.valid_to is not None and fact.valid_to <= moment


def action_of(placing: Placing) -> ReconcileAction:
    """Returns what a caller is told of where a statement went."""
    if placing.outcome is Outcome.SUPERSEDED and not placing.is_new:
        return ReconcileAction.MERGED
    return _ACTIONS[placing.outcome]


def _lineage(timeline: Timeline, placing: Placing, met: Fact | None) -> Lineage:
    if not placing.is_new or placing.outcome is Outcome.CREATED:
        return UNRELATED
    return Lineage(EvolutionType.CONTRADICTION, parents_of(timeline, placing, met))


def parents_of(timeline: Timeline, placing: Placing, met: Fact | None) -> tuple[Fact, ...]:
    """Late history hangs on what held before it; everything else on what it met."""
    if placing.outcome is Outcome.HISTORICAL:
        previous = placing.previous_fact_id
        fact = timeline.fact(previous) if previous else None
        return (fact,) if fact else ()
    return (met,) if met else ()

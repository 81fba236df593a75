"""What a person's resolution of a conflict means for its slot, before the slot is settled anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from concord_server.domain.enums import Cardinality, FactStatus
from concord_server.domain.model import Fact
from concord_server.domain.settlement import Timeline
from concord_server.domain.timeline import Assertion, AssertionKind, AssertionState


def keeping_one(before: Timeline, members: Sequence[Fact], kept: UUID, decision_id: UUID) -> Timeline:
    """Returns the slot with the kept fact's statements admitted; others' count only for the time before it.

    A challenger that is not kept never held; an incumbent that is not kept held until the kept one begins. The
    kept challenger's first statement is restated as a correction, so that it also wins at an instant for which
    something else was stated.

    Args:
        before: the slot with its open conflict.
        members: facts of the conflict.
        kept: id of the one to keep.
        decision_id: of the assertion that records the decision.
    """
    by_id = {fact.fact_id: fact for fact in members}
    start = by_id[kept].valid_from
    waiting = [a for a in before.assertions if a.fact_id == kept and a.state is AssertionState.QUARANTINED]
    first = min(waiting, key=lambda a: a.order, default=None)

    def state(assertion: Assertion) -> AssertionState:
        if assertion.fact_id not in by_id:
            return assertion.state
        if assertion.state is AssertionState.QUARANTINED:
            admits = assertion.fact_id == kept and assertion is not first
            return AssertionState.ADMITTED if admits else AssertionState.OVERRULED
        if assertion.state is AssertionState.ADMITTED and assertion.fact_id != kept and assertion.time >= start:
            return AssertionState.OVERRULED
        return assertion.state

    timeline = _restated(before, {a.assertion_id: state(a) for a in before.assertions})
    if first is None:
        return timeline
    decided = replace(
        first,
        assertion_id=decision_id,
        kind=AssertionKind.CORRECT,
        state=AssertionState.ADMITTED,
        value_key=by_id[kept].value_key,
        value=claim.value if (claim := by_id[kept].claim) else first.value,
    )
    return replace(timeline, assertions=(*timeline.assertions, decided))


def keeping_none(before: Timeline, members: Sequence[Fact]) -> Timeline:
    """Returns the slot with every member of its conflict retracted, and their statements with them."""
    ids = {fact.fact_id for fact in members}
    taken_back = {AssertionState.ADMITTED, AssertionState.QUARANTINED}
    timeline = _restated(
        before,
        {
            a.assertion_id: AssertionState.SUSPENDED if a.fact_id in ids and a.state in taken_back else a.state
            for a in before.assertions
        },
    )
    facts = tuple(replace(f, status=FactStatus.RETRACTED) if f.fact_id in ids else f for f in timeline.facts)
    return replace(timeline, facts=facts)


def standing_alone(before: Timeline, fact: Fact, slot_id: UUID) -> Timeline:
    """Returns a slot of its own for a member, as slots of several values have them.

    Its statements now state its value as a whole: what patches carried forward came from a slot that they left.
    """
    kept = before.fact(fact.fact_id) or fact
    own = tuple(_whole(a, kept) for a in before.assertions if a.fact_id == fact.fact_id)
    status = FactStatus.ACTIVE if kept.status is FactStatus.PENDING else kept.status
    claim = replace(kept.claim, cardinality=Cardinality.MULTI) if kept.claim else None
    moved = replace(kept, slot_id=slot_id, status=status, claim=claim, conflict_id=None)
    return Timeline(slot_id, (moved,), own)


def _whole(assertion: Assertion, fact: Fact) -> Assertion:
    waits = assertion.state is AssertionState.QUARANTINED
    return replace(
        assertion,
        kind=AssertionKind.STATE if assertion.kind is AssertionKind.PATCH else assertion.kind,
        state=AssertionState.ADMITTED if waits else assertion.state,
        value_key=fact.value_key,
        value=fact.claim.value if fact.claim else assertion.value,
    )


def _restated(before: Timeline, states: Mapping[UUID, AssertionState]) -> Timeline:
    return replace(
        before,
        assertions=tuple(
            a if a.state is states[a.assertion_id] else replace(a, state=states[a.assertion_id])
            for a in before.assertions
        ),
    )

"""Applies a folded plan within one transaction, after making sure that nothing it rests on changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.enums import ObservationAction, ObservationState
from concord_server.domain.model import Fact
from concord_server.domain.observations import Observation, basis_of, is_observable
from concord_server.domain.observing import Change, Pool, Refused
from concord_server.domain.runs import ObserveProgress
from concord_server.ports.clock import Ids
from concord_server.ports.ledger import WriteSession
from concord_server.ports.observations import GroupLease, ObservationWrite, Told
from concord_server.services.observe_twins import Folded

_COUNTED = {
    ObservationAction.CREATED: "observations_created",
    ObservationAction.UPDATED: "observations_updated",
    ObservationAction.MERGED: "observations_merged",
    ObservationAction.RETIRED: "observations_retired",
}
_NOT_REFUSALS = frozenset({Refused.UNCHANGED, Refused.UPDATED_ANYWAY})
"""What was not followed because it changes nothing."""


async def apply(
    session: WriteSession,
    lease: GroupLease,
    pool: Pool,
    folded: Folded,
    spent: ObserveProgress,
    now: datetime,
    ids: Ids,
) -> bool:
    """Stores what a plan does, marks its batch as considered, and lets the run tell of it.

    Returns whether it did: it does nothing when a fact or an observation that the plan rests on changed meanwhile.

    Raises:
        LeaseLostError: somebody else has the group.
        ConcurrentUpdateError: the transaction lost to another.
    """
    await session.observing.hold(lease)
    facts = await _still(session, pool, folded, now)
    if facts is None:
        return False
    touched = _touched(folded)
    current = {each.observation_id: each for each in await session.observing.lock(sorted(touched))}
    if any(current.get(each) != folded.observations[each] for each in touched):
        return False
    absorbed = [each for change in folded.plan.changes for each in change.absorbed]
    support = [s.fact_id for each in absorbed for s in current[each].support]
    facts |= {fact.fact_id: fact for fact in await session.facts.get_many(support)}
    writes, told = [], []
    for change in folded.plan.changes:
        for write in _writes(change, current, facts, folded, ids):
            writes.append(write)
            told.append(Told(write.action, write.observation_id, write.version))
    latest = max([now, *(each.update_time for each in current.values())])
    await session.observing.save(lease, writes, latest)
    await session.observing.consider(lease, pool.batch, now)
    told += _kept(pool, folded, {write.observation_id for write in writes})
    await session.observing.settle(lease, pool.batch, told, _counts(pool, folded, told, spent), now)
    return True


async def _still(session: WriteSession, pool: Pool, folded: Folded, now: datetime) -> dict[UUID, Fact] | None:
    """Locks the partitions of every fact that a plan rests on, and returns the facts as they are then.

    ``None`` when one of them is not what was shown any more.
    """
    shown = pool.facts
    cited = {fact_id for change in folded.plan.changes for fact_id in change.fact_ids}
    wanted = [fact for fact_id, fact in shown.items() if fact_id in cited or fact in pool.batch]
    partitions = {fact.partition for fact in wanted}
    for partition in sorted(partitions, key=session.entities.partition_id):
        await session.partitions.lock(partition, now)
    current = {fact.fact_id: fact for fact in await session.facts.get_many([fact.fact_id for fact in wanted])}
    for fact in wanted:
        found = current.get(fact.fact_id)
        if found is None or not is_observable(found) or basis_of(found) != basis_of(fact):
            return None
    return current


def _touched(folded: Folded) -> set[UUID]:
    named = {each for change in folded.plan.changes for each in change.absorbed}
    return named | {c.observation_id for c in folded.plan.changes if c.observation_id is not None}


def _writes(
    change: Change,
    current: Mapping[UUID, Observation],
    facts: Mapping[UUID, Fact],
    folded: Folded,
    ids: Ids,
) -> Iterable[ObservationWrite]:
    """Yields the states that a change leads to: that of its observation, and of those that it absorbs."""
    known = current[change.observation_id] if change.observation_id is not None else None
    before = {each.fact_id for each in known.support} if known is not None else set()
    gained = [*change.fact_ids, *(s.fact_id for each in change.absorbed for s in current[each].support)]
    observation_id = known.observation_id if known is not None else ids.new()
    retires = change.action is ObservationAction.RETIRED
    yield ObservationWrite(
        observation_id=observation_id,
        version=1 if known is None else known.version + 1,
        text=change.text,
        state=ObservationState.RETIRED if retires else ObservationState.ACTIVE,
        action=change.action,
        reason=change.reason,
        attached=[facts[fact_id] for fact_id in dict.fromkeys(gained) if fact_id not in before],
        embedding=folded.vectors.get(change.text),
    )
    for each in change.absorbed:
        absorbed = current[each]
        yield ObservationWrite(
            observation_id=each,
            version=absorbed.version + 1,
            text=absorbed.text,
            state=ObservationState.RETIRED,
            action=ObservationAction.RETIRED,
            reason=f"merged into {observation_id}",
        )


def _kept(pool: Pool, folded: Folded, written: set[UUID]) -> list[Told]:
    """Returns what is told of observations that part of an answer was about and that stay as they are."""
    kept: dict[UUID, Told] = {}
    for refusal in folded.plan.refusals:
        known = pool.by_id.get(refusal.observation_id) if refusal.observation_id else None
        if known is not None and known.observation_id not in written:
            told = Told(ObservationAction.KEPT, known.observation_id, known.version, refusal.why.value)
            kept.setdefault(known.observation_id, told)
    return list(kept.values())


def _counts(pool: Pool, folded: Folded, told: Sequence[Told], spent: ObserveProgress) -> ObserveProgress:
    counted = {name: sum(each.action is action for each in told) for action, name in _COUNTED.items()}
    rejected = sum(refusal.why not in _NOT_REFUSALS for refusal in folded.plan.refusals)
    return replace(spent, processed=len(pool.batch), rejected=rejected, **counted)

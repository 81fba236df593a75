"""Whatever ends a member of a conflict re-evaluates it; and what resolving it by hand leaves."""

from __future__ import annotations

import pytest
from concord_server.domain.commands import ClaimInput, KeepAll, KeepNone, KeepOne
from concord_server.domain.enums import ConflictState, ContradictionPolicy, FactStatus
from concord_server.domain.errors import SlotOccupiedError
from concord_server.domain.model import Conflict, Fact
from concord_server.domain.queries import ConflictFilter, ConflictSummary, FactOrder
from concord_server.domain.values import Json
from concord_server.services.conflicts import GetConflict
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.integration.usecases.conftest import Desk
from tests.integration.usecases.test_claims import day

ENDS = [
    FactStatus.SUPERSEDED,
    FactStatus.DISPUTED,
    FactStatus.ARCHIVED,
    FactStatus.RETRACTED,
    FactStatus.DELETED,
]
RETRACTED, SUPERSEDED = FactStatus.RETRACTED, FactStatus.SUPERSEDED


async def say(desk: Desk, value: Json, number: int, *, rival: bool = False) -> Fact:
    policy = ContradictionPolicy.CONFLICT if rival else ContradictionPolicy.SUPERSEDE
    claim = ClaimInput("Kai", "employer", value)
    said = await desk.say(f"Kai: {value}", claim=claim, observe_time=day(number), contradiction_policy=policy)
    return said.fact


async def contested(desk: Desk) -> tuple[Fact, Fact, Fact]:
    """An incumbent and two challengers."""
    incumbent = await say(desk, "A", 1)
    challengers = await say(desk, "B", 2, rival=True), await say(desk, "C", 3, rival=True)
    return (incumbent, *challengers)


async def the_conflict(desk: Desk, fact: Fact) -> Conflict:
    assert fact.conflict_id is not None
    return await GetConflict(desk.ledger).execute(desk.context, fact.conflict_id)


async def summary(desk: Desk, state: ConflictState | None = None) -> ConflictSummary:
    where = ConflictFilter(state=state)
    return (await desk.lists_conflicts.execute(desk.context, where, FactOrder(), None, 50))[1]


def ids(*facts: Fact) -> list[object]:
    return [fact.fact_id for fact in facts]


@pytest.mark.parametrize("status", ENDS)
async def test_a_challenger_that_ends_leaves_and_the_last_one_resolves_the_conflict(
    desk: Desk, status: FactStatus
):
    incumbent, first, last = await contested(desk)
    ended = await desk.move(first, status)
    assert (ended.status, ended.conflict_id) == (status, None)
    conflict = await the_conflict(desk, last)
    assert (conflict.state, ids(*conflict.facts)) == (ConflictState.OPEN, ids(incumbent, last))
    await desk.move(last, status)
    assert (await the_conflict(desk, last)).state is ConflictState.RESOLVED
    assert (await desk.read(incumbent)).conflict_id is None
    assert (await desk.read(incumbent)).status is FactStatus.ACTIVE
    assert (await summary(desk)).open_count == 0


@pytest.mark.parametrize("status", ENDS)
async def test_an_incumbent_that_ends_leaves_and_the_challengers_stay_for_review(desk: Desk, status: FactStatus):
    incumbent, first, last = await contested(desk)
    ended = await desk.move(await desk.read(incumbent), status)
    assert (ended.status, ended.conflict_id) == (status, None)
    conflict = await the_conflict(desk, last)
    assert (conflict.state, ids(*conflict.facts)) == (ConflictState.OPEN, ids(first, last))
    resolved = await desk.resolves.execute(desk.context, conflict.conflict_id, KeepOne(last.fact_id), "")
    assert isinstance(resolved, Conflict)
    assert (await desk.read(last)).status is FactStatus.ACTIVE
    assert (await desk.read(first)).status is SUPERSEDED


async def test_an_incumbent_that_is_superseded_gives_way_to_the_new_one(desk: Desk):
    incumbent, first, last = await contested(desk)
    newer = await say(desk, "D", 4)
    conflict = await the_conflict(desk, last)
    assert ids(*conflict.facts) == ids(newer, first, last)
    assert (await desk.read(incumbent)).conflict_id is None


@pytest.mark.parametrize("status", ENDS)
async def test_an_incumbent_that_ends_reopens_what_it_had_replaced_as_the_next_one(desk: Desk, status: FactStatus):
    before = await say(desk, "Z", 0)
    incumbent, first, last = await contested(desk)
    await desk.move(await desk.read(incumbent), status)
    conflict = await the_conflict(desk, last)
    holds = await desk.read(before)
    if status in {SUPERSEDED, FactStatus.DISPUTED}:  # these keep their stretch of time
        assert ids(*conflict.facts) == ids(first, last)
        assert holds.status is SUPERSEDED
    else:
        assert ids(*conflict.facts) == ids(before, first, last)
        assert (holds.status, holds.conflict_id) == (FactStatus.ACTIVE, conflict.conflict_id)


async def test_none_are_kept(desk: Desk):
    incumbent, first, last = await contested(desk)
    conflict = await the_conflict(desk, last)
    resolved = await desk.resolves.execute(desk.context, conflict.conflict_id, KeepNone(), "a note")
    assert isinstance(resolved, Conflict)
    assert (resolved.state, resolved.kept_fact_id, resolved.resolution_note) == (
        ConflictState.RESOLVED,
        None,
        "a note",
    )
    assert [(await desk.read(f)).status for f in (incumbent, first, last)] == [RETRACTED] * 3
    assert (await summary(desk)).open_count == 0


async def test_all_are_kept_where_the_predicate_has_come_to_allow_it(desk: Desk, engine: AsyncEngine):
    incumbent, first, last = await contested(desk)
    conflict = await the_conflict(desk, last)
    with pytest.raises(SlotOccupiedError):
        await desk.resolves.execute(desk.context, conflict.conflict_id, KeepAll(), "")
    async with engine.begin() as connection:
        await connection.execute(
            sql("UPDATE predicates SET cardinality = 'MULTI' WHERE project_id = :project"),
            {"project": desk.context.project},
        )
    resolved = await desk.resolves.execute(desk.context, conflict.conflict_id, KeepAll(), "")
    assert isinstance(resolved, Conflict)
    assert resolved.state is ConflictState.RESOLVED
    kept = [await desk.read(f) for f in (incumbent, first, last)]
    assert [(f.status, f.conflict_id, f.valid_to) for f in kept] == [(FactStatus.ACTIVE, None, None)] * 3
    assert len({f.slot_id for f in kept}) == 3
    again = await say(desk, "B", 9)
    assert again.fact_id == first.fact_id
    assert (await say(desk, "D", 9)).status is FactStatus.ACTIVE


async def test_what_is_open_is_counted_since_the_oldest_whatever_is_listed(desk: Desk):
    assert await summary(desk) == ConflictSummary(0, None)
    await say(desk, "A", 1)
    rival = await say(desk, "B", 2, rival=True)
    opened = (await the_conflict(desk, rival)).create_time
    claim = ClaimInput("Kai", "city", "X")
    await desk.say("Kai: X", claim=claim, observe_time=day(1))
    other = (await desk.say("Kai: Y", claim=ClaimInput("Kai", "city", "Y"), observe_time=day(1))).fact
    for state in (None, *ConflictState):
        assert await summary(desk, state) == ConflictSummary(2, opened)
    await desk.move(rival, RETRACTED)
    for state in (None, *ConflictState):
        assert await summary(desk, state) == ConflictSummary(1, (await the_conflict(desk, other)).create_time)

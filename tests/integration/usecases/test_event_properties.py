"""What holds after any interleaving, replay or duplication of any events, through the real database.

The rules themselves have properties of their own in ``tests/unit/domain``; here the same holds of what is stored,
with the sources that each fact rests on.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from concord_server.domain.commands import ClaimInput, KeepNone, KeepOne
from concord_server.domain.conflicts import review
from concord_server.domain.enums import (
    CandidateAction,
    CandidateOutcome,
    Cardinality,
    ConflictState,
    FactStatus,
    FactType,
    Trust,
)
from concord_server.domain.events import EventCandidate, NewEvent
from concord_server.domain.model import Conflict, EntityRef, Fact
from concord_server.domain.queries import ConflictFilter
from concord_server.domain.runs import EventOutcome
from concord_server.domain.settlement import Timeline, settle
from concord_server.domain.timeline import AssertionState
from concord_server.domain.values import Json
from concord_server.ports.sources import SourceName
from concord_server.services.resolve_conflict import ResolveConflict
from concord_server.services.withdraw_source import WithdrawSource
from concord_server.storage.sessions import PostgresLedger
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.support.runs import DAY, START, Bench
from tests.unit.domain.ledger import check

NOT_APPLIED = {CandidateOutcome.DUPLICATE, CandidateOutcome.REJECTED}

few = settings(
    max_examples=int(os.environ.get("CONCORD_EXAMPLES", "5")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

VALUES: st.SearchStrategy[Json] = st.sampled_from(["A", "B", {"a": 1}, {"a": None, "b": 2}])
KINDS = st.sampled_from(["city", "city", "city", "likes", "visited"])


@st.composite
def candidates(draw: st.DrawFn) -> EventCandidate:
    kind = draw(KINDS)
    return EventCandidate(
        ClaimInput("u", kind, draw(VALUES), cardinality=Cardinality.MULTI if kind == "likes" else None),
        type=FactType.EVENT if kind == "visited" else FactType.ASSERTION,
        action=draw(st.sampled_from([CandidateAction.SUPERSEDE, CandidateAction.SUPERSEDE, *CandidateAction])),
        valid_to=draw(st.sampled_from([None, None, None, START + 10 * DAY])),
    )


EVENTS = st.builds(
    NewEvent,
    subject=st.sampled_from([EntityRef("User", "u1"), EntityRef("User", "u2")]),
    occur_time=st.integers(0, 6).map(lambda day: START + day * DAY),
    trust=st.sampled_from([Trust.TRUSTED, Trust.TRUSTED, Trust.UNTRUSTED]),
    candidates=st.lists(candidates(), min_size=1, max_size=2).map(tuple),
)
BATCHES = st.lists(st.lists(EVENTS, min_size=1, max_size=4), min_size=1, max_size=3)
SUPERSEDING = st.lists(
    st.tuples(VALUES, st.integers(0, 12)), min_size=2, max_size=5, unique_by=lambda pair: pair[1]
)


def somewhere(ledger: PostgresLedger) -> Bench:
    return Bench(ledger, f"events-{uuid.uuid4()}")


async def worked(bench: Bench) -> list[EventOutcome]:
    _, outcomes = await bench.worked(bench.worker(), bench.worker())
    return outcomes


async def timelines(bench: Bench) -> dict[UUID, Timeline]:
    slots = {fact.slot_id for fact in await bench.facts()}
    async with bench.ledger.read(bench.project) as session:
        return {slot_id: await session.slots.timeline(slot_id) for slot_id in slots}


async def check_everything(bench: Bench) -> None:
    for timeline in (await timelines(bench)).values():
        said = {a.fact_id for a in timeline.assertions if a.state is AssertionState.QUARANTINED}
        waiting = {f.fact_id for f in timeline.facts if f.status is FactStatus.PENDING} & said
        check(timeline, bench.clock.now(), waiting)
        again = review(timeline, settle(timeline, bench.clock.now(), bench.ids.new))
        assert not again.opens
        assert set(again.members) == {f.fact_id for f in timeline.facts if f.conflict_id is not None}


async def sources(bench: Bench, fact_id: UUID) -> set[str]:
    async with bench.ledger.read(bench.project) as session:
        found = await session.facts.sources(fact_id)
    return {source.external_id for source in found}


async def check_provenance(bench: Bench, outcomes: Sequence[EventOutcome]) -> None:
    """Every event is a source of what it supported, and of the facts that its statements support now."""
    for outcome in outcomes:
        for one in outcome.candidates:
            if one.outcome not in NOT_APPLIED:
                assert one.fact is not None
                assert str(outcome.event_id) in await sources(bench, one.fact.fact_id)
    for timeline in (await timelines(bench)).values():
        for assertion in timeline.assertions:
            own = await sources(bench, assertion.fact_id)
            assert own, "a fact that nothing supports"
            [fact] = [f for f in timeline.facts if f.fact_id == assertion.fact_id]
            assert fact.source_count == len(own)


async def open_conflicts(bench: Bench) -> list[Conflict]:
    async with bench.ledger.read(bench.project) as session:
        page, summary = await session.conflicts.list(ConflictFilter(state=ConflictState.OPEN), after=None, size=50)
    assert summary.open_count == len(page.items)
    return list(page.items)


async def resolve_all(bench: Bench, data: st.DataObject) -> None:
    resolve = ResolveConflict(bench.ledger, bench.clock, bench.ids)
    for conflict in await open_conflicts(bench):
        kept = data.draw(st.sampled_from([None, *range(len(conflict.facts))]))
        resolution = KeepNone() if kept is None else KeepOne(conflict.facts[kept].fact_id)
        await resolve.execute(bench.context, conflict.conflict_id, resolution, "")
        await check_everything(bench)
    assert await open_conflicts(bench) == []


def recorded(facts: Sequence[Fact]) -> set[tuple[UUID, int]]:
    return {(fact.fact_id, fact.version) for fact in facts}


@few
@given(batches=BATCHES, data=st.data())
async def test_any_events_in_any_order_with_any_repeats(
    ledger: PostgresLedger, engine: AsyncEngine, batches: list[list[NewEvent]], data: st.DataObject
):
    bench = somewhere(ledger)
    outcomes: list[EventOutcome] = []
    for number, batch in enumerate(batches):
        keyed = [replace(e, idempotency_key=f"{number}:{n}", digest="d") for n, e in enumerate(batch)]
        again = data.draw(st.lists(st.sampled_from(keyed), max_size=2))
        await bench.append(*keyed, *again)
        outcomes += await worked(bench)
    assert len({outcome.event_id for outcome in outcomes}) == len(outcomes) == sum(map(len, batches))
    await check_everything(bench)
    await check_provenance(bench, outcomes)

    before = recorded(await bench.facts())
    async with engine.begin() as connection:
        await connection.execute(
            sql("UPDATE events SET state = 'PENDING', run_id = NULL WHERE project_id = :project"),
            {"project": bench.project},
        )
    replayed = [one.outcome for outcome in await worked(bench) for one in outcome.candidates]
    assert set(replayed) <= NOT_APPLIED
    assert recorded(await bench.facts()) == before
    await resolve_all(bench, data)


def superseding(statements: Sequence[tuple[Any, int]]) -> list[NewEvent]:
    return [
        NewEvent(
            EntityRef("User", "u1"),
            occur_time=START + day * DAY,
            candidates=(EventCandidate(ClaimInput("u1", "city", value), action=CandidateAction.SUPERSEDE),),
        )
        for value, day in statements
    ]


async def told(bench: Bench) -> list[tuple[Any, ...]]:
    """What the timeline says, with the times of the events that each stretch of it rests on."""
    said = []
    for fact in await bench.facts():
        if fact.off_timeline or fact.valid_from == fact.valid_to:
            continue
        events = [
            (await bench.event(UUID(event_id))).occur_time for event_id in await sources(bench, fact.fact_id)
        ]
        assert fact.claim is not None
        # An event of the part that was split off before may still be a source of the part that it is no more in.
        end = fact.valid_to
        within = sorted(t for t in events if t >= fact.valid_from and (end is None or t < end))
        said.append((str(fact.claim.value), fact.valid_from, end, fact.status, within))
    return said


@few
@given(statements=SUPERSEDING, random=st.randoms(use_true_random=False))
async def test_superseding_events_give_one_timeline_in_any_order_of_arrival(
    ledger: PostgresLedger, statements: list[tuple[Any, int]], random: Any
):
    at_once, one_by_one = somewhere(ledger), somewhere(ledger)
    await at_once.append(*superseding(statements))
    await worked(at_once)
    for event in superseding(random.sample(statements, len(statements))):
        await one_by_one.append(event)
        await worked(one_by_one)
    assert await told(one_by_one) == await told(at_once)


@few
@given(statements=SUPERSEDING, data=st.data())
async def test_withdrawing_an_event_equals_never_having_had_it(
    ledger: PostgresLedger, statements: list[tuple[Any, int]], data: st.DataObject
):
    gone = data.draw(st.integers(0, len(statements) - 1))
    bench, without = somewhere(ledger), somewhere(ledger)
    order = data.draw(st.permutations(range(len(statements))))
    ids = {}
    for index in order:
        [appended] = await bench.append(*superseding([statements[index]]))
        ids[index] = appended.event_id
        await worked(bench)
    await WithdrawSource(bench.ledger, bench.clock, bench.ids).execute(
        bench.context, SourceName(external_id=str(ids[gone])), ""
    )
    await without.append(*superseding([s for index, s in enumerate(statements) if index != gone]))
    await worked(without)
    assert await told(bench) == await told(without)

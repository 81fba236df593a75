"""What an event does that loses to others in the database: it is planned anew, within the same attempt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest
from concord_server.domain.enums import CandidateOutcome, EventState, FactStatus
from concord_server.domain.errors import ConcurrentUpdateError
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.runs import EventOutcome, Run
from concord_server.domain.timeline import Assertion
from concord_server.ports.ledger import LockedPartition, WriteSession
from concord_server.services.statuses import UpdateFactStatus
from concord_server.storage.sessions import PostgresLedger
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncEngine
from uuid_utils.compat import uuid7

from tests.integration.conftest import Database
from tests.support.facts import save
from tests.support.runs import DAY, START, Bench, at_work, said, taken


class Troubled(PostgresLedger):
    """A ledger whose sessions fail in the database, just before they would commit, with the errors given."""

    def __init__(self, engine: AsyncEngine, *codes: str) -> None:
        super().__init__(engine)
        self.left = list(codes)

    @asynccontextmanager
    async def write(self, project: str) -> AsyncIterator[WriteSession]:
        async with super().write(project) as session:
            yield session
            if self.left:
                raising = f"DO $$ BEGIN RAISE EXCEPTION 'told to' USING ERRCODE = '{self.left.pop()}'; END $$"
                await session.leases._context.statements.execute(sql(raising))  # type: ignore[attr-defined]


async def outcome_of(bench: Bench, run: Run) -> EventOutcome:
    async with at_work(bench.worker()):
        messages = await bench.told(run)
    [outcome] = [m.update for m in messages if isinstance(m.update, EventOutcome)]
    return outcome


@pytest.mark.parametrize(
    "codes",
    [("40P01",), ("40001",), ("55P03",), ("23505",), ("40P01", "40001", "23505") * 3],
    ids=["deadlock", "serialisation", "lock timeout", "unique index", "one after another"],
)
async def test_an_event_that_loses_is_planned_anew(bench: Bench, engine: AsyncEngine, codes: tuple[str, ...]):
    [appended] = await bench.append(said("A"))
    run = await bench.start()
    lease, event = await taken(bench, run)
    troubled = Troubled(engine, *codes)
    calm, bench.ledger = bench.ledger, troubled
    await bench.consolidate.execute(bench.project, lease, event)
    bench.ledger = calm
    assert troubled.left == []
    done = await bench.event(appended.event_id)
    assert (done.state, done.attempts, done.last_error) == (EventState.DONE, 1, None)
    [fact] = await bench.facts()
    assert (fact.version, fact.source_count, fact.reinforcement_count) == (1, 1, 0)


async def test_an_event_that_always_loses_fails_and_can_be_worked_again(bench: Bench, engine: AsyncEngine):
    [appended] = await bench.append(said("A"))
    run = await bench.start()
    lease, event = await taken(bench, run)
    calm, bench.ledger = bench.ledger, Troubled(engine, *["40001"] * 50)
    await bench.consolidate.execute(bench.project, lease, event)
    bench.ledger = calm
    failed = await bench.event(appended.event_id)
    assert failed.state is EventState.FAILED
    assert failed.last_error is not None
    assert failed.last_error.reason == ConcurrentUpdateError.reason
    assert await bench.facts() == []


async def test_an_event_in_a_deadlock_is_planned_anew(bench: Bench, database: Database):
    """The other session holds the partition, and waits for the event that the worker holds."""
    if database.admin_url is None:
        pytest.skip("needs CONCORD_TEST_ADMIN_URL, a superuser of the test database")
    [first] = await bench.append(said("A"))
    await bench.worked()
    [second] = await bench.append(said("B", 1))
    run = await bench.start()
    async with await psycopg.AsyncConnection.connect(database.admin_url) as other:
        # It never looks for a deadlock itself, so that the worker is the one to be ended.
        await other.execute("SET deadlock_timeout = '1h'")
        await other.execute(
            "UPDATE partitions SET revision = revision WHERE project_id = %s AND owner_id = 'u1'", [bench.project]
        )
        async with at_work(bench.worker()):
            worked = asyncio.create_task(bench.told(run))
            await waiting_for_partition(database.admin_url)
            await other.execute(
                "SELECT 1 FROM events WHERE project_id = %s AND event_id = %s FOR UPDATE",
                [bench.project, second.event_id],
            )
            await other.rollback()
            await worked
    for appended in (first, second):
        event = await bench.event(appended.event_id)
        assert (event.state, event.attempts) == (EventState.DONE, 1)
    assert [f.status for f in await bench.facts()] == [FactStatus.SUPERSEDED, FactStatus.ACTIVE]


async def waiting_for_partition(url: str) -> None:
    """Returns once a session waits for a partition that another one holds."""
    waiting = (
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO partitions%'"
    )
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        while True:
            if await (await connection.execute(waiting)).fetchone():
                return
            await asyncio.sleep(0.01)


class Intruded(PostgresLedger):
    """A ledger in which something happens once, just after a timeline was read."""

    def __init__(self, engine: AsyncEngine, intrude: Callable[[], Awaitable[None]]) -> None:
        super().__init__(engine)
        self._intrusions = [intrude]

    @asynccontextmanager
    async def write(self, project: str) -> AsyncIterator[WriteSession]:
        async with super().write(project) as session:
            read = session.slots.timeline

            async def timeline(slot_id: UUID):
                found = await read(slot_id)
                if self._intrusions:
                    await self._intrusions.pop()()
                return found

            session.slots.timeline = timeline  # type: ignore[method-assign]
            yield session


async def test_the_unique_index_stops_a_second_active_fact_and_the_event_is_planned_anew(
    bench: Bench, engine: AsyncEngine
):
    """Somebody writes without the partition's lock: only the index can tell."""
    await bench.append(said("A"))
    await bench.worked()
    [known] = await bench.facts()
    statuses = UpdateFactStatus(bench.ledger, bench.clock, bench.ids)
    await statuses.execute(bench.context, known.fact_id, FactStatus.RETRACTED, "a test")

    async def intrude() -> None:
        await write_active(bench, known)

    calm = bench.ledger
    bench.ledger = Intruded(engine, intrude)
    await bench.append(said("C", 5))
    outcome = await outcome_of(bench, await bench.start())
    bench.ledger = calm
    assert outcome.state is EventState.DONE
    assert [one.outcome for one in outcome.candidates] == [CandidateOutcome.SUPERSEDED]
    assert (await bench.event(outcome.event_id)).attempts == 1
    facts = {f.claim.value: f.status for f in await bench.facts() if f.claim}
    assert facts == {"A": FactStatus.RETRACTED, "B": FactStatus.SUPERSEDED, "C": FactStatus.ACTIVE}


async def write_active(bench: Bench, like: Fact) -> None:
    """Stores an ACTIVE fact in the slot of another one, past its partition's lock."""
    assert like.claim is not None
    key = "b" * 64
    start = START + 3 * DAY
    fact = replace(
        like,
        fact_id=uuid7(),
        status=FactStatus.ACTIVE,
        claim=replace(like.claim, value="B"),
        value_key=key,
        valid_from=start,
        valid_to=None,
        last_reinforce_time=start,
        version=1,
        source_count=0,
        parent_ids=(),
        subjects=(EntityRef("User", "u1"),),
    )
    async with bench.ledger.read(bench.project) as reading:
        found = await reading.partitions.of_fact(like.fact_id)
        assert found is not None
        state = await reading.partitions.find(found[1])
        assert state is not None
    async with bench.ledger.write(bench.project) as session:
        held = LockedPartition(found[0], found[1], state.revision, fact.update_time)
        stored = await save(session, fact, locked=held)
        assertion = Assertion(uuid7(), stored.fact_id, start, key, "B")
        await session.slots.save_assertions(like.slot_id, held.partition_id, [assertion], fact.update_time)

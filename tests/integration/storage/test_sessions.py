"""Sessions commit as a whole or not at all, whatever interrupts them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from concord_server.domain.errors import ConcurrentUpdateError, UnavailableError
from concord_server.domain.model import Fact, Partition
from concord_server.storage.engine import EngineOptions, create_engine
from concord_server.storage.errors import ConstraintViolatedError, LostRaceError
from concord_server.storage.partitions import partition_id_of
from concord_server.storage.sessions import PostgresLedger
from concord_server.storage.statements import Statements
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.integration.storage.conftest import Blocked, Query, Terminate
from tests.support.facts import NOON, a_fact, minutes, save


@pytest.fixture
def application() -> str:
    """Names the connections of one test."""
    return f"test-{uuid4()}"


@pytest.fixture
async def own_engine(database_url: str, application: str) -> AsyncIterator[AsyncEngine]:
    """An engine with one connection, so that whoever comes next gets the one that was used before."""
    engine = create_engine(
        database_url, EngineOptions(application_name=application, pool_size=1, lock_timeout=300)
    )
    yield engine
    await engine.dispose()


@pytest.fixture
def own_ledger(own_engine: AsyncEngine) -> PostgresLedger:
    return PostgresLedger(own_engine)


async def is_stored(ledger: PostgresLedger, project: str, fact: Fact) -> bool:
    async with ledger.read(project) as session:
        return await session.facts.get(fact.fact_id) is not None


async def test_nothing_is_seen_before_the_block_ends(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        fact = await save(session, a_fact())
        assert not await is_stored(ledger, project, fact)
    assert await is_stored(ledger, project, fact)


async def test_an_error_leaves_no_trace(ledger: PostgresLedger, project: str, query: Query) -> None:
    fact = a_fact()

    async def fail() -> None:
        async with ledger.write(project) as session:
            await save(session, fact)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert not await is_stored(ledger, project, fact)
    assert await query("SELECT change_sequence FROM projects WHERE project_id = %s", project) == [(0,)]
    assert await query("SELECT count(*) FROM change_log WHERE project_id = %s", project) == [(0,)]


async def test_errors_of_the_block_are_its_own(ledger: PostgresLedger, project: str) -> None:
    """A deadline of the caller's is no failure of the database, though both are OSErrors."""
    for opened in (ledger.read, ledger.write):

        async def fail(opened: Any) -> None:
            async with opened(project):
                raise TimeoutError("mine")

        with pytest.raises(TimeoutError, match="mine"):
            await fail(opened)


async def test_a_failed_statement_that_was_ignored_never_passes_for_a_commit(
    ledger: PostgresLedger, project: str
) -> None:
    slot: dict[str, Any] = {"subject": "Ada", "predicate": "p", "qualifiers": {}}
    fact = a_fact()

    async def go_on_regardless() -> None:
        async with ledger.write(project) as session:
            await save(session, fact)
            held = await session.partitions.lock(fact.partition, NOON)
            await session.slots.create(held.partition_id, "key", uuid4(), **slot)
            with suppress(LostRaceError):
                await session.slots.create(held.partition_id, "key", uuid4(), **slot)

    with pytest.raises(LostRaceError):
        await go_on_regardless()
    assert not await is_stored(ledger, project, fact)


async def test_a_reference_to_nothing_is_refused_at_the_commit(ledger: PostgresLedger, project: str) -> None:
    fact = a_fact(conflict_id=uuid4())
    with pytest.raises(ConstraintViolatedError) as caught:
        async with ledger.write(project) as session:
            await save(session, fact)
    assert caught.value.constraint in {"fk_facts_conflict", "fk_fact_versions_conflict"}
    assert not await is_stored(ledger, project, fact)


async def test_a_cancelled_wait_ends_on_the_server_too(
    ledger: PostgresLedger,
    own_ledger: PostgresLedger,
    project: str,
    application: str,
    query: Query,
    blocked: Blocked,
) -> None:
    fact = a_fact(partition=Partition(domain="free"))

    async def write_and_wait() -> None:
        async with own_ledger.write(project) as session:
            await save(session, fact)
            await session.partitions.lock(Partition(), NOON)

    async with ledger.write(project) as session:
        await session.partitions.lock(Partition(), NOON)
        task = asyncio.create_task(write_and_wait())
        await blocked(application, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await blocked(application, 0)
        in_transaction = (
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND xact_start IS NOT NULL"
        )
        assert await query(in_transaction, application) == [(0,)]
    assert not await is_stored(own_ledger, project, fact)
    async with own_ledger.write(project) as session:
        await save(session, fact)
    assert await is_stored(own_ledger, project, fact)


async def test_a_cancelled_query_is_ended_and_its_connection_is_of_use_again(
    own_engine: AsyncEngine, application: str, query: Query
) -> None:
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND wait_event = 'PgSleep'"

    async def sleep() -> None:
        async with own_engine.connect() as connection:
            await Statements(connection).execute(text("SELECT pg_sleep(3600)"))

    task = asyncio.create_task(sleep())
    while True:
        if await query(sleeping, application) == [(1,)]:
            break
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await query(sleeping, application) == [(0,)]
    async with own_engine.connect() as connection:
        assert await connection.scalar(text("SELECT 1")) == 1


async def test_a_connection_that_ended_while_idle_is_replaced(
    own_ledger: PostgresLedger, project: str, application: str, terminate: Terminate
) -> None:
    async with own_ledger.write(project) as session:
        fact = await save(session, a_fact())
    await terminate(application)
    assert await is_stored(own_ledger, project, fact)


async def test_a_connection_lost_in_a_session_is_unavailable_and_nothing_is_written(
    own_ledger: PostgresLedger, project: str, application: str, terminate: Terminate
) -> None:
    fact = a_fact()

    async def lose_the_connection() -> None:
        async with own_ledger.write(project) as session:
            await save(session, fact)
            await terminate(application)
            await session.facts.get(fact.fact_id)

    with pytest.raises(UnavailableError):
        await lose_the_connection()
    assert not await is_stored(own_ledger, project, fact)


async def test_a_connection_lost_before_the_commit_is_unavailable(
    own_ledger: PostgresLedger, project: str, application: str, terminate: Terminate
) -> None:
    async def lose_the_connection() -> None:
        async with own_ledger.write(project) as session:
            await session.partitions.lock(Partition(), NOON)
            await terminate(application)

    with pytest.raises(UnavailableError):
        await lose_the_connection()


async def test_a_database_that_is_not_there_is_unavailable(project: str) -> None:
    engine = create_engine("postgresql://nobody@/nothing?host=/nonexistent")
    ledger = PostgresLedger(engine)
    with pytest.raises(UnavailableError):
        async with ledger.read(project):
            pass
    with pytest.raises(UnavailableError):
        async with ledger.write(project):
            pass
    await ledger.close()


async def test_an_exhausted_pool_is_unavailable(database_url: str, project: str) -> None:
    engine = create_engine(database_url, EngineOptions(pool_size=1, pool_timeout=0.01))
    ledger = PostgresLedger(engine)
    async with ledger.write(project):
        with pytest.raises(UnavailableError):
            async with ledger.read(project):
                pass
    await ledger.close()


async def test_a_statement_that_takes_too_long_is_unavailable(database_url: str) -> None:
    engine = create_engine(database_url, EngineOptions(statement_timeout=0.05))
    with pytest.raises(UnavailableError):
        async with engine.connect() as connection:
            await Statements(connection).execute(text("SELECT pg_sleep(3600)"))
    await engine.dispose()


async def test_a_lock_that_is_held_too_long_is_a_lost_race(
    ledger: PostgresLedger, database_url: str, project: str
) -> None:
    engine = create_engine(database_url, EngineOptions(lock_timeout=0.05))
    impatient = PostgresLedger(engine)
    async with ledger.write(project) as session:
        await session.partitions.lock(Partition(), NOON)
        with pytest.raises(ConcurrentUpdateError):
            async with impatient.write(project) as other:
                await other.partitions.lock(Partition(), NOON)
    await impatient.close()


async def test_a_deadlock_is_a_lost_race_for_one_and_none_for_the_other(
    ledger: PostgresLedger, project: str
) -> None:
    first, second = Partition(domain="first"), Partition(domain="second")
    both_hold = asyncio.Barrier(2)

    async def lock(one: Partition, other: Partition) -> None:
        async with ledger.write(project) as session:
            await session.partitions.lock(one, NOON)
            await both_hold.wait()
            await session.partitions.lock(other, NOON)

    outcomes = await asyncio.gather(lock(first, second), lock(second, first), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["ConcurrentUpdateError", "NoneType"]


async def test_sessions_that_lock_in_the_order_of_ids_never_deadlock(ledger: PostgresLedger, project: str) -> None:
    made = [Partition(domain=name) for name in ("first", "second", "third")]
    ordered = sorted(made, key=partition_id_of)

    async def lock_all() -> None:
        async with ledger.write(project) as session:
            for partition in ordered:
                await session.partitions.lock(partition, NOON)

    await asyncio.gather(*(lock_all() for _ in range(8)))
    async with ledger.read(project) as session:
        states = [await session.partitions.find(partition) for partition in made]
    assert [state.revision for state in states if state] == [8, 8, 8]


class TestPartitionLocks:
    async def test_a_partition_is_unknown_before_its_first_write(
        self, ledger: PostgresLedger, project: str
    ) -> None:
        async with ledger.read(project) as session:
            assert await session.partitions.find(Partition()) is None

    async def test_each_locking_session_raises_the_revision_by_one(
        self, ledger: PostgresLedger, project: str
    ) -> None:
        for expected in (1, 2, 3):
            async with ledger.write(project) as session:
                held = await session.partitions.lock(Partition(), NOON)
                assert await session.partitions.lock(Partition(), NOON) == held
            assert held.revision == expected
            async with ledger.read(project) as session:
                state = await session.partitions.find(Partition())
            assert state is not None
            assert (state.partition_id, state.revision) == (held.partition_id, expected)

    async def test_a_session_that_fails_raises_nothing(self, ledger: PostgresLedger, project: str) -> None:
        async def fail() -> None:
            async with ledger.write(project) as session:
                await session.partitions.lock(Partition(), NOON)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        async with ledger.write(project) as session:
            assert (await session.partitions.lock(Partition(), NOON)).revision == 1

    @pytest.mark.parametrize(
        ("now", "recorded"),
        [
            (NOON + minutes(1), NOON + minutes(1)),
            (NOON, NOON + timedelta(microseconds=1)),
            (NOON - minutes(1), NOON + timedelta(microseconds=1)),
        ],
        ids=["later", "same", "earlier"],
    )
    async def test_recorded_time_is_now_but_later_than_every_one_before(
        self, ledger: PostgresLedger, project: str, now: Any, recorded: Any
    ) -> None:
        async with ledger.write(project) as session:
            assert (await session.partitions.lock(Partition(), NOON)).recorded_time == NOON
        async with ledger.write(project) as session:
            assert (await session.partitions.lock(Partition(), now)).recorded_time == recorded

    async def test_who_comes_second_waits_and_sees_what_the_first_wrote(
        self,
        ledger: PostgresLedger,
        own_ledger: PostgresLedger,
        project: str,
        application: str,
        blocked: Blocked,
    ) -> None:
        async def second() -> tuple[int, list[Fact]]:
            async with own_ledger.write(project) as session:
                held = await session.partitions.lock(Partition(), NOON)
                return held.revision, await session.facts.get_many([fact.fact_id])

        async with ledger.write(project) as session:
            held = await session.partitions.lock(Partition(), NOON)
            fact = await save(session, a_fact(), locked=held)
            task = asyncio.create_task(second())
            await blocked(application, 1)
        assert await task == (2, [fact])

    async def test_partitions_do_not_wait_for_each_other(self, ledger: PostgresLedger, project: str) -> None:
        async with ledger.write(project) as one:
            await one.partitions.lock(Partition(domain="one"), NOON)
            async with ledger.write(project) as other:
                await other.partitions.lock(Partition(domain="other"), NOON)

    async def test_the_partition_of_a_fact_is_known_from_the_fact(
        self, ledger: PostgresLedger, project: str
    ) -> None:
        partition = Partition("scope", "domain", owner_type="person", owner_id="ada")
        async with ledger.write(project) as session:
            held = await session.partitions.lock(partition, NOON)
            fact = await save(session, a_fact(partition=partition), locked=held)
        async with ledger.read(project) as session:
            assert await session.partitions.of_fact(fact.fact_id) == (held.partition_id, partition)
            assert await session.partitions.of_fact(uuid4()) is None

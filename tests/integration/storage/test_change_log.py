"""Every recorded state is on the log of its project, in commit order, none missed."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
from concord_server.domain.enums import FactChange, FactStatus
from concord_server.domain.model import Partition
from concord_server.storage.sessions import PostgresLedger
from uuid_utils.compat import uuid7

from tests.integration.storage.conftest import Query
from tests.support.facts import a_fact, next_version, save


async def log(query: Query, project: str) -> list[tuple[Any, ...]]:
    return await query(
        "SELECT sequence, fact_id, change, fact_version, time, domain FROM change_log"
        " WHERE project_id = %s ORDER BY sequence",
        project,
    )


async def test_the_changes_of_a_session_are_logged_in_the_order_they_were_made(
    ledger: PostgresLedger, project: str, query: Query
) -> None:
    async with ledger.write(project) as session:
        one = await save(session, a_fact(partition=Partition(domain="billing")))
        two = await save(session, a_fact())
    async with ledger.write(project) as session:
        gone = await save(session, next_version(one, status=FactStatus.RETRACTED), FactChange.STATUS_CHANGED)
    assert await log(query, project) == [
        (1, one.fact_id, "CREATED", 1, one.update_time, "billing"),
        (2, two.fact_id, "CREATED", 1, two.update_time, ""),
        (3, one.fact_id, "STATUS_CHANGED", 2, gone.update_time, "billing"),
    ]


async def test_concurrent_sessions_leave_no_gap_and_do_not_mix(
    ledger: PostgresLedger, project: str, query: Query
) -> None:
    async def write(domain: str) -> None:
        async with ledger.write(project) as session:
            for _ in range(3):
                await save(session, a_fact(partition=Partition(domain=domain)))

    async def fail() -> None:
        async with ledger.write(project) as session:
            await save(session, a_fact(partition=Partition(domain="failing")))
            raise ZeroDivisionError

    await asyncio.gather(*(write(f"d{n}") for n in range(8)), fail(), return_exceptions=True)
    entries = await log(query, project)
    assert [entry[0] for entry in entries] == list(range(1, 25))
    domains = [entry[5] for entry in entries]
    runs = [domains[start : start + 3] for start in range(0, 24, 3)]
    assert sorted(runs) == [[f"d{n}"] * 3 for n in range(8)]


async def test_a_sequence_is_taken_only_once_those_before_it_are_committed(
    ledger: PostgresLedger, project: str, query: Query, database_url: str
) -> None:
    async with ledger.write(project) as session:
        await save(session, a_fact())
    fact = a_fact(fact_id=uuid7())

    async def write() -> None:
        async with ledger.write(project) as session:
            await save(session, fact)

    async with await psycopg.AsyncConnection.connect(database_url) as committing:
        # As another session does between taking its sequences and having committed.
        await committing.execute(
            "UPDATE projects SET change_sequence = change_sequence + 1 WHERE project_id = %s", [project]
        )
        task = asyncio.create_task(write())
        while True:
            waiting = await query(
                "SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)"
                " WHERE NOT granted AND query LIKE %s AND %s = ANY (pg_blocking_pids(pid))",
                "%change_sequence%",
                committing.info.backend_pid,
            )
            if waiting:
                break
            await asyncio.sleep(0.01)
        async with ledger.read(project) as session:
            assert await session.facts.get(fact.fact_id) is None
        await committing.commit()
    await task
    assert [entry[:2] for entry in await log(query, project)][1:] == [(3, fact.fact_id)]


async def test_projects_count_for_themselves(ledger: PostgresLedger, project: str, query: Query) -> None:
    for name in (project, f"{project}-other"):
        async with ledger.write(name) as session:
            await save(session, a_fact())
    assert [entry[0] for entry in await log(query, project)] == [1]
    assert [entry[0] for entry in await log(query, f"{project}-other")] == [1]


async def test_a_session_that_changes_no_fact_logs_nothing(
    ledger: PostgresLedger, project: str, query: Query
) -> None:
    async with ledger.write(project) as session:
        await session.facts.get(uuid7())
    assert await log(query, project) == []

"""Ways to see what other sessions do in the database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

Blocked = Callable[[str, int], Awaitable[None]]
Query = Callable[..., Awaitable[list[tuple[Any, ...]]]]
Terminate = Callable[[str], Awaitable[None]]


@pytest.fixture
async def query(database_url: str) -> Query:
    """Runs SQL beside the ledger, and returns its rows."""

    async def run(sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
            cursor = await connection.execute(sql.encode(), parameters)
            return await cursor.fetchall() if cursor.description else []

    return run


@pytest.fixture
async def blocked(query: Query) -> Blocked:
    """Returns once so many sessions of an application wait for a lock."""

    async def wait(application: str, count: int) -> None:
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
        while True:
            if await query(waiting, application) == [(count,)]:
                return
            await asyncio.sleep(0.01)

    return wait


@pytest.fixture
async def terminate(query: Query) -> Terminate:
    """Ends every connection of an application from the server's side, and returns once they are gone."""

    async def end(application: str) -> None:
        ended = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = %s"
        assert await query(ended, application) == [(True,)]

    return end

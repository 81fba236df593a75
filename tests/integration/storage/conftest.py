"""Ways to see what other sessions do, and databases of their own for tests that change the schema."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.integration.conftest import Database

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


@pytest.fixture
def admin_url(database: Database) -> str:
    if database.admin_url is None:
        pytest.skip("needs CONCORD_TEST_ADMIN_URL, a superuser of the test database")
    return database.admin_url


@pytest.fixture
def new_url(database: Database, admin_url: str) -> Iterator[str]:
    """URL of a new database without the extension, owned by the service's role."""
    name, role = f"new_{uuid4().hex}", conninfo_to_dict(database.url)["user"]
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {role}".encode())
        yield make_conninfo(database.url, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def extended_url(new_url: str, admin_url: str) -> str:
    """URL of a new database with the extension, not migrated."""
    with psycopg.connect(make_conninfo(admin_url, dbname=conninfo_to_dict(new_url)["dbname"])) as connection:
        connection.execute("CREATE EXTENSION vector")
    return new_url

"""Processes tell each other that a log has grown, over the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from concord_server.storage import notifications
from concord_server.storage.engine import EngineOptions
from concord_server.storage.notifications import CHANNEL, ChangeAnnouncer, ChangeListener
from concord_server.storage.sessions import PostgresLedger
from concord_server.storage.statements import Statements
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.integration.storage.conftest import Query, Terminate
from tests.support.facts import a_fact, save

NEVER = 3600.0


class Audience:
    """Notes who was woken."""

    def __init__(self, *projects: str) -> None:
        self.watched = list(projects)
        self.woken: asyncio.Queue[str] = asyncio.Queue()

    def projects(self) -> Sequence[str]:
        return self.watched

    def wake(self, project: str) -> None:
        if project in self.watched:
            self.woken.put_nowait(project)


@pytest.fixture
def application() -> str:
    return f"test-{uuid4()}"


@asynccontextmanager
async def listening(
    database_url: str, audience: Audience, application: str = "concord tests", poll: float = NEVER
) -> AsyncIterator[None]:
    """Listens for the length of a block, which begins once the first look at the logs was taken."""
    listener = ChangeListener(database_url, audience, EngineOptions(application_name=application), poll)
    listener.start()
    try:
        for _ in audience.watched:
            await audience.woken.get()
        yield
    finally:
        await listener.close()


async def write(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        await save(session, a_fact())


async def begin(query: Query, project: str) -> None:
    """Makes a project without a word to anybody."""
    await query("INSERT INTO projects VALUES (%s, 0, now())", project)


async def write_unannounced(query: Query, project: str) -> None:
    await query("UPDATE projects SET change_sequence = change_sequence + 1 WHERE project_id = %s", project)


async def test_a_commit_wakes_who_watches_the_project(
    ledger: PostgresLedger, project: str, database_url: str, query: Query
) -> None:
    await begin(query, project)
    audience = Audience(project)
    async with listening(database_url, audience):
        await write(ledger, f"{project}-other")
        await write(ledger, project)
        assert await audience.woken.get() == project
        assert audience.woken.empty()


async def test_what_is_rolled_back_wakes_nobody(
    ledger: PostgresLedger, project: str, database_url: str, query: Query
) -> None:
    await begin(query, project)
    audience = Audience(project)
    async with listening(database_url, audience):
        with suppress(ZeroDivisionError):
            async with ledger.write(project) as session:
                await save(session, a_fact())
                raise ZeroDivisionError
        async with ledger.write(project) as session:
            await session.facts.get(uuid4())
        await asyncio.sleep(3 * notifications.ANNOUNCE_SECONDS)
        assert audience.woken.empty()


async def test_a_name_of_any_letters_gets_through(
    ledger: PostgresLedger, project: str, database_url: str, query: Query
) -> None:
    name = f"{project} 'ünï\"code' ☃"
    await begin(query, name)
    audience = Audience(name)
    async with listening(database_url, audience):
        await write(ledger, name)
        assert await audience.woken.get() == name


async def test_many_commits_are_announced_together(engine: AsyncEngine, project: str, database_url: str) -> None:
    announcer = ChangeAnnouncer(engine.execution_options(isolation_level="AUTOCOMMIT"), pause=0.01)
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute(f"LISTEN {CHANNEL}")
        for number in range(1000):
            announcer.changed(f"{project}-{number % 2}")
        await announcer.close()
        payloads = [note.payload async for note in connection.notifies(timeout=0.2)]
    own = [payload for payload in payloads if payload.startswith(project)]
    assert sorted(own) == [f"{project}-0", f"{project}-1"]


async def test_a_change_during_an_announcement_is_announced_next(
    engine: AsyncEngine, project: str, database_url: str, query: Query
) -> None:
    announcer = ChangeAnnouncer(engine.execution_options(isolation_level="AUTOCOMMIT"), pause=0.01)
    await begin(query, project)
    audience = Audience(project)
    async with listening(database_url, audience):
        for _ in range(3):
            announcer.changed(project)
            assert await audience.woken.get() == project
    await announcer.close()


async def test_a_lost_notification_is_made_up_for_by_looking(
    project: str, database_url: str, query: Query
) -> None:
    await begin(query, project)
    audience = Audience(project)
    async with listening(database_url, audience, poll=0.02):
        await write_unannounced(query, project)
        assert await audience.woken.get() == project
        await asyncio.sleep(0.1)
        assert audience.woken.empty(), "what has not changed wakes nobody"


async def test_the_listener_comes_back_and_tells_what_it_missed(
    ledger: PostgresLedger,
    project: str,
    database_url: str,
    application: str,
    query: Query,
    terminate: Terminate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notifications, "RECONNECT_SECONDS", 0.01)
    await begin(query, project)
    audience = Audience(project)
    async with listening(database_url, audience, application):
        await write_unannounced(query, project)
        await terminate(application)
        assert await audience.woken.get() == project
        await write(ledger, project)
        assert await audience.woken.get() == project


async def test_one_process_has_one_listening_connection(
    database_url: str, application: str, project: str, query: Query
) -> None:
    names = [f"{project}-{number}" for number in range(20)]
    for name in names:
        await begin(query, name)
    audience = Audience(*names)
    async with listening(database_url, audience, application):
        connections = await query("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", application)
        assert connections == [(1,)]


async def test_nobody_is_asked_about_where_nobody_watches(
    database_url: str, application: str, query: Query
) -> None:
    audience = Audience()
    async with listening(database_url, audience, application, poll=0.01):
        asked = "SELECT query FROM pg_stat_activity WHERE application_name = %s"
        while (last := await query(asked, application)) != [(f"LISTEN {CHANNEL}",)]:
            assert last in ([], [("",)]) or "projects" not in last[0][0]
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert await query(asked, application) == [(f"LISTEN {CHANNEL}",)]


async def test_nothing_is_announced_within_the_transaction_of_the_change(
    ledger: PostgresLedger, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There a NOTIFY would take a lock of the whole cluster, and commits would wait for each other."""
    asked: list[str] = []
    execute = Statements.execute

    async def noting(self: Statements, statement: Any, parameters: Any = None) -> Any:
        asked.append(str(statement).lower())
        return await execute(self, statement, parameters)

    monkeypatch.setattr(Statements, "execute", noting)
    await write(ledger, project)
    assert "change_log" in asked[-1]
    assert not any("notify" in statement for statement in asked)

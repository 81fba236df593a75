"""What is checked and brought up to date before a process serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
import sqlalchemy as sa
from alembic import command
from concord_server.domain.errors import UnavailableError
from concord_server.storage import check
from concord_server.storage.check import check_database
from concord_server.storage.engine import create_engine
from concord_server.storage.errors import DatabaseNotReadyError
from concord_server.storage.migrate import alembic_config, known_revisions, migrate
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy.ext.asyncio import AsyncEngine


@pytest.fixture
async def new_engine(extended_url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(extended_url)
    yield engine
    await engine.dispose()


async def checked(engine: AsyncEngine, name: str = "mini", dimension: int = 384) -> None:
    await check_database(engine, embedder_name=name, embedding_dimension=dimension)


async def test_a_migrated_database_is_ready_for_the_embedder_that_came_first(
    new_engine: AsyncEngine, extended_url: str
) -> None:
    await asyncio.to_thread(migrate, extended_url)
    await checked(new_engine)
    await checked(new_engine)
    with pytest.raises(DatabaseNotReadyError, match="come from the embedder 'mini', configured is 'maxi'"):
        await checked(new_engine, name="maxi")
    await checked(new_engine)


async def test_two_processes_that_start_first_agree_on_one_embedder(
    new_engine: AsyncEngine, extended_url: str
) -> None:
    await asyncio.to_thread(migrate, extended_url)
    outcomes = await asyncio.gather(
        *(checked(new_engine, name=name) for name in ("mini", "maxi")), return_exceptions=True
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["DatabaseNotReadyError", "NoneType"]


async def test_vectors_of_another_length_are_refused(new_engine: AsyncEngine, extended_url: str) -> None:
    await asyncio.to_thread(migrate, extended_url, embedding_dimension=8)
    with pytest.raises(DatabaseNotReadyError, match="vectors of 8 numbers, the embedder makes 384"):
        await checked(new_engine)
    await checked(new_engine, dimension=8)


async def test_a_database_without_schema_says_to_migrate(new_engine: AsyncEngine) -> None:
    with pytest.raises(DatabaseNotReadyError) as caught:
        await checked(new_engine)
    assert "no schema" in caught.value.problem
    assert "concord migrate" in caught.value.hint


async def test_an_old_schema_says_to_migrate(new_engine: AsyncEngine, extended_url: str) -> None:
    def migrate_halfway() -> None:
        migrate(extended_url)
        config = alembic_config()
        engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(extended_url))
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, known_revisions()[1])
        engine.dispose()

    await asyncio.to_thread(migrate_halfway)
    with pytest.raises(DatabaseNotReadyError) as caught:
        await checked(new_engine)
    assert f"revision {known_revisions()[1]}, this service needs {known_revisions()[0]}" in caught.value.problem
    assert "concord migrate" in caught.value.hint


async def test_a_schema_from_the_future_says_so(new_engine: AsyncEngine, extended_url: str) -> None:
    await asyncio.to_thread(migrate, extended_url)
    with psycopg.connect(extended_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DatabaseNotReadyError, match="revision 9999, which this service does not know"):
        await checked(new_engine)


async def test_a_database_without_the_extension_says_to_migrate(new_url: str) -> None:
    engine = create_engine(new_url)
    with pytest.raises(DatabaseNotReadyError, match="lacks the vector extension"):
        await checked(engine)
    await engine.dispose()


def test_a_role_that_must_not_make_the_extension_says_who_can(new_url: str) -> None:
    with pytest.raises(DatabaseNotReadyError) as caught:
        migrate(new_url)
    assert "CREATE EXTENSION vector" in caught.value.hint


def test_a_role_that_may_make_the_extension_does(new_url: str, admin_url: str) -> None:
    as_admin = make_conninfo(admin_url, dbname=conninfo_to_dict(new_url)["dbname"])
    assert migrate(as_admin) == known_revisions()[0]


@pytest.mark.parametrize(
    ("minimum", "value", "problem"),
    [
        ("MIN_SERVER_VERSION", 999, "the database server is PostgreSQL"),
        ("MIN_VECTOR_VERSION", (999,), "the vector extension is"),
    ],
)
async def test_versions_that_are_too_old_are_refused(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch, minimum: str, value: object, problem: str
) -> None:
    monkeypatch.setattr(check, minimum, value)
    with pytest.raises(DatabaseNotReadyError, match=problem):
        await checked(engine)


async def test_a_database_that_is_not_there_is_unavailable() -> None:
    nowhere = "postgresql://nobody@/nothing?host=/nonexistent"
    engine = create_engine(nowhere)
    with pytest.raises(UnavailableError):
        await checked(engine)
    with pytest.raises(UnavailableError):
        await asyncio.to_thread(migrate, nowhere)
    await engine.dispose()


def test_processes_that_migrate_at_once_wait_for_each_other(extended_url: str) -> None:
    with ThreadPoolExecutor(3) as threads:
        revisions = list(threads.map(lambda _: migrate(extended_url), range(3)))
    assert revisions == [known_revisions()[0]] * 3

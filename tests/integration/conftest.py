"""A real Postgres for every test of the run; each test works in a project of its own, so nothing is cleaned up."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.engine import EngineOptions, create_engine
from concord_server.storage.migrate import migrate
from concord_server.storage.sessions import PostgresLedger
from sqlalchemy.ext.asyncio import AsyncEngine


@dataclass(frozen=True, slots=True)
class Database:
    """A database of the run; ``admin_url`` is its superuser's, where that is known."""

    url: str
    admin_url: str | None


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The database at CONCORD_TEST_DATABASE_URL, or else an embedded one of this run; not migrated."""
    given = os.environ.get("CONCORD_TEST_DATABASE_URL")
    if given:
        yield Database(given, os.environ.get("CONCORD_TEST_ADMIN_URL"))
        return
    with EmbeddedPostgres(tmp_path_factory.mktemp("postgres")) as server:
        yield Database(server.url, server.admin_url)


@pytest.fixture(scope="session")
def database_url(database: Database) -> str:
    """URL of the migrated database."""
    migrate(database.url)
    return database.url


@pytest.fixture(scope="session")
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    """An engine with enough connections for what a test does at once."""
    made = create_engine(database_url, EngineOptions(application_name="concord tests", pool_size=20))
    yield made
    await made.dispose()


@pytest.fixture(scope="session")
async def ledger(engine: AsyncEngine) -> PostgresLedger:
    """A ledger that every test may share: it keeps nothing but connections."""
    return PostgresLedger(engine)


@pytest.fixture
def project() -> str:
    """A project that nobody else uses."""
    return f"test-{uuid4()}"

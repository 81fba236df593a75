"""A real Postgres for every test of the run; each test works in a project of its own, so nothing is cleaned up."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.engine import EngineOptions, create_engine
from concord_server.storage.migrate import migrate
from concord_server.storage.sessions import PostgresLedger


@pytest.fixture(scope="session")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a migrated database: CONCORD_TEST_DATABASE_URL, or else an embedded one of this run."""
    given = os.environ.get("CONCORD_TEST_DATABASE_URL")
    if given:
        migrate(given)
        yield given
        return
    with EmbeddedPostgres(tmp_path_factory.mktemp("postgres")) as server:
        migrate(server.url)
        yield server.url


@pytest.fixture(scope="session")
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    """An engine whose waits are long enough for a busy machine."""
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

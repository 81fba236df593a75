"""What is saved is what is read, and every saved state is a version."""

from __future__ import annotations

from concord_server.domain.enums import FactChange, FactStatus
from concord_server.storage.sessions import PostgresLedger

from tests.integration.storage.builders import a_fact, next_version, save, vector


async def test_a_saved_fact_is_read_back(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        fact = await save(session, a_fact(), embedding=vector(1.0))
    async with ledger.read(project) as session:
        assert await session.facts.get(fact.fact_id) == fact


async def test_next(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        fact = await save(session, a_fact(), embedding=vector(1.0))
    async with ledger.write(project) as session:
        fact = await save(
            session, next_version(fact, status=FactStatus.RETRACTED, tags=("a", "b")), FactChange.STATUS_CHANGED
        )
    async with ledger.read(project) as session:
        assert await session.facts.get(fact.fact_id) == fact

"""A repeated request gets its first answer, however the repeats meet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from concord_server.ports.ledger import StoredRequest
from concord_server.storage.engine import EngineOptions, create_engine
from concord_server.storage.sessions import PostgresLedger

from tests.integration.storage.conftest import Blocked
from tests.support.facts import NOON


@pytest.fixture
def application() -> str:
    return f"test-{uuid4()}"


@pytest.fixture
async def other_ledger(database_url: str, application: str) -> AsyncIterator[PostgresLedger]:
    engine = create_engine(database_url, EngineOptions(application_name=application, lock_timeout=300))
    yield PostgresLedger(engine)
    await engine.dispose()


async def test_an_answered_request_is_found_and_claimed_with_its_answer(
    ledger: PostgresLedger, project: str
) -> None:
    request_id = uuid4()
    async with ledger.write(project) as session:
        assert await session.requests.claim(request_id, "method", "print", NOON) is None
        await session.requests.complete(request_id, b"\x00answer", [uuid4()])
    answer = StoredRequest("print", b"\x00answer")
    async with ledger.read(project) as session:
        assert await session.requests.find(request_id) == answer
        assert await session.requests.find(uuid4()) is None
    async with ledger.write(project) as session:
        assert await session.requests.claim(request_id, "method", "other print", NOON) == answer


async def test_a_claim_waits_for_the_session_that_has_it_and_gets_its_answer(
    ledger: PostgresLedger, other_ledger: PostgresLedger, project: str, application: str, blocked: Blocked
) -> None:
    request_id = uuid4()

    async def second() -> StoredRequest | None:
        async with other_ledger.write(project) as session:
            return await session.requests.claim(request_id, "method", "print", NOON)

    async with ledger.write(project) as session:
        assert await session.requests.claim(request_id, "method", "print", NOON) is None
        task = asyncio.create_task(second())
        await blocked(application, 1)
        async with ledger.read(project) as reader:
            assert await reader.requests.find(request_id) is None
        await session.requests.complete(request_id, b"answer", [])
    assert await task == StoredRequest("print", b"answer")


async def test_a_claim_takes_over_from_a_session_that_failed(
    ledger: PostgresLedger, other_ledger: PostgresLedger, project: str, application: str, blocked: Blocked
) -> None:
    request_id = uuid4()

    async def second() -> StoredRequest | None:
        async with other_ledger.write(project) as session:
            return await session.requests.claim(request_id, "method", "print", NOON)

    async def first(claimed: asyncio.Event) -> None:
        async with ledger.write(project) as session:
            await session.requests.claim(request_id, "method", "print", NOON)
            claimed.set()
            await blocked(application, 1)
            raise ZeroDivisionError

    claimed = asyncio.Event()
    failing = asyncio.create_task(first(claimed))
    await claimed.wait()
    assert await second() is None
    with pytest.raises(ZeroDivisionError):
        await failing


async def test_projects_may_use_the_same_request_id(ledger: PostgresLedger, project: str) -> None:
    request_id = uuid4()
    async with ledger.write(project) as one, ledger.write(f"{project}-other") as other:
        assert await one.requests.claim(request_id, "method", "print", NOON) is None
        assert await other.requests.claim(request_id, "method", "print", NOON) is None

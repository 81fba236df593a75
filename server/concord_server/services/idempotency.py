"""Repeated requests: the first answer is stored with what it wrote, and given again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from concord_server.domain.errors import RequestIdReusedError
from concord_server.ports.ledger import Ledger, StoredRequest, WriteSession
from concord_server.services.context import Idempotency, Replay

T = TypeVar("T")


async def find(ledger: Ledger, project: str, idempotency: Idempotency[T] | None) -> Replay | None:
    """Returns the stored answer without opening a transaction, ``None`` when there is none yet.

    Raises:
        RequestIdReusedError: the request id was used for another request.
    """
    if idempotency is None:
        return None
    async with ledger.read(project) as session:
        stored = await session.requests.find(idempotency.request_id)
    return _same(stored, idempotency)


async def claim(session: WriteSession, idempotency: Idempotency[T] | None, now: datetime) -> Replay | None:
    """Takes the request id for this transaction; waits for another that has it and returns its answer then.

    Raises:
        RequestIdReusedError: the request id was used for another request.
    """
    if idempotency is None:
        return None
    stored = await session.requests.claim(idempotency.request_id, idempotency.method, idempotency.fingerprint, now)
    return _same(stored, idempotency)


async def complete(
    session: WriteSession, idempotency: Idempotency[T] | None, result: T, fact_ids: Sequence[UUID]
) -> None:
    """Stores the answer within the transaction that it reports.

    Args:
        fact_ids: facts whose words the answer carries, so that erasing one erases it.
    """
    if idempotency is not None:
        await session.requests.complete(idempotency.request_id, idempotency.encode(result), fact_ids)


def _same(stored: StoredRequest | None, idempotency: Idempotency[T]) -> Replay | None:
    if stored is None:
        return None
    if stored.fingerprint != idempotency.fingerprint:
        raise RequestIdReusedError(str(idempotency.request_id))
    return Replay(stored.response)

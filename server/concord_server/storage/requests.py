"""Answers kept for repeated requests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Integer, bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert

from concord_server.ports.ledger import StoredRequest
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import request_ids

_THIS = (request_ids.c.project_id == PROJECT) & (request_ids.c.request_id == bindparam("request"))
_FIND = select(request_ids.c.fingerprint, request_ids.c.response).where(_THIS, request_ids.c.response.is_not(None))
_CLAIM = insert(request_ids).on_conflict_do_nothing().returning(request_ids.c.request_id)
_COMPLETE = update(request_ids).where(_THIS).values(response=bindparam("answer"), fact_ids=bindparam("carried"))


_OLDEST = (
    select(request_ids.c.request_id)
    .where(request_ids.c.project_id == PROJECT, request_ids.c.create_time < bindparam("before", type_=TIMESTAMP))
    .order_by(request_ids.c.create_time)
    .limit(bindparam("rows", type_=Integer))
)
_PURGE = delete(request_ids).where(request_ids.c.project_id == PROJECT, request_ids.c.request_id.in_(_OLDEST))


class PostgresRequests:
    """Implements :class:`~concord_server.ports.ledger.RequestRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def find(self, request_id: UUID) -> StoredRequest | None:
        """Returns the stored answer, ``None`` when the request was not answered yet.

        The answer is empty when words that it carried were erased since.
        """
        parameters = {"project": self._context.project, "request": request_id}
        row = await self._context.statements.first(_FIND, parameters)
        return StoredRequest(row.fingerprint, row.response) if row else None

    async def claim(self, request_id: UUID, method: str, fingerprint: str, now: datetime) -> StoredRequest | None:
        """Takes the request id for this session; waits for another session that has it.

        The insert does the waiting: it goes through when the other session rolls back, and finds the row when
        it commits.
        """
        values = {
            "project_id": self._context.project,
            "request_id": request_id,
            "method": method,
            "fingerprint": fingerprint,
            "fact_ids": [],
            "erased": False,
            "create_time": now,
        }
        claimed = await self._context.statements.first(_CLAIM, values)
        return None if claimed is not None else await self.find(request_id)

    async def complete(self, request_id: UUID, response: bytes, fact_ids: Sequence[UUID]) -> None:
        """Stores the answer, and which facts' words it carries."""
        parameters = {
            "project": self._context.project,
            "request": request_id,
            "answer": response,
            "carried": list(fact_ids),
        }
        await self._context.statements.execute(_COMPLETE, parameters)

    async def purge(self, before: datetime, *, limit: int) -> int:
        """Forgets requests from before a time, the oldest first, at most ``limit``; returns how many."""
        parameters = {"project": self._context.project, "before": before, "rows": limit}
        return (await self._context.statements.execute(_PURGE, parameters)).rowcount

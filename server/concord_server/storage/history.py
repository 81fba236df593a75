"""Recorded states of facts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import Integer, Row, bindparam, func, select

from concord_server.domain.enums import FactChange
from concord_server.domain.errors import InvalidPageTokenError
from concord_server.domain.model import FactVersion
from concord_server.domain.queries import Cursor, Page
from concord_server.storage.fact_rows import fact_from_row, version_columns
from concord_server.storage.fact_tables import fact_versions
from concord_server.storage.statements import PROJECT, SessionContext

_OF_FACT = (fact_versions.c.project_id == PROJECT) & (fact_versions.c.fact_id == bindparam("fact"))
_COUNT = select(func.count()).select_from(fact_versions).where(_OF_FACT)
_RECORD = ("change", "actor", "reason", "recorded_from", "recorded_to")
_PAGE = (
    select(*version_columns(), *(fact_versions.c[name] for name in _RECORD))
    .where(_OF_FACT, fact_versions.c.version > bindparam("after", type_=Integer))
    .order_by(fact_versions.c.version)
    .limit(bindparam("rows", type_=Integer))
)


class PostgresHistory:
    """Implements :class:`~concord_server.ports.lineage.HistoryRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def versions(self, fact_id: UUID, *, after: Cursor | None, size: int) -> Page[FactVersion]:
        """Returns a page of a fact's recorded states, oldest first; ``total`` is 0 for an unknown fact.

        Raises:
            InvalidPageTokenError: ``after`` is not a position in this list.
        """
        parameters = {"project": self._context.project, "fact": fact_id}
        total = (await self._context.statements.execute(_COUNT, parameters)).scalar_one()
        parameters |= {"after": _version_of(after), "rows": size + 1}
        rows = await self._context.statements.rows(_PAGE, parameters)
        items = [_version(row) for row in rows[:size]]
        following = Cursor(str(items[-1].fact.version), fact_id) if len(rows) > size else None
        return Page(items, following, total)


def _version(row: Row[Any]) -> FactVersion:
    return FactVersion(
        fact=fact_from_row(row),
        change=FactChange(row.change),
        actor=row.actor,
        reason=row.reason,
        recorded_from=row.recorded_from,
        recorded_to=row.recorded_to,
    )


def _version_of(after: Cursor | None) -> int:
    if after is None:
        return 0
    if not (after.value.isdecimal() and len(after.value) <= 9):
        raise InvalidPageTokenError.of("page_token", "belongs to another list")
    return int(after.value)

"""Finding projects that keep something for too long."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Executable, Text, bindparam, or_, select
from sqlalchemy.ext.asyncio import AsyncEngine

from concord_server.ports.upkeep import Expiry
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.errors import translated_errors
from concord_server.storage.tables import change_log, projects, request_ids


def _overdue() -> Executable:
    """The next project whose oldest answer, or first change that is left, is from before a time.

    For each project that takes two steps down an index, however much it holds.
    """
    answered = (
        select(request_ids.c.request_id)
        .where(
            request_ids.c.project_id == projects.c.project_id,
            request_ids.c.create_time < bindparam("requests_before", type_=TIMESTAMP),
        )
        .correlate(projects)
        .exists()
    )
    first = (
        select(change_log.c.time)
        .where(change_log.c.project_id == projects.c.project_id)
        .order_by(change_log.c.sequence)
        .limit(1)
        .correlate(projects)
        .scalar_subquery()
    )
    return (
        select(projects.c.project_id)
        .where(
            projects.c.project_id > bindparam("after", type_=Text),
            or_(answered, first < bindparam("changes_before", type_=TIMESTAMP)),
        )
        .order_by(projects.c.project_id)
        .limit(1)
    )


_OVERDUE = _overdue()


class PostgresUpkeepAgenda:
    """Implements :class:`~concord_server.ports.upkeep.UpkeepAgenda`."""

    def __init__(self, reading: AsyncEngine) -> None:
        """Takes an engine that commits every statement by itself."""
        self._reading = reading

    async def overdue_project(self, expiry: Expiry, *, after: str) -> str | None:
        """Returns the first project after ``after`` that keeps something for too long, ``None`` without one.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        parameters: dict[str, Any] = {
            "after": after,
            "requests_before": expiry.requests,
            "changes_before": expiry.changes,
        }
        with translated_errors():
            async with self._reading.connect() as connection:
                found: str | None = (await connection.execute(_OVERDUE, parameters)).scalar_one_or_none()
        return found

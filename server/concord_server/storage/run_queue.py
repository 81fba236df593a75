"""Where workers find runs."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from concord_server.ports.events import OpenRun
from concord_server.storage.errors import translated_errors
from concord_server.storage.event_tables import runs

_OPEN = select(runs.c.project_id, runs.c.run_id).where(~runs.c.told).order_by(runs.c.create_time, runs.c.run_id)


class PostgresRunQueue:
    """Implements :class:`~concord_server.ports.events.RunQueue`."""

    def __init__(self, engine: AsyncEngine) -> None:
        """Takes an engine that commits every statement by itself."""
        self._engine = engine

    async def open_runs(self) -> list[OpenRun]:
        """Returns the open runs of every project, oldest first.

        The only query here that crosses projects: an index holds the open runs and nothing else.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        with translated_errors():
            async with self._engine.connect() as connection:
                rows = (await connection.execute(_OPEN)).all()
        return [OpenRun(row.project_id, row.run_id) for row in rows]

"""Telling other processes that a project's change log has grown, and being told.

A NOTIFY within the transaction of a change would take a lock of the whole cluster at its commit, and commits would
wait for each other. So it is sent after the commit, by itself and without waiting for the disk; should it be lost,
the listener finds the change when it next looks at the logs of the watched projects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg
import structlog
from sqlalchemy import Text, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncEngine

from concord_server.domain.errors import ConcordError
from concord_server.ports.watch import ChangeAudience
from concord_server.storage.engine import EngineOptions, connection_arguments
from concord_server.storage.errors import translated_errors

CHANNEL = "concord_changes"
"""Channel of the notifications; the payload is a project."""

ANNOUNCE_SECONDS = 0.05
"""Least time between two announcements of a process."""

POLL_SECONDS = 5.0
"""How often a process looks at the logs of the projects that are watched in it."""

ANSWER_SECONDS = 10.0
"""A database that takes longer to answer the listener is given up, and connected to anew."""

RECONNECT_SECONDS = 1.0
"""Pause before the listener connects again."""

_projects = func.unnest(bindparam("projects", type_=ARRAY(Text))).column_valued("project")
_ANNOUNCE = select(
    # Nothing is lost with these commits, so they need not wait for the disk.
    func.set_config("synchronous_commit", "off", True),
    func.pg_notify(CHANNEL, _projects),
)
_LISTEN = f"LISTEN {CHANNEL}"
_LAST_SEQUENCES = "SELECT project_id, change_sequence FROM projects WHERE project_id = ANY (%s)"

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class ChangeAnnouncer:
    """Announces changes after their commit: the first at once, then at most one time per pause for all projects.

    Args:
        engine: one that commits every statement by itself.
        pause: seconds between announcements.
    """

    def __init__(self, engine: AsyncEngine, pause: float = ANNOUNCE_SECONDS) -> None:
        self._engine = engine
        self._pause = pause
        self._changed: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def changed(self, project: str) -> None:
        """Takes note of a committed change; returns at once."""
        self._changed.add(project)
        if self._task is None:
            self._task = asyncio.create_task(self._announce())

    async def close(self) -> None:
        """Announces what is left, and ends."""
        while self._task is not None:
            await self._task

    async def _announce(self) -> None:
        try:
            while self._changed:
                projects, self._changed = sorted(self._changed), set()
                await self._send(projects)
                await asyncio.sleep(self._pause)
        finally:
            self._task = None

    async def _send(self, projects: Sequence[str]) -> None:
        try:
            with translated_errors():
                async with self._engine.connect() as connection:
                    await connection.execute(_ANNOUNCE, {"projects": projects})
        except ConcordError as error:
            _log.warning("changes could not be announced", projects=len(projects), error=str(error))


class ChangeListener:
    """Wakes those who wait for changes in this process, over one connection beside the pool.

    Args:
        database: as :func:`~concord_server.storage.engine.create_engine` takes it.
        audience: who is woken.
        options: of the connection.
        poll: seconds between two looks at the logs of the watched projects.
    """

    def __init__(
        self,
        database: str,
        audience: ChangeAudience,
        options: EngineOptions | None = None,
        poll: float = POLL_SECONDS,
    ) -> None:
        self._arguments = connection_arguments(database, options or EngineOptions())
        self._audience = audience
        self._poll_seconds = poll
        self._last: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to listen, and goes on through outages of the database until :meth:`close`."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Ends."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                _log.warning("not listening for changes", error=type(error).__name__, again_in=RECONNECT_SECONDS)
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen(self) -> None:
        async with asyncio.timeout(ANSWER_SECONDS):
            connection = await psycopg.AsyncConnection.connect(
                autocommit=True, prepare_threshold=None, **self._arguments
            )
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await connection.execute(_LISTEN)
            while True:
                await self._poll(connection)
                async for notification in connection.notifies(timeout=self._poll_seconds):
                    self._audience.wake(notification.payload)
        finally:
            await connection.close()

    async def _poll(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Wakes those whose log has grown since the last look: also for what happened while nobody listened."""
        projects = self._audience.projects()
        before, self._last = self._last, {}
        if not projects:
            return
        async with asyncio.timeout(ANSWER_SECONDS):
            cursor = await connection.execute(_LAST_SEQUENCES, [list(projects)])
            self._last = dict(await cursor.fetchall())
        for project, sequence in self._last.items():
            if before.get(project) != sequence:
                self._audience.wake(project)

"""Reading projects' settings where decisions are made, without a query for each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from concord_server.domain.project_settings import ProjectSettings
from concord_server.ports.ledger import Ledger

KEPT_SECONDS = 2.0
"""How long settings are taken as read: so far may a process be behind a change made in another one."""

MAX_KEPT = 10_000
"""Projects whose settings are kept at most."""


@dataclass(frozen=True, slots=True)
class _Known:
    settings: ProjectSettings
    since: float


class CachedSettings:
    """Implements :class:`~concord_server.ports.project_settings.SettingsOfProjects`.

    Callers who ask at the same time for what has to be read wait for one read. Use it within one event loop.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        kept_seconds: float = KEPT_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Builds the reader.

        Args:
            kept_seconds: how long settings are taken as read.
            monotonic: a clock in seconds that never goes back.
        """
        self._ledger = ledger
        self._kept_seconds = kept_seconds
        self._monotonic = monotonic
        self._known: dict[str, _Known] = {}
        self._reads: dict[str, asyncio.Task[ProjectSettings]] = {}

    async def of(self, project: str) -> ProjectSettings:
        """Returns the project's settings, the defaults where it has set nothing.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        known = self._known.get(project)
        if known is not None and self._monotonic() - known.since < self._kept_seconds:
            return known.settings
        read = self._reads.get(project)
        if read is None:
            read = self._reads[project] = asyncio.create_task(self._read(project))
            read.add_done_callback(lambda done: self._finished(project, done))
        # A caller that is cancelled must not take the others' read with it.
        return await asyncio.shield(read)

    def changed(self, project: str, settings: ProjectSettings) -> None:
        """Takes note of a change that this process has committed: it counts at once."""
        known = self._known.get(project)
        if known is None or known.settings.revision <= settings.revision:
            self._keep(project, _Known(settings, self._monotonic()))

    async def _read(self, project: str) -> ProjectSettings:
        asked = self._monotonic()
        async with self._ledger.read(project) as session:
            settings = (await session.settings.get()).in_force()
        known = self._known.get(project)
        if known is not None and known.since > asked:
            return known.settings  # changed here meanwhile; the read may be from before
        self._keep(project, _Known(settings, asked))
        return settings

    def _keep(self, project: str, known: _Known) -> None:
        self._known.pop(project, None)
        self._known[project] = known
        if len(self._known) > MAX_KEPT:
            del self._known[next(iter(self._known))]  # the one read longest ago

    def _finished(self, project: str, read: asyncio.Task[ProjectSettings]) -> None:
        del self._reads[project]
        if not read.cancelled():
            read.exception()  # each who waits gets it; nobody may be left to

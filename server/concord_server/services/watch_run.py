"""WatchRun: what a run tells, from any point on, as it comes and after its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

from concord_server.domain.errors import RunNotFoundError
from concord_server.domain.runs import RunMessage
from concord_server.ports.ledger import Ledger
from concord_server.services.context import CallContext
from concord_server.services.signals import ChangeSignals

PAGE_SIZE = 100
"""Messages that are read at once."""

POLL_SECONDS = 1.0
"""How long a watcher waits at most before it looks again, should a wake be lost."""


class WatchRun:
    """Reads a run's messages by their sequence: none is missed or told twice, whoever executes the run."""

    def __init__(self, ledger: Ledger, signals: ChangeSignals, poll: float = POLL_SECONDS) -> None:
        """Builds the use case.

        Args:
            signals: are woken when a project has news; runs count as news.
            poll: seconds.
        """
        self._ledger = ledger
        self._signals = signals
        self._poll = poll

    async def execute(self, context: CallContext, run_id: UUID, after_sequence: int) -> AsyncIterator[RunMessage]:
        """Starts a watch and returns what it tells: messages after a sequence, until the run's summary.

        Raises:
            RunNotFoundError: no such run in the project.
        """
        async with self._ledger.read(context.project) as session:
            if await session.runs.get(run_id) is None:
                raise RunNotFoundError(str(run_id))
        return self._follow(context.project, run_id, after_sequence)

    async def _follow(self, project: str, run_id: UUID, after: int) -> AsyncIterator[RunMessage]:
        with self._signals.watching(project) as signal:
            while True:
                generation = signal.generation
                async with self._ledger.read(project) as session:
                    messages = await session.runs.messages(run_id, after, PAGE_SIZE)
                    over = not messages and await session.runs.is_told(run_id, after)
                for message in messages:
                    yield message
                    after = message.sequence
                    if message.last:
                        return
                if over:
                    return
                if not messages:
                    try:
                        async with asyncio.timeout(self._poll):
                            await signal.after(generation)
                    except TimeoutError:
                        continue

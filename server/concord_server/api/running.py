"""The calls under way, so that the server can end: most calls by waiting for them, watches by telling them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from concord_server.domain.errors import UnavailableError

WATCHES = frozenset(
    {
        "concord.v1.EvolutionService/WatchFacts",
        "concord.v1.ConsolidateService/WatchRun",
        "concord.v1.ConsolidateService/Consolidate",
    }
)
"""Methods whose calls tell what happens elsewhere, for as long as it takes: they can be called anew."""


class RunningCalls:
    """Knows which calls run. For use within one event loop."""

    def __init__(self) -> None:
        self._bounded = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._watches: set[asyncio.Timeout] = set()
        self._ended = False

    @asynccontextmanager
    async def running(self, method: str) -> AsyncIterator[None]:
        """Surrounds a call.

        Args:
            method: its full name.

        Raises:
            UnavailableError: the call is a watch, and the server ends.
        """
        around = self._watch() if method in WATCHES else self._counted()
        async with around:
            yield

    def end_watches(self) -> None:
        """Ends every watch, wherever it waits: for a change, or for its caller to take one; later ones at once."""
        self._ended = True
        now = asyncio.get_running_loop().time()
        for watch in self._watches:
            watch.reschedule(now)

    @property
    def busy(self) -> bool:
        """Whether calls other than watches run."""
        return self._bounded > 0

    async def finished(self) -> None:
        """Returns once it is not busy."""
        await self._idle.wait()

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self._bounded += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._bounded -= 1
            if self._bounded == 0:
                self._idle.set()

    @asynccontextmanager
    async def _watch(self) -> AsyncIterator[None]:
        ending = UnavailableError("the service is shutting down; watch on after the last sequence")
        if self._ended:
            raise ending
        try:
            async with asyncio.timeout(None) as watch:
                self._watches.add(watch)
                try:
                    yield
                finally:
                    self._watches.discard(watch)
        except TimeoutError:
            if watch.expired():
                raise ending from None
            raise

"""Waking watchers: each waits for its project, and one wake reaches all of them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class ProjectSignal:
    """Says that a project's log may have grown.

    Attributes:
        generation: changes with every wake, and is never used twice. What was read from the database in an
            earlier generation may miss what the wake is about; what was read in this one does not.
    """

    def __init__(self, generations: Iterator[int]) -> None:
        self._generations = generations
        self._news = asyncio.Event()
        self.generation = next(generations)
        self.watchers = 0

    def wake(self) -> None:
        """Starts the next generation."""
        self.generation = next(self._generations)
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def after(self, generation: int) -> None:
        """Returns once ``generation`` is over, at once when it is already."""
        if self.generation == generation:
            await self._news.wait()


class ChangeSignals:
    """The signals of the projects that are watched, for use within one event loop.

    Implements :class:`~concord_server.ports.watch.ChangeAudience`.
    """

    def __init__(self) -> None:
        self._signals: dict[str, ProjectSignal] = {}
        self._generations = itertools.count()

    @contextmanager
    def watching(self, project: str) -> Iterator[ProjectSignal]:
        """Yields the signal of a project, which is kept for as long as somebody watches."""
        signal = self._signals.get(project)
        if signal is None:
            signal = self._signals[project] = ProjectSignal(self._generations)
        signal.watchers += 1
        try:
            yield signal
        finally:
            signal.watchers -= 1
            if signal.watchers == 0:
                del self._signals[project]

    def projects(self) -> Sequence[str]:
        """Returns the projects that are watched."""
        return list(self._signals)

    def wake(self, project: str) -> None:
        """Wakes everybody who watches a project."""
        signal = self._signals.get(project)
        if signal is not None:
            signal.wake()

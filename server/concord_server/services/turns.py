"""Takes turns within one process before a partition is locked in the database.

Writers of one partition are serial anyway. Waiting here costs a few bytes; waiting in the database would hold a
connection each, and a crowd on one partition would leave none for anybody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from concord_server.domain.model import Partition


@dataclass(slots=True)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class Turns:
    """One queue per partition, for as long as somebody is in it; belongs to one event loop."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, Partition], _Turn] = {}

    @asynccontextmanager
    async def take(self, project: str, partition: Partition) -> AsyncIterator[None]:
        """Waits for the caller's turn, and ends it with the block."""
        key = (project, partition)
        turn = self._turns.setdefault(key, _Turn())
        turn.waiting += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.waiting -= 1
            if turn.waiting == 0:
                del self._turns[key]

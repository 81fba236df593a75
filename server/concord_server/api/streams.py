"""Streams of a call: closed with it, and read ahead while their earlier items are worked on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


@asynccontextmanager
async def closing(items: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Closes a generator when its consumer is done with it, in the consumer's task; others need no closing."""
    try:
        yield items
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


class _End:
    """What comes after the last item."""


async def windows(items: AsyncIterator[T], size: int) -> AsyncGenerator[list[T], None]:
    """Yields what has arrived, in order, at least one item and at most ``size`` at a time.

    While the consumer works on one window, up to ``size`` further items are read; beyond that the sender waits.
    An error of ``items`` is raised after everything that came before it.

    Args:
        items: the stream.
        size: positive.
    """
    queue: asyncio.Queue[T | _End] = asyncio.Queue()
    room = asyncio.Semaphore(size)

    async def read() -> None:
        await room.acquire()
        async for item in items:
            queue.put_nowait(item)
            await room.acquire()

    reader = asyncio.create_task(read())
    reader.add_done_callback(lambda _: queue.put_nowait(_End()))
    try:
        ended = False
        while not ended:
            arrived = [await queue.get()]
            while len(arrived) < size and not queue.empty():
                arrived.append(queue.get_nowait())
            window = [item for item in arrived if not isinstance(item, _End)]
            ended = len(window) < len(arrived)
            for _ in window:
                room.release()
            if window:
                yield window
        await reader
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)

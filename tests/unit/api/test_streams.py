from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from concord_server.api.streams import closing, windows


async def spin() -> None:
    """Lets every task run as far as it can."""
    for _ in range(50):
        await asyncio.sleep(0)


class Source:
    """A stream fed by hand; knows how far it was read."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Any] = asyncio.Queue()
        self.read = 0
        self.closed = False

    def put(self, *items: object) -> None:
        for item in items:
            self.queue.put_nowait(item)

    async def stream(self) -> AsyncIterator[Any]:
        try:
            while (item := await self.queue.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                self.read += 1
                yield item
        finally:
            self.closed = True


async def test_what_has_arrived_comes_together_and_in_order():
    source = Source()
    async with aclosing(windows(source.stream(), 4)) as arrived:
        source.put(1)
        assert await anext(arrived) == [1]
        source.put(2, 3)
        await spin()
        assert await anext(arrived) == [2, 3]
        source.put(None)
        with pytest.raises(StopAsyncIteration):
            await anext(arrived)


async def test_a_window_is_never_larger_than_asked():
    source = Source()
    source.put(*range(10), None)
    sizes = [len(window) async for window in windows(source.stream(), 4)]
    assert sum(sizes) == 10
    assert max(sizes) <= 4


async def test_no_more_is_read_ahead_than_the_window_while_the_consumer_works():
    source = Source()
    source.put(*range(100))
    async with aclosing(windows(source.stream(), 4)) as arrived:
        window = await anext(arrived)
        await spin()
        assert source.read == len(window) + 4
        window += await anext(arrived)
        await spin()
        assert source.read == len(window) + 4


async def test_an_error_comes_after_everything_before_it():
    source = Source()
    source.put(1, 2, ValueError("broken"))
    async with aclosing(windows(source.stream(), 8)) as arrived:
        assert await anext(arrived) == [1, 2]
        with pytest.raises(ValueError, match="broken"):
            await anext(arrived)


async def test_an_empty_stream_has_no_window():
    source = Source()
    source.put(None)
    assert [window async for window in windows(source.stream(), 8)] == []


async def test_a_consumer_that_stops_stops_the_reading():
    source = Source()
    source.put(1)
    async with aclosing(windows(source.stream(), 4)) as arrived:
        await anext(arrived)
        await spin()
    await spin()
    assert source.closed


async def test_closing_closes_generators_and_leaves_other_iterators():
    source = Source()
    source.put(1)
    async with closing(source.stream()) as items:
        assert await anext(items) == 1
    assert source.closed

    class Once:
        def __aiter__(self):
            return self

        async def __anext__(self):
            return 7

    async with closing(Once()) as items:
        assert await anext(items) == 7

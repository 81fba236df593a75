"""How watches wait for each other's reads, and for news."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from concord_server.domain.errors import UnavailableError
from concord_server.domain.watching import Heartbeat, WatchFilter
from concord_server.ports.ledger import Ledger
from concord_server.services.context import CallContext
from concord_server.services.signals import ChangeSignals
from concord_server.services.watch import READS_AT_ONCE, SILENCE_SECONDS, SharedPages

from tests.support.watching import FakeTiming, MemoryLog, until

CONTEXT = CallContext("default")


def pages(log: MemoryLog) -> SharedPages:
    return SharedPages(cast("Ledger", log))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_wake_reaches_everybody_who_waits_and_nobody_else() -> None:
    signals = ChangeSignals()
    with signals.watching("a") as one, signals.watching("a") as two, signals.watching("b") as other:
        waits = [asyncio.create_task(signal.after(signal.generation)) for signal in (one, two, other)]
        await settle()
        signals.wake("a")
        await settle()
        assert [wait.done() for wait in waits] == [True, True, False]
        waits[2].cancel()


async def test_a_wake_before_the_wait_is_not_lost() -> None:
    signals = ChangeSignals()
    with signals.watching("a") as signal:
        generation = signal.generation
        signals.wake("a")
        await signal.after(generation)


async def test_no_generation_is_used_twice_even_when_watchers_come_and_go() -> None:
    signals = ChangeSignals()
    seen: list[int] = []
    for _ in range(3):
        with signals.watching("a") as signal:
            seen.append(signal.generation)
            signals.wake("a")
            seen.append(signal.generation)
    assert len(set(seen)) == len(seen)


async def test_only_watched_projects_are_known() -> None:
    signals = ChangeSignals()
    signals.wake("nobody")
    with signals.watching("a"), signals.watching("b"), signals.watching("a"):
        assert sorted(signals.projects()) == ["a", "b"]
    assert list(signals.projects()) == []


async def test_those_who_want_the_same_page_share_one_read() -> None:
    log = MemoryLog()
    log.fill(3)
    shared = pages(log)
    found = await asyncio.gather(*(shared.read("default", 0, 1) for _ in range(50)))
    assert log.reads == 1
    assert all(page is found[0] for page in found)


async def test_who_knows_of_later_news_does_not_share_an_earlier_read() -> None:
    log = MemoryLog()
    log.gate.clear()
    shared = pages(log)
    early = asyncio.create_task(shared.read("default", 0, 1))
    await settle()
    log.fill(1)
    late = asyncio.create_task(shared.read("default", 0, 2))
    await settle()
    log.gate.set()
    assert [len((await task).changes) for task in (early, late)] == [0, 1]


async def test_a_reader_that_goes_away_leaves_the_page_to_the_others() -> None:
    log = MemoryLog()
    log.fill(1)
    log.gate.clear()
    shared = pages(log)
    first, second = (asyncio.create_task(shared.read("default", 0, 1)) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    log.gate.set()
    assert len((await second).changes) == 1
    assert log.reads == 1


async def test_a_failed_read_fails_for_all_and_the_next_one_is_tried_anew() -> None:
    log = MemoryLog()
    shared = pages(log)
    log.down = True
    failed = await asyncio.gather(*(shared.read("default", 0, 1) for _ in range(3)), return_exceptions=True)
    assert [type(error) for error in failed] == [UnavailableError] * 3
    log.down = False
    assert (await shared.read("default", 0, 1)).complete


async def test_few_reads_run_at_once() -> None:
    log = MemoryLog()
    log.fill(9)
    log.gate.clear()
    shared = pages(log)
    reading = [asyncio.create_task(shared.read("default", after, 1)) for after in range(9)]
    await settle()
    assert log.reads == READS_AT_ONCE
    log.gate.set()
    await asyncio.gather(*reading)
    assert log.reads == 9


async def test_a_long_way_through_unwanted_changes_is_interrupted_by_heartbeats() -> None:
    log, timing = MemoryLog(), FakeTiming()
    log.fill(1000)
    items = await log.watch_facts(timing).execute(CONTEXT, WatchFilter(domain="ops"), 0)
    log.gate.clear()
    first = asyncio.ensure_future(anext(items))
    await until(lambda: log.reads == 1)
    timing.advance(SILENCE_SECONDS)
    log.gate.set()
    assert await first == Heartbeat(100)


async def test_a_deadline_of_the_caller_is_no_silence() -> None:
    log = MemoryLog()
    items = await log.watch_facts().execute(CONTEXT, WatchFilter(), 0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await anext(items)
    assert list(log.signals.projects()) == []

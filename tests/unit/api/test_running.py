from __future__ import annotations

import asyncio

import pytest
from concord_server.api.running import WATCHES, RunningCalls
from concord_server.domain.errors import UnavailableError

[WATCH] = [method for method in WATCHES if method.endswith("/WatchFacts")]
OTHER = "concord.v1.ReconcileService/Reconcile"


async def test_it_is_finished_once_no_call_but_watches_runs() -> None:
    calls = RunningCalls()
    async with calls.running(WATCH):
        await calls.finished()
        async with calls.running(OTHER), calls.running(OTHER):
            finished = asyncio.create_task(calls.finished())
            await asyncio.sleep(0)
            assert calls.busy
            assert not finished.done()
        await finished
        assert not calls.busy


async def test_a_call_that_fails_runs_no_more() -> None:
    calls = RunningCalls()
    with pytest.raises(ZeroDivisionError):
        async with calls.running(OTHER):
            raise ZeroDivisionError
    await calls.finished()


async def test_watches_end_wherever_they_wait_and_other_calls_do_not() -> None:
    calls = RunningCalls()

    async def wait(method: str) -> None:
        async with calls.running(method):
            await asyncio.Event().wait()

    watch, other = asyncio.create_task(wait(WATCH)), asyncio.create_task(wait(OTHER))
    await asyncio.sleep(0)
    calls.end_watches()
    with pytest.raises(UnavailableError, match="watch on"):
        await watch
    assert not other.done()
    other.cancel()


async def test_a_watch_that_comes_after_the_end_is_refused() -> None:
    calls = RunningCalls()
    calls.end_watches()
    with pytest.raises(UnavailableError):
        async with calls.running(WATCH):
            pass
    async with calls.running(OTHER):
        pass


async def test_a_timeout_of_the_call_itself_stays_its_own() -> None:
    calls = RunningCalls()
    with pytest.raises(TimeoutError):
        async with calls.running(WATCH), asyncio.timeout(0):
            await asyncio.sleep(1)

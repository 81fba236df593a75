"""Recurring work: pauses as it is told, and outlives what goes wrong in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from concord_server.domain.errors import UnavailableError
from concord_server.services.upkeep import Removed
from concord_server.worker.background import Background, Recurring, pause_until
from concord_server.worker.catching_up import LOOK_AGAIN, catching_up
from concord_server.worker.scheduler import scheduling
from concord_server.worker.upkeep import LOOK_AGAIN as UPKEEP_AGAIN
from concord_server.worker.upkeep import keeping_up
from structlog.testing import capture_logs

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


class StoppedError(Exception):
    """Ends work that would go on for ever."""


class Sleeper:
    """Notes the pauses, and ends the work after some."""

    def __init__(self, count: int) -> None:
        self.pauses: list[float] = []
        self._count = count

    async def __call__(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if len(self.pauses) == self._count:
            raise StoppedError


class Steps:
    """Answers each step in turn: with a pause, or by raising."""

    def __init__(self, *answers: timedelta | Exception) -> None:
        self._answers = list(answers)

    async def __call__(self) -> timedelta:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def pauses_of(*answers: timedelta | Exception) -> list[float]:
    sleeper = Sleeper(len(answers))
    with pytest.raises(StoppedError):
        await Recurring("test", Steps(*answers), sleeper).run()
    return sleeper.pauses


async def test_work_pauses_as_long_as_each_step_says():
    assert await pauses_of(timedelta(seconds=3), timedelta(), timedelta(minutes=2)) == [3, 0, 120]


async def test_failures_in_a_row_are_retried_more_and_more_slowly_and_success_starts_anew():
    failure = UnavailableError("the database is away")
    answers: list[timedelta | Exception] = [*[failure] * 9, timedelta(seconds=5), failure]
    assert await pauses_of(*answers) == [1, 2, 4, 8, 16, 32, 60, 60, 60, 5, 1]


async def test_a_defect_ends_the_step_and_not_the_work():
    assert await pauses_of(ZeroDivisionError(), timedelta(seconds=7)) == [1, 7]


async def test_closing_ends_a_step_that_is_under_way():
    started, ended = asyncio.Event(), asyncio.Event()

    async def step() -> timedelta:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return timedelta()

    background = Background([Recurring("test", step)])
    background.start()
    await started.wait()
    await background.close()
    assert ended.is_set()


class FixedClock:
    def now(self) -> datetime:
        return NOON


@pytest.mark.parametrize(
    ("due", "seconds"), [(None, 60), (NOON + timedelta(seconds=5), 5), (NOON, 0), (NOON - timedelta(hours=1), 0)]
)
def test_the_pause_ends_when_something_is_due_and_is_never_long(due, seconds):
    assert pause_until(due, FixedClock(), timedelta(minutes=1)) == timedelta(seconds=seconds)
    assert pause_until(NOON + timedelta(days=9), FixedClock(), timedelta(minutes=1)) == timedelta(minutes=1)


class Answering:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def execute(self) -> Any:
        return self.answer


async def test_the_scheduler_wakes_when_the_next_fact_is_due():
    assert await scheduling(Answering(NOON + timedelta(seconds=9)), FixedClock()).step() == timedelta(seconds=9)


@pytest.mark.parametrize("available", [True, False])
async def test_what_waits_for_the_embedder_is_looked_for_again(available):
    step: Callable[[], Any] = catching_up(Answering(available)).step
    assert await step() == LOOK_AGAIN


@pytest.mark.parametrize("removed", [Removed(), Removed(3, 4)])
async def test_what_is_kept_for_too_long_is_looked_for_again_and_told(removed: Removed):
    with capture_logs() as logs:
        step: Callable[[], Any] = keeping_up(Answering(removed)).step
        assert await step() == UPKEEP_AGAIN
    told = [(line["requests"], line["changes"]) for line in logs]
    assert told == ([(3, 4)] if removed.requests else [])

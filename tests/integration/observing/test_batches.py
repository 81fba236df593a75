"""Batches, groups and workers: how often a model is asked, in which order, and what failures leave behind."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from concord_server.domain.enums import EventState, RunState
from concord_server.domain.errors import LeaseLostError
from concord_server.domain.events import Failure
from concord_server.domain.runs import ALL_STAGES, RunScope
from concord_server.ports.language_model import (
    ModelBudgetSpentError,
    ModelDeniedError,
    ModelFailedError,
    ModelRateLimitedError,
)
from concord_server.ports.observations import GroupLease
from concord_server.services.observe import ObserveGroup
from concord_server.services.runs import CancelRun, StartRun

from tests.support.observing import OBSERVE, Observatory, create
from tests.support.runs import LEASE, at_work, said

COMMON = "have something in common"


def common(data: dict[str, Any]) -> dict[str, Any]:
    """One observation over all new facts, of the same wording each time."""
    return {"creates": [create(COMMON, *data["new_facts"])]}


def one_by_one(data: dict[str, Any]) -> dict[str, Any]:
    """An observation for each new fact."""
    return {"creates": [create(fact["text"], fact) for fact in data["new_facts"]]}


def values_of(data: dict[str, Any]) -> list[str]:
    return [fact["text"].split()[-1] for fact in data["new_facts"]]


async def test_batches_are_filled_and_a_group_goes_in_the_order_of_its_facts(there: Observatory):
    values = [f"v{n:03}" for n in range(100)]
    await there.tell(*values)
    there.model.reply = common
    summary = await there.observe()
    asked = [values_of(question) for question in there.model.questions]
    assert [len(each) for each in asked] == [8] * 12 + [4]
    assert [value for each in asked for value in each] == values
    assert (summary.observe.processed, summary.observe.model_calls) == (100, 13)
    [observation] = await there.believed()
    assert observation.proof_count == 100


async def test_a_large_backlog_takes_no_more_than_its_turn(there: Observatory):
    await there.tell(*(f"large-{n}" for n in range(40)), subject="large")
    for small in ("a", "b", "c"):
        await there.tell(f"small-{small}", subject=small)
    await there.observe(concurrency=1)
    order = [question["about"] for question in there.model.questions]
    assert len(order) == 8
    assert set(order[:4]) == {"User large", "User a", "User b", "User c"}


async def test_groups_go_in_parallel(there: Observatory):
    for subject in "abcd":
        await there.tell(f"of-{subject}", subject=subject)
    all_asked = asyncio.Barrier(4)
    there.model.meanwhile = all_asked.wait
    async with asyncio.timeout(30):
        await there.observe(concurrency=4)
    assert len(there.model.asked) == 4


class TestFailures:
    @pytest.mark.parametrize("failure", [ModelFailedError("timeout"), "no JSON at all", '{"creates": [', "[]"])
    async def test_one_bad_fact_fails_alone(self, there: Observatory, failure):
        values = [f"v{n}" for n in range(8)]
        await there.tell(*values)
        there.model.reply = lambda data: failure if "v5" in values_of(data) else one_by_one(data)
        summary = await there.observe()
        assert summary.state is RunState.SUCCEEDED
        assert (summary.observe.processed, summary.observe.failed) == (8, 1)
        assert [len(values_of(each)) for each in there.model.questions] == [8, 4, 4, 2, 1, 1, 2]
        assert summary.observe.model_calls == 7
        assert [text.split()[-1] for text in await there.texts()] == [v for v in values if v != "v5"]

    async def test_it_rests_and_can_be_retried(self, there: Observatory):
        await there.tell("v5")
        there.model.reply = lambda _: ModelFailedError("timeout")
        await there.observe()
        assert (await there.observe()).observe.total == 0
        there.model.reply = one_by_one
        assert await retry(there, EventState.DEAD) == 0
        assert await retry(there, EventState.FAILED) == 1
        summary = await there.observe()
        assert (summary.observe.processed, summary.observe.failed) == (1, 0)

    async def test_it_is_given_up_after_five_attempts(self, there: Observatory):
        [fact] = await there.tell("v5")
        lease = await taken(there)
        for attempt in range(1, 6):
            async with there.ledger.write(there.project) as session:
                await session.observing.fail(lease, fact, Failure("X", f"attempt {attempt}"), there.clock.now())
        assert await retry(there, EventState.FAILED) == 0
        assert await retry(there, EventState.DEAD) == 1

    @pytest.mark.parametrize("limit", [ModelRateLimitedError, ModelBudgetSpentError])
    async def test_a_limit_ends_the_run_and_keeps_everything(self, there: Observatory, limit):
        await there.tell(*(f"v{n}" for n in range(12)))
        limited = limit("slow down", timedelta(seconds=90))
        there.model.reply = lambda data: limited if "v11" in values_of(data) else one_by_one(data)
        started = there.clock.now()
        summary = await there.observe()
        assert summary.state is RunState.RATE_LIMITED
        assert summary.error is not None
        assert summary.error.reason == limit.reason
        assert summary.retry_time is not None
        assert summary.retry_time - started >= timedelta(seconds=90)
        assert (summary.observe.total, summary.observe.processed, summary.observe.failed) == (12, 8, 0)
        there.model.reply = one_by_one
        summary = await there.observe()
        assert (summary.state, summary.observe.processed) == (RunState.SUCCEEDED, 4)
        assert len(await there.believed()) == 12

    async def test_a_refused_key_ends_the_run_and_keeps_everything(self, there: Observatory):
        await there.tell("a", "b")
        there.model.reply = lambda _: ModelDeniedError("no such model")
        summary = await there.observe()
        assert summary.state is RunState.FAILED
        assert summary.error is not None
        assert (summary.error.reason, len(there.model.asked)) == ("MODEL_DENIED", 1)
        assert (await there.observe()).observe.total == 2

    async def test_an_embedder_that_is_down_ends_the_run_and_keeps_everything(self, there: Observatory):
        await there.tell("a", "b")
        there.model.reply = common
        there.embedder.down = True
        summary = await there.observe()
        assert (summary.state, summary.observe.processed) == (RunState.FAILED, 0)
        there.embedder.down = False
        assert (await there.observe()).observe.processed == 2

    async def test_a_defect_fails_the_facts_that_it_shows_in(self, there: Observatory):
        await there.tell("a", subject="one")
        await there.tell("b", subject="two")
        there.model.reply = lambda data: ZeroDivisionError() if data["about"] == "User one" else common(data)
        summary = await there.observe()
        assert (summary.state, summary.observe.processed, summary.observe.failed) == (RunState.SUCCEEDED, 2, 1)


class TestLeases:
    async def test_a_worker_that_dies_in_a_call_leaves_nothing_and_loses_nothing(self, there: Observatory):
        await there.tell(*(f"v{n}" for n in range(8)))
        there.model.reply = common
        called = asyncio.Event()

        async def hangs() -> None:
            called.set()
            await asyncio.Event().wait()

        there.model.meanwhile = hangs
        run = await there.start(OBSERVE)
        dying = asyncio.create_task(there.worker(lease=timedelta(seconds=1)).run())
        await called.wait()
        dying.cancel()
        await asyncio.gather(dying, return_exceptions=True)
        assert await there.believed() == []
        there.model.meanwhile = None
        async with at_work(there.worker()):
            messages = await there.told(run)
        assert messages[-1].update.observe.processed == 8  # type: ignore[union-attr]
        [observation] = await there.believed()
        assert observation.proof_count == 8

    async def test_who_lost_the_group_writes_nothing(self, there: Observatory):
        await there.tell("a", "b")
        there.model.reply = common
        lease = await taken(there)

        async def lost() -> None:
            async with there.ledger.write(there.project) as session:
                await session.observing.release(lease)

        there.model.meanwhile = lost
        with pytest.raises(LeaseLostError):
            await observer(there).execute(there.project, lease)
        assert await there.believed() == []
        there.model.meanwhile = None
        await there.observe()
        assert await there.texts() == [COMMON]

    async def test_a_group_is_one_workers_alone(self, there: Observatory):
        await there.tell("a")
        lease = await taken(there)
        async with there.ledger.write(there.project) as session:
            assert await session.observing.take(lease.run_id, there.ids.new(), LEASE) is None

    async def test_two_runs_share_the_work_and_do_nothing_twice(self, there: Observatory):
        for subject in ("a", "b", "c"):
            await there.tell(*(f"{subject}-{n}" for n in range(12)), subject=subject)
        there.model.reply = one_by_one
        first, second = await there.start(OBSERVE), await there.start(OBSERVE)
        async with at_work(there.worker(), there.worker()):
            told = await asyncio.gather(there.told(first), there.told(second))
        done = [messages[-1].update.observe for messages in told]  # type: ignore[union-attr]
        assert sum(each.processed for each in done) == sum(each.total for each in done) == 36
        assert len(await there.believed()) == 36

    async def test_a_cancelled_run_leaves_the_rest_pending(self, there: Observatory):
        await there.tell(*(f"v{n}" for n in range(12)))
        run = await there.start(OBSERVE)
        cancel = CancelRun(there.ledger, there.clock)

        async def cancelled() -> None:
            there.model.meanwhile = None
            await cancel.execute(there.context, run.run_id)  # type: ignore[arg-type]

        there.model.meanwhile, there.model.reply = cancelled, one_by_one
        async with at_work(there.worker()):
            messages = await there.told(run)
        summary = messages[-1].update
        assert summary.state is RunState.CANCELLED  # type: ignore[union-attr]
        assert (len(there.model.asked), len(await there.believed())) == (1, 8)
        assert (await there.observe()).observe.total == 4


async def test_a_dry_run_counts_what_is_pending_and_asks_nobody(there: Observatory):
    await there.tell("a", "b")
    start = StartRun(there.ledger, there.consolidate, there.clock, there.ids)
    planned = await start.plan(there.context, OBSERVE)
    assert planned[-1].update.observe.total == 2  # type: ignore[union-attr]
    assert there.model.asked == []
    assert (await there.observe()).observe.total == 2


async def test_the_stage_takes_up_what_its_own_run_extracted(there: Observatory):
    await there.append(said("a"), said("b", predicate="food"))
    there.model.reply = common
    summary, _ = await there.worked(scope=RunScope(stages=ALL_STAGES))
    assert (summary.extract.processed, summary.observe.processed) == (2, 2)
    assert await there.texts() == [COMMON]


async def taken(there: Observatory) -> GroupLease:
    """Takes a group as a worker does."""
    run = await there.start(OBSERVE)
    assert run.run_id is not None
    async with there.ledger.write(there.project) as session:
        assert not await session.leases.close(run.run_id, there.clock.now(), has_model=False)
        lease = await session.observing.take(run.run_id, there.ids.new(), LEASE)
    assert lease is not None
    return lease


def observer(there: Observatory) -> ObserveGroup:
    return ObserveGroup(there.ledger, there.embedder, there.judge, there.answerer, there.clock, there.ids)


async def retry(there: Observatory, *states: EventState) -> int:
    async with there.ledger.write(there.project) as session:
        return await session.observing.retry(states, None)

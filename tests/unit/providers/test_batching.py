import asyncio
from collections.abc import Sequence

import pytest
from concord_server.providers.embedders.batching import (
    BatcherClosedError,
    BatcherFullError,
    BatchLimits,
    MicroBatcher,
)


class Runner:
    """A run function that notes its batches and answers each only when told to."""

    def __init__(self, *, held: bool = False) -> None:
        self.batches: list[list[str]] = []
        self.failures: dict[str, Exception] = {}
        self.running = 0
        self.most_running = 0
        self._started = asyncio.Condition()
        self._gate = asyncio.Event()
        if not held:
            self._gate.set()

    async def __call__(self, items: list[str]) -> Sequence[str]:
        self.batches.append(items)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        async with self._started:
            self._started.notify_all()
        try:
            await self._gate.wait()
        finally:
            self.running -= 1
        for item in items:
            if item in self.failures:
                raise self.failures[item]
        return [item.upper() for item in items]

    async def started(self, batches: int) -> None:
        async with self._started:
            await self._started.wait_for(lambda: len(self.batches) >= batches)

    def release(self) -> None:
        self._gate.set()


async def submitted(batcher: MicroBatcher[str, str], *items: str) -> asyncio.Task[list[str]]:
    """Starts a call and returns when its items are waiting."""
    task = asyncio.create_task(batcher.submit(items))
    await asyncio.sleep(0)
    return task


async def test_a_lone_call_runs_at_once_and_keeps_its_order():
    runner = Runner()
    batcher = MicroBatcher(runner)
    assert await batcher.submit(["c", "a", "b"]) == ["C", "A", "B"]
    assert len(runner.batches) == 1


async def test_an_empty_call_answers_without_a_run():
    runner = Runner()
    assert await MicroBatcher(runner).submit([]) == []
    assert runner.batches == []


async def test_calls_made_together_share_a_batch():
    runner = Runner()
    batcher = MicroBatcher(runner)
    answers = await asyncio.gather(*(batcher.submit([letter]) for letter in "abcd"))
    assert answers == [["A"], ["B"], ["C"], ["D"]]
    assert runner.batches == [["a", "b", "c", "d"]]


async def test_what_arrives_during_a_run_makes_up_the_next_batch():
    runner = Runner(held=True)
    batcher = MicroBatcher(runner)
    first = asyncio.create_task(batcher.submit(["a"]))
    await runner.started(1)
    later = [await submitted(batcher, letter) for letter in "bcd"]
    assert runner.batches == [["a"]]
    runner.release()
    assert [await task for task in [first, *later]] == [["A"], ["B"], ["C"], ["D"]]
    assert runner.batches == [["a"], ["b", "c", "d"]]


async def test_callers_that_ask_again_at_once_stay_in_shared_batches():
    runner = Runner(held=True)
    batcher = MicroBatcher(runner)

    async def caller(name: str) -> None:
        for turn in range(3):
            await batcher.submit([f"{name}{turn}"])

    first = asyncio.create_task(caller("a"))
    await runner.started(1)
    second = asyncio.create_task(caller("b"))
    await asyncio.sleep(0)
    runner.release()
    await asyncio.gather(first, second)
    assert runner.batches == [["a0"], ["b0", "a1"], ["b1", "a2"], ["b2"]]


async def test_no_batch_exceeds_the_item_limit():
    runner = Runner()
    batcher = MicroBatcher(runner, limits=BatchLimits(max_items=8))
    items = [str(number) for number in range(50)]
    assert await batcher.submit(items) == items
    assert [len(batch) for batch in runner.batches] == [8] * 6 + [2]


async def test_no_batch_exceeds_the_cost_limit_except_one_costly_item():
    runner = Runner()
    batcher = MicroBatcher(runner, cost=len, limits=BatchLimits(max_cost=10))
    items = ["aaaa", "b" * 25, "cccccc", "dddd", "eeeee"]
    assert await batcher.submit(items) == [item.upper() for item in items]
    costs = [sum(map(len, batch)) for batch in runner.batches]
    assert sorted(item for batch in runner.batches for item in batch) == sorted(items)
    assert all(cost <= 10 for cost in costs if cost != 25)
    assert ["b" * 25] in runner.batches


async def test_items_of_like_cost_share_batches():
    runner = Runner()
    batcher = MicroBatcher(runner, cost=len, limits=BatchLimits(max_items=2))
    await batcher.submit(["aaaa", "b", "cccc", "d"])
    assert runner.batches == [["b", "d"], ["aaaa", "cccc"]]


async def test_a_large_call_does_not_starve_single_ones():
    runner = Runner(held=True)
    batcher = MicroBatcher(runner, limits=BatchLimits(max_items=4))
    large = asyncio.create_task(batcher.submit([f"large{number}" for number in range(100)]))
    await runner.started(1)
    single = [await submitted(batcher, f"single{number}") for number in range(3)]
    runner.release()
    await asyncio.gather(*single)
    assert sorted(runner.batches[1])[1:] == ["single0", "single1", "single2"]
    assert not large.done()
    assert await large == [f"LARGE{number}" for number in range(100)]


async def test_large_calls_advance_side_by_side():
    runner = Runner()
    batcher = MicroBatcher(runner, limits=BatchLimits(max_items=10))
    names = ["x", "y"]
    await asyncio.gather(*(batcher.submit([name] * 20) for name in names))
    assert all(batch.count("x") == batch.count("y") == 5 for batch in runner.batches)


async def test_an_item_passed_over_for_its_cost_is_first_in_the_next_batch():
    runner = Runner(held=True)
    batcher = MicroBatcher(runner, cost=len, limits=BatchLimits(max_cost=5))
    tasks = [asyncio.create_task(batcher.submit(["a"]))]
    await runner.started(1)
    tasks += [await submitted(batcher, item) for item in ["bbb", "cccc", "d", "e"]]
    runner.release()
    await asyncio.gather(*tasks)
    assert runner.batches == [["a"], ["bbb"], ["cccc", "d"], ["e"]]


async def test_a_cancelled_call_takes_its_waiting_items_with_it():
    runner = Runner(held=True)
    batcher = MicroBatcher(runner)
    first = asyncio.create_task(batcher.submit(["a"]))
    await runner.started(1)
    leaving = await submitted(batcher, "b", "c")
    staying = await submitted(batcher, "d")
    assert batcher.waiting == 3
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert batcher.waiting == 1
    runner.release()
    assert await first == ["A"]
    assert await staying == ["D"]
    assert runner.batches == [["a"], ["d"]]


async def test_cancelling_a_call_that_is_running_leaves_its_neighbours_alone():
    runner = Runner(held=True)
    batcher = MicroBatcher(runner)
    leaving = asyncio.create_task(batcher.submit(["a"]))
    staying = asyncio.create_task(batcher.submit(["b"]))
    await runner.started(1)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    runner.release()
    assert await staying == ["B"]


async def test_a_failed_batch_reaches_its_callers_and_nobody_else():
    runner = Runner(held=True)
    batcher = MicroBatcher(runner, limits=BatchLimits(max_items=2))
    runner.failures["bad"] = ArithmeticError("no")
    before = asyncio.create_task(batcher.submit(["a"]))
    await runner.started(1)
    failing = await submitted(batcher, "bad", "worse", "worst")
    beside = await submitted(batcher, "b")
    after = await submitted(batcher, "c")
    runner.release()
    answers = await asyncio.gather(before, failing, beside, after, return_exceptions=True)
    assert answers[0] == ["A"]
    assert isinstance(answers[1], ArithmeticError)
    assert isinstance(answers[2], ArithmeticError)
    assert answers[3] == ["C"]
    assert runner.batches == [["a"], ["bad", "b"], ["c"]], "a failed call's other items are not run"
    assert batcher.waiting == 0


async def test_the_batcher_goes_on_after_a_failure():
    runner = Runner()
    batcher = MicroBatcher(runner)
    runner.failures["bad"] = ArithmeticError("no")
    with pytest.raises(ArithmeticError):
        await batcher.submit(["bad"])
    assert await batcher.submit(["good"]) == ["GOOD"]


async def test_a_run_with_too_few_results_is_an_error():
    async def lossy(items: list[str]) -> list[str]:
        return items[1:]

    with pytest.raises(RuntimeError, match="1 results for a batch of 2"):
        await MicroBatcher(lossy).submit(["a", "b"])


async def test_calls_are_refused_while_too_much_is_waiting():
    runner = Runner(held=True)
    batcher = MicroBatcher(runner, limits=BatchLimits(max_waiting=3))
    tasks = [asyncio.create_task(batcher.submit(["a"]))]
    await runner.started(1)
    tasks.append(await submitted(batcher, "b", "c", "d", "e"))
    with pytest.raises(BatcherFullError):
        await batcher.submit(["f"])
    runner.release()
    await asyncio.gather(*tasks)
    assert await batcher.submit(["f"]) == ["F"]


async def test_an_item_without_a_cost_leaves_nothing_behind():
    runner = Runner()
    batcher = MicroBatcher(runner, cost=lambda item: len(item.encode()))
    with pytest.raises(UnicodeEncodeError):
        await batcher.submit(["a", "\ud800"])
    assert batcher.waiting == 0
    assert await batcher.submit(["b"]) == ["B"]
    assert runner.batches == [["b"]]


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_as_many_batches_run_at_once_as_allowed(concurrency: int):
    runner = Runner(held=True)
    batcher = MicroBatcher(runner, limits=BatchLimits(max_items=1, concurrency=concurrency))
    call = asyncio.create_task(batcher.submit(list("abcdefg")))
    await runner.started(concurrency)
    assert runner.running == concurrency
    runner.release()
    assert await call == list("ABCDEFG")
    assert runner.most_running == concurrency


async def test_close_fails_what_waits_and_lets_the_running_batch_end():
    runner = Runner(held=True)
    batcher = MicroBatcher(runner)
    running = asyncio.create_task(batcher.submit(["a"]))
    await runner.started(1)
    waiting = await submitted(batcher, "b")
    closing = asyncio.create_task(batcher.close())
    with pytest.raises(BatcherClosedError):
        await waiting
    assert not closing.done()
    runner.release()
    assert await running == ["A"]
    await closing
    assert runner.batches == [["a"]]
    with pytest.raises(BatcherClosedError):
        await batcher.submit(["c"])
    await batcher.close()


@pytest.mark.parametrize("field", ["max_items", "max_cost", "max_waiting", "concurrency"])
def test_limits_under_which_nothing_runs_are_refused(field: str):
    with pytest.raises(ValueError, match=field):
        BatchLimits(**{field: 0})

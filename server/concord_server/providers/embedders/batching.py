"""Micro-batching: concurrent calls share the runs of one slow, batch-friendly function.

Nothing waits for company. A call that finds the runner idle starts at once; what arrives while a batch runs makes
up the next one. So a lone caller pays no delay, and under load the batches fill by themselves.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class BatcherClosedError(Exception):
    """The batcher was closed before the call was answered."""


class BatcherFullError(Exception):
    """So many items are waiting that the call was refused."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much runs and waits at once.

    Attributes:
        max_items: most items in a batch, at least 1.
        max_cost: most cost in a batch, in the unit of the batcher's cost function, at least 1; an item that alone
            costs more makes a batch of its own.
        max_waiting: calls are refused while this many items wait, at least 1.
        concurrency: batches that run at the same time, at least 1.
    """

    max_items: int = 32
    max_cost: int = 512
    max_waiting: int = 20_000
    concurrency: int = 1

    def __post_init__(self) -> None:
        """Refuses limits under which nothing could run."""
        for name in self.__slots__:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")


class _Call(Generic[T, R]):
    """One caller's items, those not yet in a batch, and the results so far."""

    __slots__ = ("answer", "costs", "items", "missing", "pending", "results")

    def __init__(self, items: Sequence[T], costs: list[int], answer: asyncio.Future[list[R]]) -> None:
        self.items = items
        self.costs = costs
        self.answer = answer
        # Items of like cost end up in the same batches, which keeps padding low.
        self.pending = deque(sorted(range(len(items)), key=costs.__getitem__))
        self.results: dict[int, R] = {}

    def deliver(self, index: int, result: R) -> None:
        self.results[index] = result
        if len(self.results) == len(self.items) and not self.answer.done():
            self.answer.set_result([self.results[i] for i in range(len(self.items))])

    def fail(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class MicroBatcher(Generic[T, R]):
    """Runs the items of concurrent calls in shared batches.

    Fair: a batch takes one item from each waiting call in turn, so a call of one item is in the next batch however
    many items other calls have waiting. Belongs to the event loop of its first call; not thread-safe.
    """

    def __init__(
        self,
        run: Callable[[list[T]], Coroutine[Any, Any, Sequence[R]]],
        *,
        cost: Callable[[T], int] = lambda _item: 1,
        limits: BatchLimits | None = None,
    ) -> None:
        """Makes an idle batcher.

        Args:
            run: computes one result per item, in order. What it raises reaches every call with an item in that
                batch, and no other.
            cost: the cost of an item, at least 1. What it raises is raised by `submit`.
            limits: bounds of a batch and of the queue.
        """
        self._run = run
        self._cost = cost
        self._limits = limits or BatchLimits()
        self._ring: deque[_Call[T, R]] = deque()
        self._waiting = 0
        self._running: set[asyncio.Task[Sequence[R]]] = set()
        self._pump_scheduled = False
        self._closed = False

    @property
    def waiting(self) -> int:
        """Items that are in no batch yet."""
        return self._waiting

    async def submit(self, items: Sequence[T]) -> list[R]:
        """Returns one result per item, in order.

        A cancelled call takes its waiting items with it; those in a running batch are computed for nothing.

        Raises:
            BatcherClosedError: the batcher is closed.
            BatcherFullError: too many items are waiting.
        """
        if self._closed:
            raise BatcherClosedError
        if not items:
            return []
        if self._waiting >= self._limits.max_waiting:
            raise BatcherFullError(f"{self._waiting} items are waiting")
        costs = [self._cost(item) for item in items]
        call: _Call[T, R] = _Call(items, costs, asyncio.get_running_loop().create_future())
        self._ring.append(call)
        self._waiting += len(items)
        self._schedule_pump()
        try:
            return await call.answer
        finally:
            self._waiting -= len(call.pending)
            call.pending.clear()

    async def close(self) -> None:
        """Refuses new calls, fails those with waiting items, and returns when the running batches have ended."""
        self._closed = True
        for call in self._ring:
            call.fail(BatcherClosedError())
        self._ring.clear()
        if self._running:
            await asyncio.wait(self._running)

    def _schedule_pump(self) -> None:
        # Not at once: calls made in the same turn of the event loop then share the first batch.
        if not self._pump_scheduled:
            self._pump_scheduled = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._pump_scheduled = False
        while len(self._running) < self._limits.concurrency:
            batch = self._take()
            if not batch:
                return
            task = asyncio.ensure_future(self._run([call.items[index] for call, index in batch]))
            self._running.add(task)
            task.add_done_callback(partial(self._finish, batch))

    def _take(self) -> list[tuple[_Call[T, R], int]]:
        """Takes the next batch off the queue, one item per call in turn."""
        batch: list[tuple[_Call[T, R], int]] = []
        cost = 0
        while self._ring and len(batch) < self._limits.max_items:
            call = self._ring.popleft()
            if call.answer.done():  # cancelled or failed meanwhile
                continue
            cost += call.costs[call.pending[0]]
            if batch and cost > self._limits.max_cost:
                self._ring.appendleft(call)  # first in the next batch
                break
            batch.append((call, call.pending.popleft()))
            if call.pending:
                self._ring.append(call)
        self._waiting -= len(batch)
        return batch

    def _finish(self, batch: list[tuple[_Call[T, R], int]], task: asyncio.Task[Sequence[R]]) -> None:
        self._running.discard(task)
        error = BatcherClosedError() if task.cancelled() else task.exception()
        results = [] if error else task.result()
        if error is None and len(results) != len(batch):
            error = RuntimeError(f"{len(results)} results for a batch of {len(batch)}")
        if error is not None:
            for call, _ in batch:
                call.fail(error)
        else:
            for (call, index), result in zip(batch, results, strict=True):
                call.deliver(index, result)
        self._schedule_pump()  # after the callers just answered had their turn: they may have more

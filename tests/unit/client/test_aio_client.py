"""The asyncio client against a real server in this process."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from typing import Any

import concord
import grpc
import pytest
from concord import AsyncClient, BulkProgress, Client, FactFilter, ReconcileAction, RetryPolicy, Statement
from concord.v1 import briefing_service_pb2, evolution_service_pb2, reconcile_service_pb2

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
Answer = reconcile_service_pb2.StreamReconcileResponse
Change = evolution_service_pb2.WatchFactsResponse


async def test_a_call_returns_its_result_and_carries_metadata_and_deadline(async_script: Any, make: Any) -> None:
    async_script.answer("Reconcile", make.reconciled(action=2))
    async with async_script.client(project="acme", api_key="secret") as client:
        result = await client.reconcile("Alice lives in Paris")
    assert result.action is ReconcileAction.MERGED
    assert async_script.metadata["x-concord-project"] == "acme"
    assert async_script.metadata["authorization"] == "Bearer secret"
    assert str(async_script.metadata["user-agent"]).startswith(f"concord-client/{concord.__version__}")
    assert 20 < async_script.remaining[0] <= 30


async def test_a_batch_has_more_time(async_script: Any, make: Any) -> None:
    result = reconcile_service_pb2.BatchReconcileResult(response=make.reconciled())
    async_script.answer("BatchReconcile", reconcile_service_pb2.BatchReconcileResponse(results=[result] * 200))
    async with async_script.client() as client:
        assert len(await client.batch_reconcile(["x"] * 200)) == 200
    assert 40 < async_script.remaining[0] <= 50


async def test_a_failed_call_raises_what_the_service_said(async_script: Any, make: Any) -> None:
    status = make.status(
        grpc.StatusCode.INVALID_ARGUMENT, "wrong", reason="INVALID_FIELD", violations=(("text", "empty"),)
    )
    async_script.fail("Reconcile", status)
    async with async_script.client() as client:
        with pytest.raises(concord.InvalidArgumentError) as raised:
            await client.reconcile("  ")
    assert raised.value.reason == concord.ErrorReason.INVALID_FIELD
    assert [violation.field for violation in raised.value.field_violations] == ["text"]


async def test_a_write_is_repeated_with_the_same_request_id(
    async_script: Any, make: Any, policy: RetryPolicy
) -> None:
    async_script.fail("Reconcile", make.status(UNAVAILABLE), make.status(grpc.StatusCode.ABORTED, retry_delay=2.5))
    async_script.answer("Reconcile", make.reconciled())
    async with async_script.client(retry=policy) as client:
        await client.reconcile("x")
    assert len({request.request_id for request in async_script.requests}) == 1
    assert len(async_script.requests) == 3
    assert async_script.time.slept == [1, 2.5]


async def test_lists_are_read_page_by_page(async_script: Any, make: Any) -> None:
    page = briefing_service_pb2.ListFactsResponse
    async_script.answer(
        "ListFacts",
        page(facts=[make.fact(text="a")], next_page_token="t"),
        page(facts=[make.fact(text="b")]),
    )
    async with async_script.client() as client:
        texts = [fact.text async for fact in client.list_facts(FactFilter(domain="ops"))]
    assert texts == ["a", "b"]
    assert [(r.domain, r.page_token) for r in async_script.requests] == [("ops", ""), ("ops", "t")]


async def test_a_tree_is_put_together_from_its_pages(async_script: Any, make: Any) -> None:
    page = evolution_service_pb2.GetEvolutionTreeResponse
    async_script.answer(
        "GetEvolutionTree", page(facts=[make.fact(fact_id="a")], next_page_token="t"), page(facts=[make.fact()])
    )
    async with async_script.client() as client:
        assert len((await client.get_evolution_tree("a")).facts) == 2


async def echo(requests: Any, make: Any) -> AsyncIterator[Answer]:
    async for request in requests:
        yield Answer(index=request.index, response=make.reconciled(request.request.text))


@pytest.mark.parametrize("kind", ["iterable", "asynchronous"])
async def test_bulk_outcomes_come_in_order(async_script: Any, make: Any, kind: str) -> None:
    texts = [f"statement {n}" for n in range(200)]

    async def source() -> AsyncIterator[str]:
        for text in texts:
            yield text

    async_script.stream("StreamReconcile", lambda requests, _: echo(requests, make))
    told: list[BulkProgress] = []
    async with async_script.client() as client:
        outcomes = [
            outcome
            async for outcome in client.reconcile_many(
                texts if kind == "iterable" else source(), window=7, on_progress=told.append
            )
        ]
    assert [outcome.unwrap().fact.text for outcome in outcomes] == texts
    assert [progress.done for progress in told] == list(range(1, 201))
    assert max(progress.sent - progress.done for progress in told) < 7
    assert told[-1].by_action == {ReconcileAction.CREATED: 200}
    assert told[-1].total == (200 if kind == "iterable" else None)


async def test_long_statements_and_a_server_that_waits_for_its_answers_do_not_block_each_other(
    async_script: Any, make: Any
) -> None:
    """More than the flow-control windows of both directions hold is in flight at once."""
    async_script.stream("StreamReconcile", lambda requests, _: echo(requests, make))
    statement = Statement("long " * 50_000)
    async with async_script.client() as client:
        outcomes = [outcome async for outcome in client.reconcile_many([statement] * 100, window=100)]
    assert len(outcomes) == 100


async def test_no_more_than_a_window_is_in_flight(async_script: Any, make: Any) -> None:
    taken = 0

    def source() -> Any:
        nonlocal taken
        for number in range(10):
            taken += 1
            yield f"statement {number}"

    seen: list[int] = []
    full = asyncio.Event()
    go_on = asyncio.Event()

    async def hold_back(requests: Any, _context: Any) -> AsyncIterator[Answer]:
        held = []
        async for request in requests:
            seen.append(request.index)
            held.append(request)
            if len(held) == 3:
                full.set()
                await go_on.wait()
            if full.is_set():
                oldest = held.pop(0)
                yield Answer(index=oldest.index, response=make.reconciled())
            if request.index == 9:
                for rest in held:
                    yield Answer(index=rest.index, response=make.reconciled())

    async_script.stream("StreamReconcile", hold_back)
    async with async_script.client() as client:

        async def collect() -> int:
            return len([outcome async for outcome in client.reconcile_many(source(), window=3)])

        task = asyncio.create_task(collect())
        await full.wait()
        assert (seen, taken) == ([0, 1, 2], 3)
        go_on.set()
        assert await task == 10


async def test_a_broken_stream_goes_on_where_it_stopped(
    async_script: Any, make: Any, policy: RetryPolicy, abort: Any
) -> None:
    seen: list[list[Any]] = [[], []]

    async def break_after_one(requests: Any, context: Any) -> AsyncIterator[Answer]:
        async for request in requests:
            seen[0].append(request)
            if request.index == 0:
                yield Answer(index=0, response=make.reconciled())
            else:
                await abort(context, make.status(UNAVAILABLE, "restarting"))

    async def work(requests: Any, _context: Any) -> AsyncIterator[Answer]:
        async for request in requests:
            seen[1].append(request)
            yield Answer(index=request.index, response=make.reconciled())

    async_script.stream("StreamReconcile", break_after_one, work)
    async with async_script.client(retry=policy) as client:
        outcomes = [outcome async for outcome in client.reconcile_many(["a", "b", "c"], window=2)]
    assert [outcome.index for outcome in outcomes] == [0, 1, 2]
    assert seen[1][0] == seen[0][1], "the item in flight, under the same request id"
    assert [request.index for request in seen[1]] == [1, 2]
    assert async_script.time.slept == [1]


async def test_a_stream_may_break_often_as_long_as_it_gets_on(
    async_script: Any, make: Any, policy: RetryPolicy, abort: Any
) -> None:
    async def one_at_a_time(requests: Any, context: Any) -> AsyncIterator[Answer]:
        answered = False
        async for request in requests:
            if answered:
                await abort(context, make.status(UNAVAILABLE))
            yield Answer(index=request.index, response=make.reconciled())
            answered = True

    statements = ["x"] * (policy.max_attempts + 2)
    async_script.stream("StreamReconcile", *[one_at_a_time] * len(statements))
    async with async_script.client(retry=policy) as client:
        outcomes = [outcome async for outcome in client.reconcile_many(statements, window=2)]
    assert [outcome.index for outcome in outcomes] == list(range(len(statements)))
    assert set(async_script.time.slept) == {1}


async def test_leaving_early_ends_the_stream(async_script: Any, make: Any) -> None:
    ended = asyncio.Event()

    async def until_cancelled(requests: Any, _context: Any) -> AsyncIterator[Answer]:
        try:
            async for request in requests:
                yield Answer(index=request.index, response=make.reconciled())
        finally:
            ended.set()

    async_script.stream("StreamReconcile", until_cancelled)
    async with async_script.client() as client:
        outcomes: Any = client.reconcile_many(["a"] * 10, window=2)
        assert (await anext(outcomes)).index == 0
        await outcomes.aclose()
        await ended.wait()


async def test_a_broken_watch_goes_on_after_the_last_change(
    async_script: Any, make: Any, policy: RetryPolicy, abort: Any
) -> None:
    ended = asyncio.Event()

    async def one_then_gone(_request: Any, context: Any) -> AsyncIterator[Change]:
        yield Change(sequence=5, change=1, fact=make.fact())  # type: ignore[arg-type]
        await abort(context, make.status(UNAVAILABLE))

    async def then_another(_request: Any, _context: Any) -> AsyncIterator[Change]:
        try:
            yield Change(sequence=5, heartbeat=True)
            yield Change(sequence=6, change=1, fact=make.fact())  # type: ignore[arg-type]
            await asyncio.Event().wait()
        finally:
            ended.set()

    async_script.stream("WatchFacts", one_then_gone, then_another)
    async with async_script.client(retry=policy) as client:
        events: Any = client.watch_facts(after_sequence=2)
        assert [(await anext(events)).sequence for _ in range(2)] == [5, 6]
        await events.aclose()
        await ended.wait()
    assert [request.after_sequence for request in async_script.requests] == [2, 5]
    assert async_script.time.slept == [1]


async def test_cancelling_a_task_cancels_its_call(async_script: Any) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def wait(_request: Any, _context: Any) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async_script.behaviours["GetFact"].append(wait)
    async with async_script.client() as client:
        task = asyncio.create_task(client.get_fact("f"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await ended.wait()


async def test_a_call_that_takes_too_long_raises(async_script: Any) -> None:
    async def wait(_request: Any, _context: Any) -> None:
        await asyncio.Event().wait()

    async_script.behaviours["GetFact"].append(wait)
    async with async_script.client() as client:
        with pytest.raises(concord.DeadlineExceededError):
            await client.get_fact("f", timeout=0.05)


async def test_many_calls_share_a_client(async_script: Any, make: Any) -> None:
    async def reply(request: Any, _context: Any) -> Any:
        return make.reconciled(request.text)

    async_script.behaviours["Reconcile"].extend([reply] * 50)
    async with async_script.client() as client:
        results = await asyncio.gather(*(client.reconcile(f"statement {n}") for n in range(50)))
    assert [result.fact.text for result in results] == [f"statement {n}" for n in range(50)]


def public(kind: type) -> dict[str, Any]:
    return {name: value for name, value in vars(kind).items() if not name.startswith("_")}


def test_both_clients_have_the_same_methods_with_the_same_arguments() -> None:
    synchronous, asynchronous = public(Client), public(AsyncClient)
    assert synchronous.keys() == asynchronous.keys()
    for name in synchronous.keys() - {"close", "reconcile_many"}:
        mine, other = inspect.signature(synchronous[name]), inspect.signature(asynchronous[name])
        assert mine.parameters == other.parameters, name
        assert synchronous[name].__doc__ == asynchronous[name].__doc__


def test_methods_have_documentation_and_a_signature_of_their_own() -> None:
    signature = inspect.signature(Client.update_fact_status)
    assert list(signature.parameters)[:3] == ["self", "fact_id", "status"]
    for name, method in {**public(Client), **public(AsyncClient)}.items():
        assert method.__doc__, name

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
from concord.v1.reconcile_service_pb2 import ReconcileRequest, StreamReconcileRequest
from concord_server.domain.errors import ConcurrentUpdateError, InvalidFieldsError

from tests.contract.ledger_values import RESULT
from tests.contract.scripted import Edge, failure


def item(index: int, text: str = "x", request_id: str = "") -> StreamReconcileRequest:
    return StreamReconcileRequest(index=index, request=ReconcileRequest(text=text, request_id=request_id))


async def test_answers_come_in_the_order_of_the_requests(edge: Edge):
    answers = [a async for a in edge.reconcile.StreamReconcile(iter([item(i) for i in range(1000)]))]
    assert [answer.index for answer in answers] == list(range(1000))
    assert all(answer.WhichOneof("result") == "response" for answer in answers)
    assert sum(edge.script.batch_reconcile.windows) == 1000
    assert max(edge.script.batch_reconcile.windows) <= 64


async def test_indexes_are_the_callers_own(edge: Edge):
    answers = [a async for a in edge.reconcile.StreamReconcile(iter([item(7), item(-1), item(7)]))]
    assert [answer.index for answer in answers] == [7, -1, 7]


async def test_a_bad_item_is_answered_in_its_place_and_the_stream_goes_on(edge: Edge):
    async def outcome(one):
        if one.command.text == "invalid":
            return InvalidFieldsError.of("text", "is not nice")
        if one.command.text == "raced":
            return ConcurrentUpdateError("raced")
        return RESULT

    edge.script.batch_reconcile.outcome = outcome
    requests = [item(1), item(2, request_id="nope"), item(3, "invalid"), item(4, "raced"), item(5)]
    answers = [a async for a in edge.reconcile.StreamReconcile(iter(requests))]
    assert [answer.WhichOneof("result") for answer in answers] == [
        "response",
        "error",
        "error",
        "error",
        "response",
    ]
    assert [answer.error.code for answer in answers[1:4]] == [3, 3, 10]
    assert "request_id" in answers[1].error.message


async def test_each_item_is_answered_without_waiting_for_the_next(edge: Edge):
    call = edge.reconcile.StreamReconcile()
    for index in range(3):
        await call.write(item(index))
        assert (await call.read()).index == index
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF
    assert await call.code() is grpc.StatusCode.OK


async def test_an_empty_stream_has_an_empty_answer(edge: Edge):
    assert [a async for a in edge.reconcile.StreamReconcile(iter([]))] == []


async def test_a_sender_that_is_faster_than_the_service_is_held_back(edge: Edge):
    gate = asyncio.Event()

    async def outcome(_one):
        await gate.wait()
        return RESULT

    edge.script.batch_reconcile.outcome = outcome
    total, text, sent = 1500, "x" * 8000, 0

    async def requests() -> AsyncIterator[StreamReconcileRequest]:
        nonlocal sent
        for index in range(total):
            yield item(index, text)
            sent = index + 1

    call = edge.reconcile.StreamReconcile(requests())
    before = -1
    while sent != before:
        before = sent
        await asyncio.sleep(0.3)
    assert sent < total, "what the window and the buffers of the connection hold, and no more"
    gate.set()
    assert [answer.index async for answer in call] == list(range(total))


async def test_a_caller_that_goes_away_stops_the_work(edge: Edge):
    started, stopped = asyncio.Event(), asyncio.Event()

    async def outcome(_one):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    edge.script.batch_reconcile.outcome = outcome
    call = edge.reconcile.StreamReconcile()
    await call.write(item(1))
    await started.wait()
    call.cancel()
    await asyncio.wait_for(stopped.wait(), 10)


async def test_a_fault_ends_the_stream_with_a_status(edge: Edge):
    async def outcome(_one):
        raise RuntimeError("bug")

    edge.script.batch_reconcile.outcome = outcome
    call = edge.reconcile.StreamReconcile()
    await call.write(item(1))
    failed = await failure(call.read())
    assert (failed.code, failed.reasons) == (grpc.StatusCode.INTERNAL, ("INTERNAL",))


async def test_the_deadline_of_a_stream_is_its_callers(edge: Edge):
    async def outcome(_one):
        await asyncio.Event().wait()

    edge.script.batch_reconcile.outcome = outcome
    call = edge.reconcile.StreamReconcile(timeout=0.3)
    await call.write(item(1))
    failed = await failure(call.read())
    assert failed.code is grpc.StatusCode.DEADLINE_EXCEEDED

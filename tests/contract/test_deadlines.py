from __future__ import annotations

import asyncio

import grpc
import pytest
from concord.v1.briefing_service_pb2 import GetFactRequest
from concord.v1.reconcile_service_pb2 import BatchReconcileRequest, ReconcileRequest, StreamReconcileRequest
from concord_server.api import deadlines

from tests.contract.ledger_values import RESULT
from tests.contract.scripted import Edge, Waiting, failure

LIMIT = 10.0
"""Seconds within which what must happen happens, however slow the machine."""


async def test_the_callers_deadline_cancels_the_work(edge: Edge):
    edge.script.reconcile.answer = waiting = Waiting()
    failed = await failure(edge.reconcile.Reconcile(ReconcileRequest(text="x"), timeout=0.3))
    assert failed.code is grpc.StatusCode.DEADLINE_EXCEEDED
    await asyncio.wait_for(waiting.cancelled.wait(), LIMIT)


async def test_without_one_the_servers_own_deadline_cancels_the_work_and_says_so(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(deadlines, "DEFAULT_SECONDS", 0.2)
    edge.script.get_fact.answer = waiting = Waiting()
    failed = await failure(edge.briefing.GetFact(GetFactRequest(fact_id="019a0000-0000-7000-8000-000000000000")))
    assert (failed.code, failed.reasons) == (grpc.StatusCode.DEADLINE_EXCEEDED, ("DEADLINE_EXCEEDED",))
    assert "0.2 s" in failed.message
    assert waiting.cancelled.is_set()


async def test_the_callers_deadline_counts_even_where_it_is_longer_than_the_servers(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(deadlines, "DEFAULT_SECONDS", 0.01)

    async def slow(*_):
        await asyncio.sleep(0.1)
        return RESULT

    edge.script.reconcile.answer = slow
    assert await edge.reconcile.Reconcile(ReconcileRequest(text="x"), timeout=60)


async def test_a_batch_has_time_for_its_items(edge: Edge, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(deadlines, "DEFAULT_SECONDS", 0.0)
    monkeypatch.setattr(deadlines, "SECONDS_PER_ITEM", 0.1)
    waiting = Waiting()
    finished = []

    async def outcome(item):
        if item.command.text == "last":
            return await waiting()
        finished.append(item.command.text)
        return RESULT

    edge.script.batch_reconcile.outcome = outcome
    requests = [ReconcileRequest(text=text) for text in ("a", "b", "last")]
    failed = await failure(edge.reconcile.BatchReconcile(BatchReconcileRequest(requests=requests)))
    assert (failed.code, failed.reasons) == (grpc.StatusCode.DEADLINE_EXCEEDED, ("DEADLINE_EXCEEDED",))
    assert "0.3 s" in failed.message
    assert finished == ["a", "b"]
    assert waiting.cancelled.is_set()


async def test_streams_take_as_long_as_they_take(edge: Edge, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(deadlines, "DEFAULT_SECONDS", 0.0)
    call = edge.reconcile.StreamReconcile()
    await asyncio.sleep(0.05)
    await call.write(StreamReconcileRequest(index=1, request=ReconcileRequest(text="x")))
    assert (await call.read()).index == 1
    await call.done_writing()


async def test_a_caller_that_cancels_stops_the_work(edge: Edge):
    edge.script.reconcile.answer = waiting = Waiting()
    call = edge.reconcile.Reconcile(ReconcileRequest(text="x"))
    await asyncio.wait_for(waiting.started.wait(), LIMIT)
    call.cancel()
    await asyncio.wait_for(waiting.cancelled.wait(), LIMIT)


async def test_a_timeout_inside_is_not_mistaken_for_the_deadline(edge: Edge):
    edge.script.reconcile.answer = TimeoutError("the pool had no connection")
    failed = await failure(edge.reconcile.Reconcile(ReconcileRequest(text="x"), timeout=60))
    assert failed.reasons == ("INTERNAL",)

from __future__ import annotations

import asyncio

import pytest
from concord.v1.briefing_service_pb2 import BatchGetFactsRequest, GetFactRequest
from concord.v1.consolidate_service_pb2 import AppendEventsRequest
from concord.v1.consolidation_pb2 import EventInput
from concord.v1.reconcile_service_pb2 import BatchReconcileRequest, ReconcileRequest
from concord_server.api.deadlines import default_seconds, within
from concord_server.api.errors import DeadlineExceededError


@pytest.mark.parametrize(
    ("method", "request_", "seconds"),
    [
        ("concord.v1.BriefingService/GetFact", GetFactRequest(), 30.0),
        ("concord.v1.ReconcileService/Reconcile", ReconcileRequest(), 30.0),
        (
            "concord.v1.ReconcileService/BatchReconcile",
            BatchReconcileRequest(requests=[ReconcileRequest()] * 500),
            80.0,
        ),
        ("concord.v1.ConsolidateService/AppendEvents", AppendEventsRequest(events=[EventInput()] * 10), 31.0),
        ("concord.v1.BriefingService/BatchGetFacts", BatchGetFactsRequest(fact_ids=["a"] * 10), 31.0),
    ],
)
def test_a_batch_has_time_for_each_of_its_items(method, request_, seconds):
    assert default_seconds(method, request_) == pytest.approx(seconds)


async def test_what_is_over_its_time_is_cancelled():
    cancelled = False

    async def call() -> None:
        nonlocal cancelled
        async with within(0):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled = True
                raise

    with pytest.raises(DeadlineExceededError, match=r"within 0 s"):
        await call()
    assert cancelled


async def test_a_timeout_of_something_else_stays_what_it_is():
    with pytest.raises(TimeoutError, match="other") as caught:
        async with within(60):
            raise TimeoutError("other")
    assert not isinstance(caught.value, DeadlineExceededError)


async def test_without_a_limit_nothing_is_cancelled():
    async with within(None):
        await asyncio.sleep(0)

"""Many callers at once, through two serving processes, end in the one right state."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import pairwise

import grpc
import pytest_asyncio
from concord.v1 import (
    briefing_service_pb2,
    briefing_service_pb2_grpc,
    enums_pb2,
    reconcile_service_pb2,
    reconcile_service_pb2_grpc,
    resources_pb2,
)
from google.protobuf import json_format
from google.protobuf.timestamp_pb2 import Timestamp

from tests.support.service import RunningService, own_channel

CALLERS = 32
ROUNDS = 6

Reconcile = reconcile_service_pb2.ReconcileRequest


class Callers:
    """Connections to the service, one per caller, in one project."""

    def __init__(self, channels: list[grpc.aio.Channel], project: str) -> None:
        self._metadata = (("x-concord-project", project),)
        self._reconcile = [reconcile_service_pb2_grpc.ReconcileServiceStub(c) for c in channels]
        self._briefing = briefing_service_pb2_grpc.BriefingServiceStub(channels[0])

    async def all_at_once(
        self, request: Callable[[int], reconcile_service_pb2.ReconcileRequest]
    ) -> list[reconcile_service_pb2.ReconcileResponse]:
        calls = [
            stub.Reconcile(request(number), metadata=self._metadata, timeout=120)
            for number, stub in enumerate(self._reconcile)
        ]
        return list(await asyncio.gather(*calls))

    async def facts(self, **filters: object) -> list[resources_pb2.Fact]:
        request = json_format.ParseDict({"page_size": 500, **filters}, briefing_service_pb2.ListFactsRequest())
        answer = await self._briefing.ListFacts(request, metadata=self._metadata, timeout=60)
        return list(answer.facts)

    async def conflicts(self) -> list[resources_pb2.Conflict]:
        request = reconcile_service_pb2.ListConflictsRequest(state=enums_pb2.CONFLICT_STATE_OPEN)
        answer = await self._reconcile[0].ListConflicts(request, metadata=self._metadata, timeout=60)
        return list(answer.conflicts)


@pytest_asyncio.fixture
async def callers(two_processes: RunningService) -> AsyncIterator[Callable[[], Callers]]:
    channels = [own_channel(two_processes.target) for _ in range(CALLERS)]
    yield lambda: Callers(channels, f"race-{uuid.uuid4().hex[:12]}")
    for channel in channels:
        await channel.close()


def _at(seconds: int) -> Timestamp:
    return Timestamp(seconds=1_767_225_600 + seconds)


def _claim(value: object) -> resources_pb2.Claim:
    return json_format.ParseDict(
        {"subject": "Priya", "predicate": "bike_count", "value": value}, resources_pb2.Claim()
    )


async def test_the_same_statement_at_once_is_one_fact_with_every_source(callers):
    for _ in range(ROUNDS):
        crowd = callers()
        answers = await crowd.all_at_once(
            lambda n: Reconcile(
                text="The bridge was closed on Tuesday" + "." * (n % 2),
                source=resources_pb2.SourceInput(url=f"https://x.example/{n}"),
            )
        )
        actions = Counter(a.action for a in answers)
        assert actions == {
            enums_pb2.RECONCILE_ACTION_CREATED: 1,
            enums_pb2.RECONCILE_ACTION_MERGED: CALLERS - 1,
        }
        facts = await crowd.facts()
        assert [f.source_count for f in facts] == [CALLERS]
        assert facts[0].reinforcement_count == CALLERS - 1


async def test_paraphrases_at_once_are_one_fact(callers):
    wordings = ("Alice lives in Paris", "Alice resides in Paris", "alice lives in paris.")
    for _ in range(ROUNDS):
        crowd = callers()
        await crowd.all_at_once(lambda n: Reconcile(text=wordings[n % len(wordings)]))
        facts = await crowd.facts()
        assert len(facts) == 1
        assert facts[0].reinforcement_count == CALLERS - 1


async def test_one_request_id_at_once_writes_once_and_answers_alike(callers):
    for _ in range(ROUNDS):
        crowd = callers()
        request = Reconcile(text="Backups run nightly", request_id=str(uuid.uuid4()))
        answers = await crowd.all_at_once(lambda _, same=request: same)
        assert len({a.SerializeToString(deterministic=True) for a in answers}) == 1
        [fact] = await crowd.facts()
        assert fact.reinforcement_count == 0


async def test_rival_superseding_claims_at_once_leave_one_timeline(callers):
    for _ in range(ROUNDS):
        crowd = callers()
        await crowd.all_at_once(
            lambda n: Reconcile(text=f"Priya owns {n} bikes", claim=_claim(n), observe_time=_at(n * 60))
        )
        facts = sorted(await crowd.facts(), key=lambda f: f.valid_from.seconds)
        assert [int(f.claim.value.number_value) for f in facts] == list(range(CALLERS))
        for earlier, later in pairwise(facts):
            assert earlier.valid_to == later.valid_from
            assert earlier.status == enums_pb2.FACT_STATUS_SUPERSEDED
        assert facts[-1].status == enums_pb2.FACT_STATUS_ACTIVE
        assert not facts[-1].HasField("valid_to")


async def test_rival_claims_for_review_at_once_are_one_conflict(callers):
    for _ in range(ROUNDS):
        crowd = callers()
        await crowd.all_at_once(
            lambda n: Reconcile(
                text=f"Priya owns {n} bikes",
                claim=_claim(n),
                observe_time=_at(n),
                contradiction_policy=enums_pb2.CONTRADICTION_POLICY_CONFLICT,
            )
        )
        by_status = Counter(f.status for f in await crowd.facts())
        assert by_status[enums_pb2.FACT_STATUS_ACTIVE] == 1
        late = by_status[enums_pb2.FACT_STATUS_SUPERSEDED]
        waiting = by_status[enums_pb2.FACT_STATUS_PENDING]
        assert late + waiting == CALLERS - 1
        conflicts = await crowd.conflicts()
        assert sum(len(c.facts) for c in conflicts) == (waiting + 1 if waiting else 0)
        assert len(conflicts) == (1 if waiting else 0)


async def test_contradicting_statements_at_once_never_merge(callers):
    for _ in range(ROUNDS):
        crowd = callers()
        await crowd.all_at_once(
            lambda n: Reconcile(
                text=f"The orders database listens on port {5000 + n % 4}", observe_time=_at(n % 4 * 60)
            )
        )
        facts = await crowd.facts()
        active = [f for f in facts if f.status == enums_pb2.FACT_STATUS_ACTIVE]
        assert [f.text for f in active] == ["The orders database listens on port 5003"]
        assert {f.text for f in facts} == {f"The orders database listens on port {5000 + n}" for n in range(4)}

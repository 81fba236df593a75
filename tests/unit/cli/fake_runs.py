"""ConsolidateService as a script: keeps every request, and answers with what a test has put there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
from concord.v1 import (
    consolidate_service_pb2 as pb,
)
from concord.v1 import (
    consolidate_service_pb2_grpc,
    consolidation_pb2,
    enums_pb2,
    resources_pb2,
)
from google.protobuf import timestamp_pb2
from google.rpc import status_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status

RUN_ID = "019a0000-0000-7000-8000-0000000000f1"
EVENT_ID = "019a0000-0000-7000-8000-0000000000e1"
TIME = timestamp_pb2.Timestamp(seconds=1_740_906_000)


def make_event(**fields: Any) -> consolidation_pb2.Event:
    defaults = {
        "event_id": EVENT_ID,
        "subject": resources_pb2.EntityRef(entity_type="User", entity_id="ada"),
        "kind": "chat",
        "text": "I moved to Lagos",
        "occur_time": TIME,
        "state": enums_pb2.EVENT_STATE_PENDING,
    }
    return consolidation_pb2.Event(**{**defaults, **fields})


def make_run(state: int = enums_pb2.RUN_STATE_SUCCEEDED, **counts: int) -> consolidation_pb2.Run:
    run = consolidation_pb2.Run(run_id=RUN_ID, state=state, create_time=TIME)  # type: ignore[arg-type]
    for name, count in {"total": 2, "processed": 2, "created": 1, "superseded": 1, **counts}.items():
        setattr(run.progress, name, count)
    return run


class FakeRuns(consolidate_service_pb2_grpc.ConsolidateServiceServicer):
    """Answers as it is told to.

    Attributes:
        requests: every request, in order.
        failure: ends every unary call with this status.
        events: what is listed and found.
        known: keys of events that were appended before.
        messages: what every run tells.
    """

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.failure: status_pb2.Status | None = None
        self.events = [make_event()]
        self.known: set[str] = set()
        self.messages = [
            pb.WatchRunResponse(sequence=1, run=make_run(enums_pb2.RUN_STATE_QUEUED, processed=0, created=0)),
            pb.WatchRunResponse(sequence=2, outcome=consolidation_pb2.EventOutcome(event_id=EVENT_ID)),
            pb.WatchRunResponse(sequence=3, progress=consolidation_pb2.Progress(total=2, processed=1)),
            pb.WatchRunResponse(sequence=4, summary=make_run()),
        ]

    def _note(self, request: Any, context: grpc.ServicerContext) -> None:
        self.requests.append(request)
        if self.failure is not None:
            context.abort_with_status(rpc_status.to_status(self.failure))

    def AppendEvents(self, request: Any, context: grpc.ServicerContext) -> pb.AppendEventsResponse:  # noqa: N802
        self._note(request, context)
        results = []
        for event in request.events:
            key = event.idempotency_key
            results.append(pb.AppendEventsResult(event_id=EVENT_ID, duplicate=bool(key) and key in self.known))
            self.known.add(key)
        return pb.AppendEventsResponse(results=results)

    def ListEvents(self, request: Any, context: grpc.ServicerContext) -> pb.ListEventsResponse:  # noqa: N802
        self._note(request, context)
        return pb.ListEventsResponse(events=self.events, total_size=len(self.events))

    def SearchEvents(self, request: Any, context: grpc.ServicerContext) -> pb.SearchEventsResponse:  # noqa: N802
        self._note(request, context)
        matches = [
            pb.EventMatch(event_id=e.event_id, similarity=0.75, text_rank=0.5, score=0.033) for e in self.events
        ]
        return pb.SearchEventsResponse(events=self.events, matches=matches)

    def RetryEvents(self, request: Any, context: grpc.ServicerContext) -> pb.RetryEventsResponse:  # noqa: N802
        self._note(request, context)
        return pb.RetryEventsResponse(requeued_count=3)

    def StartRun(self, request: Any, context: grpc.ServicerContext) -> pb.StartRunResponse:  # noqa: N802
        self._note(request, context)
        return pb.StartRunResponse(run=self.messages[0].run)

    def GetRun(self, request: Any, context: grpc.ServicerContext) -> pb.GetRunResponse:  # noqa: N802
        self._note(request, context)
        return pb.GetRunResponse(run=self.messages[-1].summary)

    def ListRuns(self, request: Any, context: grpc.ServicerContext) -> pb.ListRunsResponse:  # noqa: N802
        self._note(request, context)
        return pb.ListRunsResponse(runs=[self.messages[-1].summary], total_size=1)

    def CancelRun(self, request: Any, context: grpc.ServicerContext) -> pb.CancelRunResponse:  # noqa: N802
        self._note(request, context)
        return pb.CancelRunResponse(run=make_run(enums_pb2.RUN_STATE_CANCELLED))

    def WatchRun(self, request: Any, context: grpc.ServicerContext) -> Iterator[pb.WatchRunResponse]:  # noqa: N802
        self._note(request, context)
        yield from (message for message in self.messages if message.sequence > request.after_sequence)

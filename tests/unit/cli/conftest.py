"""A scripted service on a real port, and the command line run in this process as its users run it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from concord.v1 import (
    briefing_service_pb2,
    briefing_service_pb2_grpc,
    consolidate_service_pb2_grpc,
    enums_pb2,
    reconcile_service_pb2,
    reconcile_service_pb2_grpc,
    resources_pb2,
)
from concord_server.cli import main
from google.protobuf import any_pb2, timestamp_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from .fake_runs import FakeRuns

FACT_ID = "019a0000-0000-7000-8000-000000000001"
OTHER_ID = "019a0000-0000-7000-8000-000000000002"
CONFLICT_ID = "019a0000-0000-7000-8000-0000000000c1"
DECISION_ID = "019a0000-0000-7000-8000-0000000000d1"


def make_fact(**fields: Any) -> resources_pb2.Fact:
    defaults = {
        "fact_id": FACT_ID,
        "text": "Nora leads Tendril.",
        "status": enums_pb2.FACT_STATUS_ACTIVE,
        "type": enums_pb2.FACT_TYPE_ASSERTION,
        "confidence": 0.88,
        "source_count": 1,
        "valid_from": timestamp_pb2.Timestamp(seconds=1_740_906_000),
        "owner": resources_pb2.EntityRef(entity_type="Project", entity_id="tendril"),
        "domain": "people",
    }
    return resources_pb2.Fact(**{**defaults, **fields})


def make_conflict(state: int = enums_pb2.CONFLICT_STATE_OPEN, **fields: Any) -> resources_pb2.Conflict:
    challenger = make_fact(
        fact_id=OTHER_ID, text="Idris leads Tendril.", status=enums_pb2.FACT_STATUS_PENDING, confidence=0.7
    )
    return resources_pb2.Conflict(
        conflict_id=CONFLICT_ID,
        state=state,  # type: ignore[arg-type]
        facts=[make_fact(conflict_id=CONFLICT_ID), challenger],
        reason="same time, another value",
        create_time=timestamp_pb2.Timestamp(seconds=1_740_906_000),
        **fields,
    )


def make_status(
    code: grpc.StatusCode, message: str, *, reason: str = "INVALID_FIELD", field: str = ""
) -> status_pb2.Status:
    status = status_pb2.Status(code=code.value[0], message=message)
    details: list[Any] = [error_details_pb2.ErrorInfo(reason=reason, domain="concord")]
    if field:
        violation = error_details_pb2.BadRequest.FieldViolation(field=field, description=message)
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status


class FakeHealth(health_pb2_grpc.HealthServicer):
    def __init__(self, service: FakeService) -> None:
        self._service = service

    def Check(self, request: Any, context: Any) -> health_pb2.HealthCheckResponse:  # noqa: N802
        healths = self._service.healths
        status: Any = healths.pop(0) if healths else health_pb2.HealthCheckResponse.SERVING
        return health_pb2.HealthCheckResponse(status=status)


class FakeService(
    reconcile_service_pb2_grpc.ReconcileServiceServicer, briefing_service_pb2_grpc.BriefingServiceServicer
):
    """Creates what it sees first, merges what it has seen, and fails as it is told to.

    Attributes:
        requests: every request, in order.
        failure: ends every unary call with this status.
        dies_at: the stream breaks at this item.
        briefing: the markdown of every briefing; None answers UNIMPLEMENTED.
        healths: what the health checks answer in turn; then, and by default, SERVING.
        facts: what ListFacts lists, in pages of two.
        runs: the service of events and runs.
    """

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.metadata: dict[str, str | bytes] = {}
        self.failure: status_pb2.Status | None = None
        self.dies_at: int | None = None
        self.healths: list[int] = []
        self.briefing: str | None = None
        self.facts = [make_fact()]
        self.conflicts = [make_conflict()]
        self.port = 0
        self.runs = FakeRuns()  # type: ignore[abstract]  # the others answer UNIMPLEMENTED
        self._known: set[str] = set()

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def statements(self) -> list[reconcile_service_pb2.ReconcileRequest]:
        return [request for request in self.requests if hasattr(request, "observe_time")]

    def _note(self, request: Any, context: grpc.ServicerContext) -> None:
        self.requests.append(request)
        self.metadata = dict(context.invocation_metadata())
        if self.failure is not None:
            context.abort_with_status(rpc_status.to_status(self.failure))

    def StreamReconcile(  # noqa: N802
        self, request_iterator: Any, context: grpc.ServicerContext
    ) -> Iterator[reconcile_service_pb2.StreamReconcileResponse]:
        for item in request_iterator:
            self.requests.append(item.request)
            if self.dies_at == item.index:
                context.abort_with_status(
                    rpc_status.to_status(make_status(grpc.StatusCode.INTERNAL, "it broke", reason="INTERNAL"))
                )
            if "refused" in item.request.text:
                error = make_status(grpc.StatusCode.INVALID_ARGUMENT, "must not be refused", field="text")
                yield reconcile_service_pb2.StreamReconcileResponse(index=item.index, error=error)
            else:
                response = self._reconcile(item.request)
                yield reconcile_service_pb2.StreamReconcileResponse(index=item.index, response=response)

    def _reconcile(
        self, request: reconcile_service_pb2.ReconcileRequest
    ) -> reconcile_service_pb2.ReconcileResponse:
        known = request.text in self._known
        self._known.add(request.text)
        fact = make_fact(text=request.text, text_raw=request.text)
        return reconcile_service_pb2.ReconcileResponse(
            action=(enums_pb2.RECONCILE_ACTION_MERGED if known else enums_pb2.RECONCILE_ACTION_CREATED),
            fact=fact,
            matched_fact=fact if known else None,
            similarity=1.0 if known else None,
            decision=self._decision(known=known),
            warnings=["the embedder is down"] if "warned" in request.text else [],
        )

    @staticmethod
    def _decision(*, known: bool) -> resources_pb2.Decision:
        return resources_pb2.Decision(
            decision_id=DECISION_ID,
            action=enums_pb2.RECONCILE_ACTION_MERGED if known else enums_pb2.RECONCILE_ACTION_CREATED,
            basis=enums_pb2.DECISION_BASIS_EXACT_TEXT if known else enums_pb2.DECISION_BASIS_NO_CANDIDATE,
            rationale="the wording is known" if known else "nothing similar is known",
            similarity_threshold=0.85,
            conflict_threshold=0.6,
            merge_probability_threshold=0.75,
            supersede_probability_threshold=0.75,
            candidates=[
                resources_pb2.Candidate(
                    fact_id=FACT_ID,
                    similarity=0.96,
                    relation=enums_pb2.RELATION_CONTRADICTION,
                    probabilities={"contradiction": 0.9, "same": 0.1},
                    discrepancies=["number"],
                    chosen=True,
                )
            ],
        )

    def ListFacts(  # noqa: N802
        self, request: briefing_service_pb2.ListFactsRequest, context: grpc.ServicerContext
    ) -> briefing_service_pb2.ListFactsResponse:
        self._note(request, context)
        start = int(request.page_token or 0)
        end = start + min(request.page_size or 50, 2)
        return briefing_service_pb2.ListFactsResponse(
            facts=self.facts[start:end],
            next_page_token=str(end) if end < len(self.facts) else "",
            total_size=len(self.facts),
        )

    def GetFact(  # noqa: N802
        self, request: briefing_service_pb2.GetFactRequest, context: grpc.ServicerContext
    ) -> briefing_service_pb2.GetFactResponse:
        self._note(request, context)
        source = resources_pb2.Source(title="Notes", url="https://e.org", trust=enums_pb2.TRUST_TRUSTED)
        source.credibility = 0.9
        evidence = resources_pb2.Evidence(
            stance=enums_pb2.EVIDENCE_STANCE_SUPPORTS, quote="Nora leads.", source_ref="conv:1", locator="D1:3"
        )
        return briefing_service_pb2.GetFactResponse(fact=self.facts[0], sources=[source], evidence=[evidence])

    def GetEntityBriefing(  # noqa: N802
        self, request: briefing_service_pb2.GetEntityBriefingRequest, context: grpc.ServicerContext
    ) -> briefing_service_pb2.GetEntityBriefingResponse:
        if self.briefing is None:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "not yet")
        return briefing_service_pb2.GetEntityBriefingResponse(markdown=self.briefing)

    def ListConflicts(  # noqa: N802
        self, request: reconcile_service_pb2.ListConflictsRequest, context: grpc.ServicerContext
    ) -> reconcile_service_pb2.ListConflictsResponse:
        self._note(request, context)
        return reconcile_service_pb2.ListConflictsResponse(
            conflicts=self.conflicts, open_count=len(self.conflicts), total_size=len(self.conflicts)
        )

    def ResolveConflict(  # noqa: N802
        self, request: reconcile_service_pb2.ResolveConflictRequest, context: grpc.ServicerContext
    ) -> reconcile_service_pb2.ResolveConflictResponse:
        self._note(request, context)
        resolved = make_conflict(
            enums_pb2.CONFLICT_STATE_RESOLVED, kept_fact_id=request.keep_fact_id, resolution_note=request.note
        )
        return reconcile_service_pb2.ResolveConflictResponse(conflict=resolved)

    def GetDecision(  # noqa: N802
        self, request: reconcile_service_pb2.GetDecisionRequest, context: grpc.ServicerContext
    ) -> reconcile_service_pb2.GetDecisionResponse:
        self._note(request, context)
        return reconcile_service_pb2.GetDecisionResponse(decision=self._decision(known=True))


@pytest.fixture
def service() -> Iterator[FakeService]:
    fake = FakeService()  # type: ignore[abstract]  # the others answer UNIMPLEMENTED
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    reconcile_service_pb2_grpc.add_ReconcileServiceServicer_to_server(fake, server)
    briefing_service_pb2_grpc.add_BriefingServiceServicer_to_server(fake, server)
    consolidate_service_pb2_grpc.add_ConsolidateServiceServicer_to_server(fake.runs, server)
    health_pb2_grpc.add_HealthServicer_to_server(FakeHealth(fake), server)
    fake.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield fake
    server.stop(None).wait()


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The tab-separated rows of standard output."""
        return [line.split("\t") for line in self.out.splitlines()]


Concord = Callable[..., Ended]


@pytest.fixture
def concord(
    service: FakeService, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ended]:
    """Runs a command against the scripted service, and returns how it ended."""
    monkeypatch.setenv("CONCORD_TARGET", service.target)

    def run(*arguments: str, stdin: bytes = b"") -> Ended:
        with _pipe(stdin) as pipe, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", pipe)
            code = main(arguments)
        captured = capsys.readouterr()
        return Ended(int(code), captured.out, captured.err)

    return run


def _pipe(content: bytes) -> io.TextIOWrapper:
    """Returns the reading end of a pipe with ``content``, which fits its buffer."""
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    return os.fdopen(reader, encoding="utf-8")

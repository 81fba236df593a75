from __future__ import annotations

from typing import Any

import grpc
import pytest
from concord.v1.briefing_service_pb2 import GetFactRequest, ListFactsRequest
from concord.v1.evolution_service_pb2 import UpdateFactStatusRequest
from concord.v1.reconcile_service_pb2 import (
    BatchReconcileRequest,
    GetDecisionRequest,
    ReconcileRequest,
    ResolveConflictRequest,
    StreamReconcileRequest,
)
from concord_server.domain.errors import (
    ConcurrentUpdateError,
    ConflictAlreadyResolvedError,
    DecisionNotFoundError,
    EtagMismatchError,
    FactNotFoundError,
    IllegalStatusTransitionError,
    InvalidFieldsError,
    RequestIdReusedError,
    UnavailableError,
)
from structlog.testing import capture_logs

from tests.contract.scripted import Edge, Scripted, failure

Code = grpc.StatusCode
ID = "019a0000-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    ("error", "code", "reason", "retries"),
    [
        (InvalidFieldsError.of("text", "must not be empty"), Code.INVALID_ARGUMENT, "INVALID_FIELD", 0),
        (RequestIdReusedError(ID), Code.ALREADY_EXISTS, "REQUEST_ID_REUSED", 0),
        (ConcurrentUpdateError("raced"), Code.ABORTED, "CONCURRENT_UPDATE", 1),
        (UnavailableError("the database is down"), Code.UNAVAILABLE, "UNAVAILABLE", 1),
    ],
)
async def test_a_failure_has_its_code_and_exactly_one_reason(edge: Edge, error, code, reason, retries):
    edge.script.reconcile.answer = error
    failed = await failure(edge.reconcile.Reconcile(ReconcileRequest(text="x")))
    assert (failed.code, failed.reasons, failed.domains) == (code, (reason,), ("concord",))
    assert failed.retries == retries
    assert failed.message == str(error)


async def test_failures_of_reads_and_changes_are_mapped_too(edge: Edge):
    edge.script.get_fact.answer = FactNotFoundError(ID)
    failed = await failure(edge.briefing.GetFact(GetFactRequest(fact_id=ID)))
    assert (failed.code, failed.reasons) == (Code.NOT_FOUND, ("FACT_NOT_FOUND",))
    edge.script.get_decision.answer = DecisionNotFoundError(ID)
    failed = await failure(edge.reconcile.GetDecision(GetDecisionRequest(decision_id=ID)))
    assert (failed.code, failed.reasons) == (Code.NOT_FOUND, ("DECISION_NOT_FOUND",))
    change = UpdateFactStatusRequest(fact_id=ID, status=6)  # type: ignore[arg-type]
    edge.script.update_fact_status.answer = EtagMismatchError("changed meanwhile")
    failed = await failure(edge.evolution.UpdateFactStatus(change))
    assert (failed.code, failed.reasons, failed.retries) == (Code.ABORTED, ("ETAG_MISMATCH",), 0)
    edge.script.update_fact_status.answer = IllegalStatusTransitionError("DELETED", "ACTIVE")
    failed = await failure(edge.evolution.UpdateFactStatus(change))
    assert (failed.code, failed.reasons) == (Code.FAILED_PRECONDITION, ("ILLEGAL_STATUS_TRANSITION",))
    edge.script.resolve_conflict.answer = ConflictAlreadyResolvedError("resolved before")
    failed = await failure(edge.reconcile.ResolveConflict(ResolveConflictRequest(conflict_id=ID, keep_none=True)))
    assert (failed.code, failed.reasons) == (Code.FAILED_PRECONDITION, ("CONFLICT_ALREADY_RESOLVED",))


async def test_bad_fields_are_all_named_and_nothing_is_called(edge: Edge):
    message = ReconcileRequest(text=" ", request_id="nope")
    message.source.credibility = 5
    failed = await failure(edge.reconcile.Reconcile(message))
    assert failed.code is Code.INVALID_ARGUMENT
    assert failed.reasons == ("INVALID_FIELD",)
    assert set(failed.fields) == {"text", "request_id", "source", "source.credibility"}
    assert edge.script.reconcile.calls == []


async def test_hundreds_of_bad_fields_still_reach_the_caller(edge: Edge):
    later: Any = 77
    message = ReconcileRequest(text="x")
    for _ in range(2000):
        message.evidence.add(stance=later)
    failed = await failure(edge.reconcile.Reconcile(message))
    assert failed.code is Code.INVALID_ARGUMENT
    assert failed.reasons == ("INVALID_FIELD",)
    assert "evidence[0].stance" in failed.fields


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        (ListFactsRequest(page_size=-1), ("page_size",)),
        (ListFactsRequest(order_by="text"), ("order_by",)),
    ],
)
async def test_bad_queries_are_named(edge: Edge, request_, fields):
    failed = await failure(edge.briefing.ListFacts(request_))
    assert (failed.code, failed.fields) == (Code.INVALID_ARGUMENT, fields)


async def test_a_garbled_page_token_has_a_reason_of_its_own(edge: Edge):
    failed = await failure(edge.briefing.ListFacts(ListFactsRequest(page_token="x")))
    assert (failed.code, failed.reasons, failed.fields) == (
        Code.INVALID_ARGUMENT,
        ("INVALID_PAGE_TOKEN",),
        ("page_token",),
    )


async def test_an_unexpected_error_leaks_nothing_but_the_id_under_which_it_is_logged(edge: Edge):
    secret = 'INSERT INTO facts ... psycopg "/var/lib/concord" sk-12345'
    edge.script.reconcile.answer = RuntimeError(secret)
    with capture_logs() as logs:
        failed = await failure(edge.reconcile.Reconcile(ReconcileRequest(text="a private statement")))
    assert (failed.code, failed.reasons) == (Code.INTERNAL, ("INTERNAL",))
    [logged] = [entry for entry in logs if entry["event"] == "internal error"]
    assert logged["error_id"] in failed.message
    assert secret in logged["traceback"]
    for part in ("INSERT", "/var", "sk-12345", "RuntimeError", "private"):
        assert part not in failed.message
    assert "private statement" not in str(logs)


@pytest.mark.parametrize("count", [0, 1001])
async def test_a_batch_has_one_to_a_thousand_items(edge: Edge, count):
    message = BatchReconcileRequest(requests=[ReconcileRequest(text="x")] * count)
    failed = await failure(edge.reconcile.BatchReconcile(message))
    assert (failed.code, failed.fields) == (Code.INVALID_ARGUMENT, ("requests",))
    assert edge.script.batch_reconcile.windows == []


INVALID_UTF8 = b"\x0a\x03\xed\xa0\x80"
"""A ReconcileRequest whose text is a lone surrogate."""


async def test_bytes_that_are_no_message_are_a_bad_request(edge: Edge):
    for method in ("Reconcile", "GetDecision", "BatchReconcile"):
        for raw in (b"\xff\xff\xff", INVALID_UTF8):
            call = edge.raw.unary_unary(f"/concord.v1.ReconcileService/{method}")
            failed = await failure(call(raw))
            assert (failed.code, failed.reasons) == (Code.INVALID_ARGUMENT, ("INVALID_FIELD",)), (method, raw)


async def test_bytes_that_are_no_message_end_a_stream_after_what_came_before(edge: Edge):
    call = edge.raw.stream_stream("/concord.v1.ReconcileService/StreamReconcile")()
    await call.write(StreamReconcileRequest(index=1, request=ReconcileRequest(text="x")).SerializeToString())
    assert await call.read()
    await call.write(b"\xff\xff\xff")
    failed = await failure(call.read())
    assert (failed.code, failed.reasons) == (Code.INVALID_ARGUMENT, ("INVALID_FIELD",))


async def test_the_caller_is_looked_at_before_its_request(edge: Edge):
    call = edge.raw.unary_unary("/concord.v1.ReconcileService/Reconcile")
    failed = await failure(call(b"\xff\xff\xff", metadata=(("x-concord-project", " "),)))
    assert failed.fields == ("x-concord-project",)


UNIMPLEMENTED = [
    "AdminService/GetStats",
    "AdminService/ExportFacts",
]


@pytest.mark.parametrize("method", UNIMPLEMENTED)
async def test_what_is_not_there_yet_says_so_plainly(edge: Edge, method):
    failed = await failure(edge.raw.unary_unary(f"/concord.v1.{method}")(b""))
    assert (failed.code, failed.reasons) == (Code.UNIMPLEMENTED, ("NOT_IMPLEMENTED",))
    assert method in failed.message
    assert "not implemented yet" in failed.message


async def test_a_client_stream_that_is_not_there_yet_says_so_too(edge: Edge):
    call = edge.raw.stream_unary("/concord.v1.AdminService/ImportFacts")
    failed = await failure(call(iter([b""])))
    assert (failed.code, failed.reasons) == (Code.UNIMPLEMENTED, ("NOT_IMPLEMENTED",))


async def test_a_failure_of_one_call_leaves_the_next_alone(edge: Edge):
    edge.script.get_fact = Scripted(FactNotFoundError(ID))
    edge.script.reconcile.answer = RuntimeError("bug")
    await failure(edge.reconcile.Reconcile(ReconcileRequest(text="x")))
    assert (await edge.briefing.ListFacts(ListFactsRequest())).total_size == 1

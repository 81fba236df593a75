from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import grpc
import pytest
from concord.v1 import enums_pb2
from concord.v1.briefing_service_pb2 import GetFactRequest, ListFactsRequest
from concord.v1.evolution_service_pb2 import UpdateFactStatusRequest, UpdateFactStatusResponse
from concord.v1.reconcile_service_pb2 import (
    BatchReconcileRequest,
    GetConflictRequest,
    GetDecisionRequest,
    ListConflictsRequest,
    ReconcileRequest,
    ReconcileResponse,
    ResolveConflictRequest,
    ResolveConflictResponse,
)
from concord_server.api.mapping.responses import to_reconcile_response
from concord_server.api.server import GrpcServer
from concord_server.domain.commands import KeepNone, ReconcileCommand
from concord_server.domain.enums import FactStatus
from concord_server.domain.queries import ConflictFilter, Cursor, FactFilter, FactOrder, Page
from concord_server.services.context import CallContext, Replay
from structlog.testing import capture_logs

from tests.contract.ledger_values import CONFLICT_ID, DECISION_ID, FACT, FACT_ID, NOW, OTHER_ID, RESULT
from tests.contract.scripted import Edge, Script, failure

REQUEST_ID = "0b9c7f0e-63a5-4d6c-9d7b-2f3f5a1c0001"
CALLER = CallContext("default")


async def test_a_statement_goes_to_its_use_case_and_the_answer_comes_back(edge: Edge):
    response = await edge.reconcile.Reconcile(ReconcileRequest(text="Alice lives in Paris", domain="d"))
    assert response == to_reconcile_response(RESULT, NOW)
    assert edge.script.reconcile.calls == [
        (CALLER, ReconcileCommand(text="Alice lives in Paris", domain="d"), None)
    ]


async def test_what_is_stored_for_a_repeated_request_is_what_was_answered(edge: Edge):
    response = await edge.reconcile.Reconcile(ReconcileRequest(text="x", request_id=REQUEST_ID))
    [(_, _, idempotency)] = edge.script.reconcile.calls
    assert idempotency.request_id == UUID(REQUEST_ID)
    assert ReconcileResponse.FromString(idempotency.encode(RESULT)) == response


async def test_a_stored_answer_comes_back_as_it_was(edge: Edge):
    stored = ReconcileResponse(warnings=["stored"])
    edge.script.reconcile.answer = Replay(stored.SerializeToString())
    assert await edge.reconcile.Reconcile(ReconcileRequest(text="x", request_id=REQUEST_ID)) == stored

    changed = UpdateFactStatusResponse()
    changed.fact.text = "stored"
    edge.script.update_fact_status.answer = Replay(changed.SerializeToString())
    request = UpdateFactStatusRequest(
        fact_id=str(FACT_ID), status=enums_pb2.FACT_STATUS_ARCHIVED, request_id=REQUEST_ID
    )
    assert await edge.evolution.UpdateFactStatus(request) == changed

    resolved = ResolveConflictResponse()
    resolved.conflict.reason = "stored"
    edge.script.resolve_conflict.answer = Replay(resolved.SerializeToString())
    asked = ResolveConflictRequest(conflict_id=str(CONFLICT_ID), keep_all=True, request_id=REQUEST_ID)
    assert await edge.reconcile.ResolveConflict(asked) == resolved


async def test_a_batch_gives_back_stored_answers_in_their_place(edge: Edge):
    stored = ReconcileResponse(warnings=["stored"])

    async def outcome(item):
        return Replay(stored.SerializeToString()) if item.command.text == "again" else RESULT

    edge.script.batch_reconcile.outcome = outcome
    requests = [ReconcileRequest(text=text, request_id=REQUEST_ID) for text in ("new", "again", "new")]
    response = await edge.reconcile.BatchReconcile(BatchReconcileRequest(requests=requests))
    assert [list(r.response.warnings) for r in response.results] == [
        list(RESULT.warnings),
        ["stored"],
        list(RESULT.warnings),
    ]


async def test_a_request_id_means_the_same_alone_and_in_a_batch(edge: Edge):
    request = ReconcileRequest(text="x", request_id=REQUEST_ID)
    seen = []

    async def outcome(item):
        seen.append(item.idempotency)
        return RESULT

    edge.script.batch_reconcile.outcome = outcome
    await edge.reconcile.BatchReconcile(BatchReconcileRequest(requests=[request]))
    await edge.reconcile.Reconcile(request)
    [(_, _, alone)] = edge.script.reconcile.calls
    assert (seen[0].method, seen[0].fingerprint) == (alone.method, alone.fingerprint)


async def test_a_bad_item_of_a_batch_fails_in_its_place_alone(edge: Edge):
    requests = [ReconcileRequest(text="a"), ReconcileRequest(text="b", request_id="x"), ReconcileRequest(text="c")]
    response = await edge.reconcile.BatchReconcile(BatchReconcileRequest(requests=requests))
    assert [result.WhichOneof("result") for result in response.results] == ["response", "error", "response"]
    assert response.results[1].error.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert "request_id" in response.results[1].error.message
    assert edge.script.batch_reconcile.windows == [3]


async def test_a_dry_run_names_no_decision(edge: Edge):
    response = await edge.reconcile.Reconcile(ReconcileRequest(text="x", validate_only=True))
    assert response.decision.decision_id == ""
    batch = await edge.reconcile.BatchReconcile(
        BatchReconcileRequest(
            requests=[ReconcileRequest(text="x", validate_only=True), ReconcileRequest(text="x")]
        )
    )
    assert [r.response.decision.decision_id for r in batch.results] == ["", str(DECISION_ID)]


async def test_reads_go_to_their_use_cases(edge: Edge):
    fact = await edge.briefing.GetFact(GetFactRequest(fact_id=str(FACT_ID).upper()))
    assert fact.fact.fact_id == str(FACT_ID)
    assert edge.script.get_fact.calls == [(CALLER, FACT_ID)]
    decision = await edge.reconcile.GetDecision(GetDecisionRequest(decision_id=str(DECISION_ID)))
    assert decision.decision.decision_id == str(DECISION_ID)
    conflict = await edge.reconcile.GetConflict(GetConflictRequest(conflict_id=str(CONFLICT_ID)))
    assert conflict.conflict.conflict_id == str(CONFLICT_ID)
    conflicts = await edge.reconcile.ListConflicts(ListConflictsRequest(domain="d"))
    assert (len(conflicts.conflicts), conflicts.total_size) == (1, 1)
    assert edge.script.list_conflicts.calls == [(CALLER, ConflictFilter(domain="d"), FactOrder(), None, 50)]


async def test_pages_follow_each_other(edge: Edge):
    cursor = Cursor("2026", OTHER_ID)
    edge.script.list_facts.answer = Page([FACT], cursor, 2)
    first = await edge.briefing.ListFacts(ListFactsRequest(domain="d", page_size=1))
    assert first.next_page_token
    edge.script.list_facts.answer = Page([FACT], None, 2)
    second = await edge.briefing.ListFacts(
        ListFactsRequest(domain="d", page_size=9, page_token=first.next_page_token)
    )
    assert second.next_page_token == ""
    where = FactFilter(domain="d")
    assert edge.script.list_facts.calls == [
        (CALLER, where, FactOrder(), None, 1),
        (CALLER, where, FactOrder(), cursor, 9),
    ]
    failed = await failure(edge.briefing.ListFacts(ListFactsRequest(page_token=first.next_page_token)))
    assert failed.reasons == ("INVALID_PAGE_TOKEN",)


async def test_changes_go_to_their_use_cases(edge: Edge):
    await edge.evolution.UpdateFactStatus(
        UpdateFactStatusRequest(
            fact_id=str(FACT_ID), status=enums_pb2.FACT_STATUS_RETRACTED, reason="wrong", etag='"7"'
        )
    )
    assert edge.script.update_fact_status.calls == [(CALLER, FACT_ID, FactStatus.RETRACTED, "wrong", '"7"', None)]
    await edge.reconcile.ResolveConflict(
        ResolveConflictRequest(conflict_id=str(CONFLICT_ID), keep_none=True, note="n", etag="e")
    )
    assert edge.script.resolve_conflict.calls == [(CALLER, CONFLICT_ID, KeepNone(), "n", "e", None)]


async def test_the_project_comes_from_the_metadata(edge: Edge):
    call = edge.reconcile.Reconcile(ReconcileRequest(text="x"), metadata=(("x-concord-project", "team-7"),))
    await call
    [(context, _, _)] = edge.script.reconcile.calls
    assert context.project == "team-7"


async def test_batches_belong_to_the_project_of_the_call(edge: Edge):
    message = BatchReconcileRequest(requests=[ReconcileRequest(text="x")])
    await edge.reconcile.BatchReconcile(message, metadata=(("x-concord-project", "team-7"),))
    assert [context.project for context in edge.script.batch_reconcile.contexts] == ["team-7"]


@pytest.mark.parametrize("name", [" ", "x" * 129])
async def test_a_malformed_project_is_refused_by_the_name_of_its_key(edge: Edge, name):
    call = edge.briefing.ListFacts(ListFactsRequest(), metadata=(("x-concord-project", name),))
    failed = await failure(call)
    assert (failed.code, failed.fields) == (grpc.StatusCode.INVALID_ARGUMENT, ("x-concord-project",))
    assert edge.script.list_facts.calls == []


async def test_whoever_authenticates_decides_who_calls(script: Script):
    class Fixed:
        async def authenticate(self, metadata):
            return CallContext("p", actor=dict(metadata)["authorization"].removeprefix("Bearer "))

    server = GrpcServer(script.use_cases(), authenticator=Fixed())
    address = await server.start("127.0.0.1:0")
    async with grpc.aio.insecure_channel(address) as channel:
        edge = Edge(script, channel, address)
        await edge.reconcile.Reconcile(ReconcileRequest(text="x"), metadata=(("authorization", "Bearer ann"),))
    await server.stop(0)
    [(context, _, _)] = script.reconcile.calls
    assert context == CallContext("p", actor="ann")


async def test_every_call_has_one_line_in_the_log_without_its_content(edge: Edge):
    with capture_logs() as logs:
        await edge.reconcile.Reconcile(
            ReconcileRequest(text="a private statement"),
            metadata=(("x-concord-project", "team-7"), ("authorization", "Bearer sk-secret")),
            timeout=5,
        )
        await failure(edge.briefing.ListFacts(ListFactsRequest(page_size=-1)))
    good, bad = [entry for entry in logs if entry["event"] == "call"]
    assert good["method"] == "concord.v1.ReconcileService/Reconcile"
    assert (good["project"], good["code"], bad["code"]) == ("team-7", "OK", "INVALID_ARGUMENT")
    assert good["duration_ms"] > 0
    assert good["peer"].startswith("ipv4:127.0.0.1:")
    assert 0 < good["deadline_s"] < 6
    assert bad["deadline_s"] is None
    assert "private" not in str(logs)
    assert "sk-secret" not in str(logs)


async def test_a_large_answer_fits(edge: Edge):
    long = replace(FACT, text="x" * 8192, text_raw="y" * 8192)
    edge.script.list_facts.answer = Page([long] * 500, None, 500)
    options = [("grpc.max_receive_message_length", 64 << 20)]
    async with grpc.aio.insecure_channel(edge.address, options=options) as channel:
        response = await Edge(edge.script, channel, edge.address).briefing.ListFacts(ListFactsRequest())
    assert len(response.facts) == 500

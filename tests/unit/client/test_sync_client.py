from __future__ import annotations

import re
from typing import Any

import concord
import grpc
import pytest
from concord import (
    Client,
    EvolutionType,
    FactFilter,
    FactStatus,
    ReconcileAction,
    RetryPolicy,
    Statement,
    Tls,
)
from concord.v1 import (
    briefing_service_pb2,
    evolution_service_pb2,
    reconcile_service_pb2,
    resources_pb2,
)

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


def test_a_call_returns_its_result(script: Any, make: Any) -> None:
    call = script.start(script.client().reconcile, "Alice lives in Paris")
    request = script.answer("Reconcile", make.reconciled(action=2))
    result = call.result()
    assert request.text == "Alice lives in Paris"
    assert (result.action, result.fact.text) == (ReconcileAction.MERGED, "Alice lives in Paris")


def test_a_failed_call_raises_what_the_service_said(script: Any, make: Any) -> None:
    call = script.start(script.client().get_fact, "nope")
    script.fail("GetFact", make.status(grpc.StatusCode.NOT_FOUND, "no such fact", reason="FACT_NOT_FOUND"))
    with pytest.raises(concord.NotFoundError, match="no such fact") as raised:
        call.result()
    assert raised.value.reason == concord.ErrorReason.FACT_NOT_FOUND


def test_a_write_is_repeated_with_the_same_request_id(script: Any, make: Any, policy: RetryPolicy) -> None:
    call = script.start(script.client(retry=policy).reconcile, "x")
    requests = [script.fail("Reconcile", make.status(UNAVAILABLE)) for _ in range(3)]
    requests.append(script.answer("Reconcile", make.reconciled()))
    assert call.result().action is ReconcileAction.CREATED
    assert re.fullmatch(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", requests[0].request_id)
    assert len({request.request_id for request in requests}) == 1
    assert script.time.slept == [1, 2, 3]


def test_each_call_has_a_request_id_of_its_own(script: Any, make: Any) -> None:
    client = script.client()
    ids = set()
    for _ in range(2):
        call = script.start(client.reconcile, "x")
        ids.add(script.answer("Reconcile", make.reconciled()).request_id)
        call.result()
    assert len(ids) == 2


def test_a_call_that_keeps_failing_raises_in_the_end(script: Any, make: Any, policy: RetryPolicy) -> None:
    call = script.start(script.client(retry=policy).get_fact, "f")
    for _ in range(policy.max_attempts):
        script.fail("GetFact", make.status(UNAVAILABLE, "down"))
    with pytest.raises(concord.UnavailableError, match="down"):
        call.result()
    assert len(script.time.slept) == policy.max_attempts - 1


def test_an_aborted_call_is_repeated_after_the_time_that_the_service_gives(script: Any, make: Any) -> None:
    call = script.start(script.client().reconcile, "x")
    script.fail("Reconcile", make.status(grpc.StatusCode.ABORTED, reason="REQUEST_IN_PROGRESS", retry_delay=4.5))
    script.answer("Reconcile", make.reconciled())
    call.result()
    assert script.time.slept == [4.5]


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.ABORTED, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.DEADLINE_EXCEEDED]
)
def test_other_failures_are_not_repeated(script: Any, make: Any, code: grpc.StatusCode) -> None:
    call = script.start(script.client().update_fact_status, "f", FactStatus.ARCHIVED)
    script.fail("UpdateFactStatus", make.status(code))
    with pytest.raises(concord.ConcordError):
        call.result()
    assert script.time.slept == []


def test_the_calls_of_a_client_share_its_budget_of_retries(script: Any, make: Any) -> None:
    client = script.client(retry=RetryPolicy(max_attempts=2, budget=1, budget_refill=0))
    for attempts in (2, 1):
        call = script.start(client.get_fact, "f")
        for _ in range(attempts):
            script.fail("GetFact", make.status(UNAVAILABLE))
        with pytest.raises(concord.UnavailableError):
            call.result()
    assert len(script.time.slept) == 1


def test_every_call_has_a_deadline(script: Any, make: Any) -> None:
    client = script.client()
    answer = reconcile_service_pb2.BatchReconcileResponse(
        results=[reconcile_service_pb2.BatchReconcileResult(response=make.reconciled())] * 20
    )
    call = script.start(client.reconcile, "x")
    script.answer("Reconcile", make.reconciled())
    call.result()
    call = script.start(client.batch_reconcile, ["x"] * 20)
    script.answer("BatchReconcile", answer)
    call.result()
    call = script.start(client.batch_reconcile, ["x"] * 20, timeout=1.5)
    script.answer("BatchReconcile", answer)
    call.result()
    assert script.channel.timeouts == [30, pytest.approx(32), 1.5]


def test_the_deadline_covers_all_attempts(script: Any, make: Any) -> None:
    client = script.client(timeout=10, retry=RetryPolicy(initial_backoff=4, multiplier=1))
    call = script.start(client.get_fact, "f")
    for _ in range(3):
        script.fail("GetFact", make.status(UNAVAILABLE))
    with pytest.raises(concord.UnavailableError):
        call.result()
    assert script.channel.timeouts == [10, 6, 2]


def test_project_and_credential_go_with_every_call(script: Any, make: Any) -> None:
    call = script.start(script.client(project="acme", api_key="secret").reconcile, "x")
    script.answer("Reconcile", make.reconciled())
    call.result()
    assert script.metadata["x-concord-project"] == "acme"
    assert script.metadata["authorization"] == "Bearer secret"


def test_without_project_and_credential_no_metadata_is_sent(script: Any, make: Any) -> None:
    call = script.start(script.client().reconcile, "x")
    script.answer("Reconcile", make.reconciled())
    call.result()
    assert not {"x-concord-project", "authorization"} & script.metadata.keys()


def test_a_batch_pairs_statements_with_what_became_of_them(script: Any, make: Any) -> None:
    statements = [Statement("a"), Statement("  "), "c"]
    call = script.start(script.client().batch_reconcile, statements)
    result = reconcile_service_pb2.BatchReconcileResult
    bad = make.status(grpc.StatusCode.INVALID_ARGUMENT, reason="INVALID_FIELD", violations=(("text", "empty"),))
    request = script.answer(
        "BatchReconcile",
        reconcile_service_pb2.BatchReconcileResponse(
            results=[
                result(response=make.reconciled("a")),
                result(error=bad),
                result(response=make.reconciled("c")),
            ]
        ),
    )
    first, second, third = call.result()
    assert [outcome.index for outcome in (first, second, third)] == [0, 1, 2]
    assert [outcome.statement.text for outcome in (first, second, third)] == ["a", "  ", "c"]
    assert [item.request_id for item in request.requests] == [
        o.statement.request_id for o in (first, second, third)
    ]
    assert len({item.request_id for item in request.requests}) == 3
    assert (first.unwrap().fact.text, third.unwrap().fact.text) == ("a", "c")
    assert second.result is None
    with pytest.raises(concord.InvalidArgumentError, match="text: empty"):
        second.unwrap()


def test_a_list_asks_for_a_page_when_it_is_needed(script: Any, make: Any) -> None:
    facts = script.client().list_facts(FactFilter(domain="ops"), page_size=2)
    page = briefing_service_pb2.ListFactsResponse
    first = script.start(next, facts)
    assert script.answer(
        "ListFacts", page(facts=[make.fact(text="a"), make.fact(text="b")], next_page_token="t1", total_size=3)
    ) == briefing_service_pb2.ListFactsRequest(domain="ops", page_size=2)
    assert [first.result().text, next(facts).text] == ["a", "b"]
    rest = script.start(list, facts)
    request = script.answer("ListFacts", page(facts=[make.fact(text="c")], total_size=3))
    assert request == briefing_service_pb2.ListFactsRequest(domain="ops", page_size=2, page_token="t1")
    assert [fact.text for fact in rest.result()] == ["c"]


def test_a_page_can_be_read_by_itself(script: Any, make: Any) -> None:
    call = script.start(script.client().list_conflicts_page, page_token="t")
    response = reconcile_service_pb2.ListConflictsResponse(
        conflicts=[resources_pb2.Conflict(conflict_id="c", facts=[make.fact()])],
        open_count=4,
        next_page_token="u",
        total_size=9,
    )
    response.oldest_open_age.FromSeconds(90)
    assert script.answer("ListConflicts", response).page_token == "t"
    page = call.result()
    assert (page.open_count, page.next_page_token, page.total_size) == (4, "u", 9)
    assert page.oldest_open_age.total_seconds() == 90
    assert [conflict.conflict_id for conflict in page] == ["c"]


def test_a_tree_is_put_together_from_its_pages(script: Any, make: Any) -> None:
    call = script.start(script.client().get_evolution_tree, "f")
    page = evolution_service_pb2.GetEvolutionTreeResponse
    edge = resources_pb2.EvolutionEdge(parent_id="a", child_id="b", evolution_type=3)  # type: ignore[arg-type]
    script.answer("GetEvolutionTree", page(facts=[make.fact(fact_id="a")], next_page_token="t"))
    script.answer("GetEvolutionTree", page(facts=[make.fact(fact_id="b")], edges=[edge]))
    tree = call.result()
    assert [fact.fact_id for fact in tree.facts] == ["a", "b"]
    assert [(e.parent_id, e.child_id, e.evolution_type) for e in tree.edges] == [
        ("a", "b", EvolutionType.REFINEMENT)
    ]


def test_threads_can_share_a_client(script: Any, make: Any) -> None:
    client = script.client()
    calls = [script.start(client.reconcile, f"statement {n}") for n in range(8)]
    for _ in calls:
        request, rpc = script.take("Reconcile")
        rpc.terminate(make.reconciled(request.text), (), grpc.StatusCode.OK, "")
    assert [call.result().fact.text for call in calls] == [f"statement {n}" for n in range(8)]


def test_closing_leaves_a_channel_that_was_handed_in_open() -> None:
    class Channel:
        closed = False

        def close(self) -> None:
            self.closed = True

    channel: Any = Channel()
    with Client(channel=channel):
        pass
    assert not channel.closed


def test_an_unreachable_server_is_unavailable_and_the_channel_closes() -> None:
    # Port 1 of the loopback interface: nobody listens there, and connecting fails at once.
    with Client("127.0.0.1:1", retry=RetryPolicy(max_attempts=2, initial_backoff=0), timeout=20) as client:
        with pytest.raises(concord.UnavailableError) as raised:
            client.get_fact("f")
        assert raised.value.reason == ""
    with pytest.raises(ValueError, match="closed channel"):
        client.get_fact("f")


@pytest.mark.parametrize("tls", [True, Tls(server_name="concord.internal")])
def test_a_channel_can_be_secured(tls: Tls | bool) -> None:
    client = Client("127.0.0.1:1", tls=tls, retry=RetryPolicy(max_attempts=1), timeout=20)
    with client, pytest.raises(concord.UnavailableError):
        client.get_fact("f")


def test_a_timeout_must_be_positive() -> None:
    with pytest.raises(ValueError, match="timeout must be positive"):
        Client(timeout=0)

"""The bulk helper, synchronous, against a scripted stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import concord
import grpc
import pytest
from concord import BulkProgress, ReconcileAction, RetryPolicy, Statement
from concord.v1 import reconcile_service_pb2

Answer = reconcile_service_pb2.StreamReconcileResponse


class Source:
    """Statements one by one, counting how many have been asked for."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        for number in range(self.count):
            self.taken += 1
            yield f"statement {number}"


def reply(rpc: Any, make: Any, request: Any) -> None:
    rpc.send_response(Answer(index=request.index, response=make.reconciled(request.request.text)))


def finish(rpc: Any) -> None:
    """Ends the stream as a server does once the client has nothing more to send."""
    rpc.requests_closed()
    rpc.terminate((), grpc.StatusCode.OK, "")


def test_outcomes_come_in_order_with_their_statements(script: Any, make: Any) -> None:
    call = script.start(list, script.client(project="acme").reconcile_many(Source(5), window=2))
    rpc = script.take_stream("StreamReconcile")
    assert script.metadata["x-concord-project"] == "acme"
    requests = []
    for _ in range(5):
        requests.append(rpc.take_request())
        reply(rpc, make, requests[-1])
    finish(rpc)
    outcomes = call.result()
    assert [request.index for request in requests] == [0, 1, 2, 3, 4]
    assert [outcome.index for outcome in outcomes] == [0, 1, 2, 3, 4]
    assert [outcome.unwrap().fact.text for outcome in outcomes] == [f"statement {n}" for n in range(5)]
    assert [o.statement.request_id for o in outcomes] == [request.request.request_id for request in requests]
    assert len({outcome.statement.request_id for outcome in outcomes}) == 5


def test_no_more_than_a_window_is_in_flight(script: Any, make: Any) -> None:
    source = Source(10)
    outcomes = script.client().reconcile_many(source, window=3)
    assert source.taken == 0
    first = script.start(next, outcomes)
    rpc = script.take_stream("StreamReconcile")
    in_flight = [rpc.take_request() for _ in range(3)]
    assert source.taken == 3
    reply(rpc, make, in_flight[0])
    first.result()
    assert source.taken == 3, "the source is read when the caller asks for more, not before"
    second = script.start(next, outcomes)
    assert rpc.take_request().index == 3
    assert source.taken == 4
    reply(rpc, make, in_flight[1])
    second.result()


def test_leaving_early_ends_the_stream(script: Any, make: Any) -> None:
    outcomes = script.client().reconcile_many(Source(10), window=2)
    first = script.start(next, outcomes)
    rpc = script.take_stream("StreamReconcile")
    reply(rpc, make, rpc.take_request())
    first.result()
    outcomes.close()
    rpc.cancelled()


def test_a_bad_item_harms_no_other(script: Any, make: Any) -> None:
    call = script.start(list, script.client().reconcile_many(["a", " ", "c"]))
    rpc = script.take_stream("StreamReconcile")
    for _ in range(3):
        request = rpc.take_request()
        if request.request.text == " ":
            error = make.status(grpc.StatusCode.INVALID_ARGUMENT, reason="INVALID_FIELD")
            rpc.send_response(Answer(index=request.index, error=error))
        else:
            reply(rpc, make, request)
    finish(rpc)
    good, bad, also_good = call.result()
    assert isinstance(bad.error, concord.InvalidArgumentError)
    assert bad.result is None
    assert (good.error, also_good.error) == (None, None)


def test_progress_is_told_after_each_answer(script: Any, make: Any) -> None:
    told: list[BulkProgress] = []
    statements = ["a", "b", "c"]
    call = script.start(list, script.client().reconcile_many(statements, window=2, on_progress=told.append))
    rpc = script.take_stream("StreamReconcile")
    first, second = rpc.take_request(), rpc.take_request()
    rpc.send_response(Answer(index=first.index, response=make.reconciled(action=1)))
    third = rpc.take_request()
    rpc.send_response(Answer(index=second.index, error=make.status(grpc.StatusCode.INTERNAL)))
    rpc.send_response(Answer(index=third.index, response=make.reconciled(action=2)))
    finish(rpc)
    call.result()
    assert [(p.total, p.sent, p.done, p.failed) for p in told] == [(3, 2, 1, 0), (3, 3, 2, 1), (3, 3, 3, 1)]
    assert told[0].by_action == {ReconcileAction.CREATED: 1}
    assert told[2].by_action == {ReconcileAction.CREATED: 1, ReconcileAction.MERGED: 1}


def test_the_total_is_unknown_for_a_source_without_a_length(script: Any, make: Any) -> None:
    told: list[BulkProgress] = []
    call = script.start(list, script.client().reconcile_many(iter(["a"]), on_progress=told.append))
    rpc = script.take_stream("StreamReconcile")
    reply(rpc, make, rpc.take_request())
    finish(rpc)
    call.result()
    assert told[0].total is None


def test_a_broken_stream_goes_on_where_it_stopped(script: Any, make: Any, policy: RetryPolicy) -> None:
    call = script.start(list, script.client(retry=policy).reconcile_many(Source(4), window=3))
    broken = script.take_stream("StreamReconcile")
    sent = [broken.take_request() for _ in range(3)]
    reply(broken, make, sent[0])
    sent.append(broken.take_request())
    broken.terminate((), grpc.StatusCode.UNAVAILABLE, "connection reset")
    again = script.take_stream("StreamReconcile")
    repeated = [again.take_request() for _ in range(3)]
    assert repeated == sent[1:], "the same items under the same request ids"
    for request in repeated:
        reply(again, make, request)
    finish(again)
    assert [outcome.unwrap().fact.text for outcome in call.result()] == [f"statement {n}" for n in range(4)]
    assert script.time.slept == [1]


def test_a_stream_that_the_server_ends_early_is_opened_again(script: Any, make: Any) -> None:
    call = script.start(list, script.client().reconcile_many(["a"]))
    script.take_stream("StreamReconcile").terminate((), grpc.StatusCode.OK, "")
    again = script.take_stream("StreamReconcile")
    reply(again, make, again.take_request())
    finish(again)
    assert len(call.result()) == 1


def test_a_stream_that_keeps_breaking_is_given_up(script: Any, policy: RetryPolicy) -> None:
    call = script.start(list, script.client(retry=policy).reconcile_many(["a"]))
    for _ in range(policy.max_attempts):
        script.take_stream("StreamReconcile").terminate((), grpc.StatusCode.UNAVAILABLE, "down")
    with pytest.raises(concord.UnavailableError, match="down"):
        call.result()


def test_a_stream_may_break_often_as_long_as_it_gets_on(script: Any, make: Any, policy: RetryPolicy) -> None:
    breaks = 3 * policy.max_attempts
    client = script.client(retry=RetryPolicy(max_attempts=policy.max_attempts, initial_backoff=1, budget=breaks))
    call = script.start(list, client.reconcile_many(Source(breaks + 1), window=1))
    rpc = script.take_stream("StreamReconcile")
    for _ in range(breaks):
        reply(rpc, make, rpc.take_request())
        unanswered = rpc.take_request()
        rpc.terminate((), grpc.StatusCode.UNAVAILABLE, "down")
        rpc = script.take_stream("StreamReconcile")
    assert rpc.take_request() == unanswered
    reply(rpc, make, unanswered)
    finish(rpc)
    assert len(call.result()) == breaks + 1
    assert set(script.time.slept) == {1}


def test_a_stream_that_fails_for_good_raises(script: Any, make: Any) -> None:
    call = script.start(list, script.client().reconcile_many(["a"]))
    status = make.status(grpc.StatusCode.PERMISSION_DENIED, reason="PERMISSION_DENIED")
    trailer = (("grpc-status-details-bin", status.SerializeToString()),)
    script.take_stream("StreamReconcile").terminate(trailer, grpc.StatusCode.PERMISSION_DENIED, status.message)
    with pytest.raises(concord.PermissionDeniedError) as raised:
        call.result()
    assert raised.value.reason == concord.ErrorReason.PERMISSION_DENIED


def test_an_answer_out_of_order_breaks_the_contract(script: Any, make: Any) -> None:
    call = script.start(list, script.client().reconcile_many(["a", "b"]))
    rpc = script.take_stream("StreamReconcile")
    rpc.take_request()
    rpc.send_response(Answer(index=1, response=make.reconciled()))
    with pytest.raises(concord.InternalError, match="item 1 out of order"):
        call.result()
    rpc.cancelled()


def test_an_error_of_the_source_reaches_the_caller_and_ends_the_stream(script: Any, make: Any) -> None:
    def source() -> Iterator[Statement]:
        yield Statement("a")
        raise OSError("the file went away")

    outcomes = script.client().reconcile_many(source(), window=1)
    first = script.start(next, outcomes)
    rpc = script.take_stream("StreamReconcile")
    reply(rpc, make, rpc.take_request())
    first.result()
    with pytest.raises(OSError, match="the file went away"):
        next(outcomes)
    rpc.cancelled()


def test_nothing_to_send_opens_no_stream(script: Any) -> None:
    assert list(script.client().reconcile_many([])) == []
    assert script.channel.timeouts == []


def test_a_window_without_room_is_refused_at_once(script: Any) -> None:
    with pytest.raises(ValueError, match="window"):
        script.client().reconcile_many(["a"], window=0)

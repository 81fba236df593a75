"""Watching, synchronous, against a scripted stream."""

from __future__ import annotations

from typing import Any

import concord
import grpc
import pytest
from concord import EntityRef, FactChange, RetryPolicy
from concord.v1 import evolution_service_pb2

Message = evolution_service_pb2.WatchFactsResponse


def change(make: Any, sequence: int, text: str = "x") -> Message:
    return Message(sequence=sequence, change=1, fact=make.fact(text=text))  # type: ignore[arg-type]


def test_changes_come_as_they_are_told_and_heartbeats_do_not(script: Any, make: Any) -> None:
    events = script.client().watch_facts(
        after_sequence=0,
        domain="ops",
        entity=EntityRef("User", "u1"),
        changes=[FactChange.CREATED],
        access_scope="",
    )
    first = script.start(next, events)
    request, rpc = script.take("WatchFacts")
    assert request.after_sequence == 0
    assert request.HasField("after_sequence")
    assert (request.domain, request.entity.entity_id, list(request.changes)) == ("ops", "u1", [1])
    assert request.HasField("access_scope")
    rpc.send_response(Message(sequence=0, heartbeat=True))
    rpc.send_response(change(make, 5, "first"))
    rpc.send_response(Message(sequence=5, heartbeat=True))
    rpc.send_response(change(make, 9, "second"))
    event = first.result()
    assert (event.sequence, event.change, event.fact.text) == (5, FactChange.CREATED, "first")
    assert next(events).sequence == 9


def test_a_watch_waits_without_a_deadline(script: Any, make: Any) -> None:
    first = script.start(next, script.client(timeout=3).watch_facts())
    request, rpc = script.take("WatchFacts")
    assert not request.HasField("after_sequence")
    rpc.send_response(change(make, 1))
    first.result()
    assert script.channel.timeouts == [None]


def test_a_broken_watch_goes_on_after_the_last_change(script: Any, make: Any, policy: RetryPolicy) -> None:
    events = script.client(retry=policy).watch_facts(after_sequence=3, domain="ops")
    first = script.start(next, events)
    _, rpc = script.take("WatchFacts")
    rpc.send_response(change(make, 7))
    first.result()
    second = script.start(next, events)
    rpc.terminate((), grpc.StatusCode.UNAVAILABLE, "restarting")
    request, rpc = script.take("WatchFacts")
    assert (request.after_sequence, request.domain) == (7, "ops")
    rpc.send_response(change(make, 7))
    rpc.send_response(change(make, 8))
    assert second.result().sequence == 8, "a change that was told before is not told again"
    assert script.time.slept == [1]


def test_a_heartbeat_tells_from_where_to_go_on(script: Any, make: Any) -> None:
    first = script.start(next, script.client().watch_facts())
    _, rpc = script.take("WatchFacts")
    rpc.send_response(Message(sequence=41, heartbeat=True))
    rpc.terminate((), grpc.StatusCode.OK, "")
    request, rpc = script.take("WatchFacts")
    assert request.after_sequence == 41
    rpc.send_response(change(make, 42))
    assert first.result().sequence == 42


def test_pauses_start_over_once_the_watch_works_again(script: Any, make: Any, policy: RetryPolicy) -> None:
    events = script.client(retry=policy).watch_facts(after_sequence=0)
    event = script.start(next, events)
    for _ in range(3):
        script.take("WatchFacts")[1].terminate((), grpc.StatusCode.UNAVAILABLE, "down")
    _, rpc = script.take("WatchFacts")
    rpc.send_response(change(make, 1))
    event.result()
    event = script.start(next, events)
    rpc.terminate((), grpc.StatusCode.UNAVAILABLE, "down")
    _, rpc = script.take("WatchFacts")
    rpc.send_response(change(make, 2))
    event.result()
    assert script.time.slept == [1, 2, 3, 1]


def test_a_watch_outlasts_a_restart_but_not_a_long_outage(script: Any, policy: RetryPolicy) -> None:
    event = script.start(next, script.client(retry=policy).watch_facts(max_outage=20))
    for _ in range(8):
        script.take("WatchFacts")[1].terminate((), grpc.StatusCode.UNAVAILABLE, "down")
    with pytest.raises(concord.UnavailableError, match="down"):
        event.result()
    assert sum(script.time.slept) <= 20
    assert len(script.time.slept) == 7 > policy.max_attempts


def test_a_watch_may_wait_for_ever(script: Any, make: Any, policy: RetryPolicy) -> None:
    event = script.start(next, script.client(retry=policy).watch_facts(max_outage=None))
    for _ in range(200):
        script.take("WatchFacts")[1].terminate((), grpc.StatusCode.UNAVAILABLE, "down")
    script.take("WatchFacts")[1].send_response(change(make, 1))
    assert event.result().sequence == 1


def test_a_log_that_is_no_longer_kept_raises_at_once(script: Any, make: Any) -> None:
    event = script.start(next, script.client().watch_facts(after_sequence=1))
    script.fail("WatchFacts", make.status(grpc.StatusCode.OUT_OF_RANGE, reason="SEQUENCE_NOT_KEPT"))
    with pytest.raises(concord.OutOfRangeError) as raised:
        event.result()
    assert raised.value.reason == concord.ErrorReason.SEQUENCE_NOT_KEPT
    assert script.time.slept == []


def test_leaving_ends_the_watch(script: Any, make: Any) -> None:
    events = script.client().watch_facts()
    event = script.start(next, events)
    _, rpc = script.take("WatchFacts")
    rpc.send_response(change(make, 1))
    event.result()
    events.close()
    rpc.cancelled()

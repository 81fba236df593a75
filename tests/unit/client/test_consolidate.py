"""Events and runs through the clients: what is sent, what comes back, and watches over broken connections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import concord
import grpc
import pytest
from concord import (
    CandidateOutcome,
    EntityRef,
    EventInput,
    EventMessage,
    EventOutcome,
    EventState,
    Progress,
    RetryPolicy,
    Run,
    RunScope,
    RunStage,
    RunState,
)
from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import consolidation_pb2, enums_pb2

TIME = datetime(2026, 1, 5, tzinfo=UTC)
ADA = EntityRef("User", "ada")
RUN_ID, EVENT_ID = "019a0000-0000-7000-8000-0000000000f1", "019a0000-0000-7000-8000-0000000000e1"


def run(state: int = enums_pb2.RUN_STATE_RUNNING, processed: int = 0) -> consolidation_pb2.Run:
    return consolidation_pb2.Run(
        run_id=RUN_ID,
        state=state,  # type: ignore[arg-type]
        stages=[enums_pb2.RUN_STAGE_EXTRACT],
        progress=consolidation_pb2.Progress(total=2, processed=processed, created=processed),
    )


def told(sequence: int, **update: Any) -> pb.WatchRunResponse:
    return pb.WatchRunResponse(sequence=sequence, **update)


def outcome() -> consolidation_pb2.EventOutcome:
    result = consolidation_pb2.CandidateResult(text="Ada lives in Lagos", reason="nothing held there")
    result.outcome = enums_pb2.CANDIDATE_OUTCOME_CREATED
    result.fact.text = "Ada lives in Lagos"
    return consolidation_pb2.EventOutcome(event_id=EVENT_ID, state=enums_pb2.EVENT_STATE_DONE, candidates=[result])


def stored(text: str = "Tea") -> consolidation_pb2.Event:
    event = consolidation_pb2.Event(
        event_id=EVENT_ID, text=text, kind="note", state=enums_pb2.EVENT_STATE_FAILED, attempts=2
    )
    event.subject.entity_type, event.subject.entity_id = "User", "ada"
    event.payload["n"] = 3
    event.messages.add(role="user", name="Ada", text="Hi").time.FromDatetime(TIME)
    event.last_error.message = "overloaded"
    event.occur_time.FromDatetime(TIME)
    return event


SUMMARY = told(4, summary=run(enums_pb2.RUN_STATE_SUCCEEDED, 2))
MESSAGES = [
    told(1, run=run()),
    told(2, outcome=outcome()),
    told(3, progress=consolidation_pb2.Progress(total=2, processed=1)),
    SUMMARY,
]


def test_events_come_back_whole(script: Any) -> None:
    read = script.start(script.client().get_event, EVENT_ID)
    script.answer("GetEvent", pb.GetEventResponse(event=stored()))
    event = read.result()
    assert (event.event_id, event.subject, event.kind, event.text) == (EVENT_ID, ADA, "note", "Tea")
    assert (event.payload, event.messages) == ({"n": 3}, (EventMessage("user", "Hi", "Ada", TIME),))
    assert (event.state, event.attempts, event.last_error) == (EventState.FAILED, 2, "overloaded")
    assert (event.occur_time, event.retry_time) == (TIME, None)


def test_appending_tells_what_became_of_each_event(script: Any, make: Any, policy: RetryPolicy) -> None:
    appended = script.start(script.client(retry=policy).append_events, [EventInput(ADA, text="Tea")])
    first = script.fail("AppendEvents", make.status(grpc.StatusCode.UNAVAILABLE))
    results = [pb.AppendEventsResult(event_id="a"), pb.AppendEventsResult(event_id="b", duplicate=True)]
    second = script.answer("AppendEvents", pb.AppendEventsResponse(results=results))
    assert [(one.event_id, one.duplicate) for one in appended.result()] == [("a", False), ("b", True)]
    assert first.request_id == second.request_id != ""


def test_another_content_for_a_key_is_an_error_of_its_own(script: Any, make: Any) -> None:
    appended = script.start(script.client().append_events, [EventInput(ADA, text="Tea")])
    status = make.status(grpc.StatusCode.ALREADY_EXISTS, reason="IDEMPOTENCY_KEY_REUSED")
    script.fail("AppendEvents", status)
    with pytest.raises(concord.AlreadyExistsError) as raised:
        appended.result()
    assert raised.value.reason == concord.ErrorReason.IDEMPOTENCY_KEY_REUSED


def test_matches_come_with_their_events(script: Any) -> None:
    found = script.start(script.client().search_events, ADA, "tea")
    match = pb.EventMatch(event_id=EVENT_ID, similarity=0.5, text_rank=0.25, score=0.03125)
    script.answer("SearchEvents", pb.SearchEventsResponse(events=[stored("Tea")], matches=[match]))
    [one] = found.result()
    assert (one.event.text, one.similarity, one.text_rank, one.score) == ("Tea", 0.5, 0.25, 0.03125)


def test_lists_are_read_page_by_page(script: Any) -> None:
    events = script.start(list, script.client().list_events(subject=ADA))
    script.answer("ListEvents", pb.ListEventsResponse(events=[stored("a")], next_page_token="t"))
    assert script.answer("ListEvents", pb.ListEventsResponse(events=[stored("b")])).page_token == "t"
    assert [event.text for event in events.result()] == ["a", "b"]
    runs = script.start(script.client().list_runs_page, page_size=1)
    script.answer("ListRuns", pb.ListRunsResponse(runs=[run()], next_page_token="t", total_size=3))
    page = runs.result()
    assert (len(page), page.next_page_token, page.total_size) == (1, "t", 3)


def test_a_retry_tells_how_many_wait_again(script: Any) -> None:
    retried = script.start(script.client().retry_events)
    assert script.answer("RetryEvents", pb.RetryEventsResponse(requeued_count=3)).request_id
    assert retried.result() == 3


def test_a_run_that_is_over_is_not_cancelled(script: Any, make: Any) -> None:
    cancelled = script.start(script.client().cancel_run, RUN_ID)
    script.fail("CancelRun", make.status(grpc.StatusCode.FAILED_PRECONDITION, reason="RUN_ALREADY_FINISHED"))
    with pytest.raises(concord.FailedPreconditionError):
        cancelled.result()


def play(rpc: Any, *messages: pb.WatchRunResponse) -> None:
    for message in messages:
        rpc.send_response(message)


def check(messages: list[concord.RunMessage]) -> None:
    """What a client makes of MESSAGES."""
    assert [(message.sequence, message.last) for message in messages] == [
        (1, False),
        (2, False),
        (3, False),
        (4, True),
    ]
    first, second, third, last = (message.update for message in messages)
    assert isinstance(first, Run)
    assert (first.run_id, first.state, first.stages) == (RUN_ID, RunState.RUNNING, (RunStage.EXTRACT,))
    assert isinstance(second, EventOutcome)
    [result] = second.candidates
    assert (second.event_id, second.state) == (EVENT_ID, EventState.DONE)
    assert (result.outcome, result.reason) == (CandidateOutcome.CREATED, "nothing held there")
    assert result.fact is not None
    assert isinstance(third, Progress)
    assert (third.total, third.processed) == (2, 1)
    assert isinstance(last, Run)
    assert (last.state, last.progress.created) == (RunState.SUCCEEDED, 2)


def test_consolidating_starts_a_run_and_follows_it(script: Any) -> None:
    messages = script.start(list, script.client().consolidate(RunScope(ADA, max_events=2)))
    request = script.answer("StartRun", pb.StartRunResponse(run=run()))
    assert (request.subject.entity_id, request.max_events, bool(request.request_id)) == ("ada", 2, True)
    watched, rpc = script.take("WatchRun")
    assert (watched.run_id, watched.after_sequence) == (RUN_ID, 0)
    play(rpc, *MESSAGES)
    check(messages.result())
    assert script.channel.timeouts[-1] is None


def test_a_broken_watch_goes_on_after_the_last_message(script: Any, policy: RetryPolicy) -> None:
    watch = script.client(retry=policy).watch_run(RUN_ID)
    early = script.start(lambda: [next(watch), next(watch)])
    _, rpc = script.take("WatchRun")
    play(rpc, *MESSAGES[:2])
    early.result()
    late = script.start(list, watch)
    rpc.terminate((), grpc.StatusCode.UNAVAILABLE, "restarting")
    request, rpc = script.take("WatchRun")
    assert (request.run_id, request.after_sequence) == (RUN_ID, 2)
    play(rpc, *MESSAGES[2:])
    check(early.result() + late.result())
    assert script.time.slept == [1]


def test_a_watch_gives_up_when_the_service_stays_away(script: Any, policy: RetryPolicy) -> None:
    messages = script.start(list, script.client(retry=policy).watch_run(RUN_ID, max_outage=2))
    for _ in range(2):
        _, rpc = script.take("WatchRun")
        rpc.terminate((), grpc.StatusCode.UNAVAILABLE, "away")
    with pytest.raises(concord.UnavailableError):
        messages.result()


def test_a_watch_after_the_end_tells_nothing(script: Any) -> None:
    messages = script.start(list, script.client().watch_run(RUN_ID, after_sequence=4))
    request, rpc = script.take("WatchRun")
    assert request.after_sequence == 4
    rpc.terminate((), grpc.StatusCode.OK, "")
    assert messages.result() == []
    assert script.time.slept == []


def test_an_unknown_run_is_an_error_at_once(script: Any, make: Any) -> None:
    messages = script.start(list, script.client().watch_run(RUN_ID))
    script.fail("WatchRun", make.status(grpc.StatusCode.NOT_FOUND, reason="RUN_NOT_FOUND"))
    with pytest.raises(concord.NotFoundError):
        messages.result()


def test_append_and_wait_returns_both(script: Any) -> None:
    both = script.start(script.client().append_and_wait, [EventInput(ADA, text="Tea")])
    script.answer("AppendEvents", pb.AppendEventsResponse(results=[pb.AppendEventsResult(event_id="a")]))
    assert list(script.answer("StartRun", pb.StartRunResponse(run=run())).stages) == [1]
    _, rpc = script.take("WatchRun")
    play(rpc, *MESSAGES)
    appended, ended = both.result()
    assert ([one.event_id for one in appended], ended.state) == (["a"], RunState.SUCCEEDED)


async def test_the_asyncio_client_makes_the_same_calls(async_script: Any) -> None:
    match = pb.EventMatch(event_id=EVENT_ID, similarity=0.5, text_rank=0.25, score=0.03125)
    async_script.answer("AppendEvents", pb.AppendEventsResponse(results=[pb.AppendEventsResult(event_id="a")]))
    async_script.answer("GetRun", pb.GetRunResponse(run=run()))
    async_script.answer("ListRuns", pb.ListRunsResponse(runs=[run()]))
    async_script.answer("CancelRun", pb.CancelRunResponse(run=run(enums_pb2.RUN_STATE_CANCELLED)))
    async_script.answer("GetEvent", pb.GetEventResponse(event=stored()))
    async_script.answer(
        "ListEvents",
        pb.ListEventsResponse(events=[stored("a")], next_page_token="t"),
        pb.ListEventsResponse(events=[stored("b")]),
    )
    async_script.answer("SearchEvents", pb.SearchEventsResponse(events=[stored("Tea")], matches=[match]))
    async_script.answer("RetryEvents", pb.RetryEventsResponse(requeued_count=3))
    async with async_script.client() as client:
        assert [one.event_id for one in await client.append_events([EventInput(ADA, text="Tea")])] == ["a"]
        assert (await client.get_run(RUN_ID)).run_id == RUN_ID
        assert [one.run_id async for one in client.list_runs()] == [RUN_ID]
        assert (await client.cancel_run(RUN_ID)).state is RunState.CANCELLED
        assert (await client.get_event(EVENT_ID)).text == "Tea"
        assert [one.text async for one in client.list_events(subject=ADA)] == ["a", "b"]
        assert [one.event.text for one in await client.search_events(ADA, "tea")] == ["Tea"]
        assert await client.retry_events() == 3


async def test_the_asyncio_client_follows_a_run_over_a_broken_connection(
    async_script: Any, make: Any, policy: RetryPolicy, abort: Any
) -> None:
    async def breaks(_request: Any, context: Any) -> AsyncIterator[pb.WatchRunResponse]:
        for message in MESSAGES[:2]:
            yield message
        await abort(context, make.status(grpc.StatusCode.UNAVAILABLE))

    async def goes_on(request: Any, _context: Any) -> AsyncIterator[pb.WatchRunResponse]:
        assert request.after_sequence == 2
        for message in MESSAGES[2:]:
            yield message

    async_script.answer("StartRun", pb.StartRunResponse(run=run()))
    async_script.stream("WatchRun", breaks, goes_on)
    async with async_script.client(retry=policy) as client:
        check([message async for message in client.consolidate()])
    assert async_script.time.slept == [1]


async def test_an_asyncio_watch_after_the_end_tells_nothing(async_script: Any) -> None:
    async def nothing(_request: Any, _context: Any) -> AsyncIterator[pb.WatchRunResponse]:
        for message in MESSAGES[:0]:
            yield message

    async_script.stream("WatchRun", nothing)
    async with async_script.client() as client:
        assert [message async for message in client.watch_run(RUN_ID, after_sequence=4)] == []
    assert async_script.time.slept == []


async def test_the_asyncio_client_appends_and_waits(async_script: Any) -> None:
    async def whole(_request: Any, _context: Any) -> AsyncIterator[pb.WatchRunResponse]:
        for message in MESSAGES:
            yield message

    async_script.answer("AppendEvents", pb.AppendEventsResponse(results=[pb.AppendEventsResult(event_id="a")]))
    async_script.answer("StartRun", pb.StartRunResponse(run=run()))
    async_script.stream("WatchRun", whole)
    async with async_script.client() as client:
        appended, ended = await client.append_and_wait([EventInput(ADA, text="Tea")])
    assert ([one.event_id for one in appended], ended.state) == (["a"], RunState.SUCCEEDED)

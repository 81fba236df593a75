"""Runs: started, streamed, watched from any point, cancelled, listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import grpc
import pytest
from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import consolidation_pb2, enums_pb2, resources_pb2

from tests.contract.consolidation.conftest import OTHER, USER, Caller, Service, moved, note
from tests.contract.scripted import failure

Code = grpc.StatusCode
QUEUED, SUCCEEDED, FAILED, CANCELLED = (
    enums_pb2.RUN_STATE_QUEUED,
    enums_pb2.RUN_STATE_SUCCEEDED,
    enums_pb2.RUN_STATE_FAILED,
    enums_pb2.RUN_STATE_CANCELLED,
)
PENDING, DONE = enums_pb2.EVENT_STATE_PENDING, enums_pb2.EVENT_STATE_DONE
CITIES = ("Lagos", "Accra", "Nairobi", "Kigali")
_UNKNOWN: Any = 99


async def moves(caller: Caller) -> list[str]:
    """Appends a life of several moves."""
    return await caller.append(*(moved(city, day) for day, city in enumerate(CITIES, start=1)))


def kinds(messages: Sequence[Any]) -> list[str]:
    """Returns what messages tell, without reports of progress, whose number depends on the time that work takes."""
    return [kind for message in messages if (kind := message.WhichOneof("update")) != "progress"]


def told_of(messages: Sequence[Any]) -> list[Any]:
    """Returns messages with the ids of their facts alone: a fact is shown as it is when the message is read."""
    stripped = []
    for message in messages:
        copy = type(message).FromString(message.SerializeToString())
        for candidate in copy.outcome.candidates if copy.HasField("outcome") else ():
            fact_id = candidate.fact.fact_id
            candidate.fact.Clear()
            candidate.fact.fact_id = fact_id
        stripped.append(copy)
    return stripped


def assert_whole(messages: Sequence[Any]) -> None:
    """Asserts that messages are those of a run from its start to its end."""
    sequences = [message.sequence for message in messages]
    assert sequences == sorted(set(sequences))
    assert (messages[0].WhichOneof("update"), messages[-1].WhichOneof("update")) == ("run", "summary")


def extracted(run: consolidation_pb2.Run) -> consolidation_pb2.Progress:
    """How far the stage that works events has come; the run's own progress counts the facts of the next stage too."""
    [progress] = [each for each in run.stage_progress if each.stage == enums_pb2.RUN_STAGE_EXTRACT]
    return progress


async def test_a_run_is_streamed_from_its_start_to_its_summary(service: Service, caller: Caller):
    ids = await moves(caller)
    async with service.workers():
        messages = [message async for message in caller.Consolidate(pb.ConsolidateRequest(domain=""))]
    assert_whole(messages)
    assert kinds(messages) == ["run", *["outcome"] * len(CITIES), "summary"]
    assert messages[0].run.state == QUEUED
    outcomes = [message.outcome for message in messages if message.HasField("outcome")]
    assert [outcome.event_id for outcome in outcomes] == ids
    assert {outcome.state for outcome in outcomes} == {DONE}
    [last] = outcomes[-1].candidates
    assert last.outcome == enums_pb2.CANDIDATE_OUTCOME_SUPERSEDED
    assert last.fact.claim.value.string_value == "Kigali"
    summary = messages[-1].summary
    assert (summary.run_id, summary.state) == (messages[0].run.run_id, SUCCEEDED)
    counts = extracted(summary)
    assert (counts.total, counts.processed, counts.created, counts.superseded, counts.failed) == (4, 4, 1, 3, 0)
    assert {event.state for event in await caller.events()} == {DONE}
    assert (await caller.GetRun(pb.GetRunRequest(run_id=summary.run_id))).run == summary


async def test_a_caller_that_goes_away_does_not_stop_the_run(service: Service, caller: Caller):
    await moves(caller)
    call = caller.Consolidate(pb.ConsolidateRequest())
    run_id = (await call.read()).run.run_id
    call.cancel()
    async with service.workers():
        messages = await caller.told(run_id)
    assert messages[-1].summary.state == SUCCEEDED
    assert extracted(messages[-1].summary).processed == len(CITIES)


async def test_a_run_is_watched_from_any_sequence_without_gap_or_repeat(service: Service, caller: Caller):
    await moves(caller)
    run_id = await caller.start()
    async with service.workers():
        whole = await caller.told(run_id)
    assert_whole(whole)
    for after in range(whole[-1].sequence + 2):
        expected = [message for message in whole if message.sequence > after]
        assert told_of(await caller.told(run_id, after)) == told_of(expected), after


async def test_a_watch_from_before_the_work_tells_the_same_as_one_after_it(service: Service, caller: Caller):
    await moves(caller)
    run_id = await caller.start()
    watch = aiter(caller.WatchRun(pb.WatchRunRequest(run_id=run_id)))
    early = [await anext(watch)]
    async with service.workers():
        early += [message async for message in watch]
    assert told_of(early) == told_of(await caller.told(run_id))


async def test_the_same_request_streams_the_same_run(service: Service, caller: Caller):
    await moves(caller)
    request = pb.ConsolidateRequest(request_id=str(uuid4()))
    async with service.workers():
        first = [message async for message in caller.Consolidate(request)]
    again = [message async for message in caller.Consolidate(request)]
    assert told_of(again) == told_of(first)
    other = pb.ConsolidateRequest(request_id=request.request_id, domain="home")
    for failed in (
        await failure(caller.Consolidate(other).read()),
        await failure(caller.StartRun(pb.StartRunRequest(request_id=request.request_id))),
    ):
        assert (failed.code, failed.reasons) == (Code.ALREADY_EXISTS, ("REQUEST_ID_REUSED",))
    assert (await caller.ListRuns(pb.ListRunsRequest())).total_size == 1


async def test_a_repeated_start_starts_one_run(caller: Caller):
    await moves(caller)
    request_id = str(uuid4())
    request = pb.StartRunRequest(subject=USER, request_id=request_id)
    first = await caller.StartRun(request)
    assert (first.run.state, first.run.progress.total) == (QUEUED, len(CITIES))
    assert await caller.StartRun(request) == first
    assert (await caller.ListRuns(pb.ListRunsRequest())).total_size == 1
    failed = await failure(caller.StartRun(pb.StartRunRequest(subject=OTHER, request_id=request_id)))
    assert (failed.code, failed.reasons) == (Code.ALREADY_EXISTS, ("REQUEST_ID_REUSED",))


@pytest.mark.parametrize("by", ["Consolidate", "StartRun"])
async def test_a_dry_run_tells_what_would_become_of_events_and_changes_none(caller: Caller, by: str):
    await moves(caller)
    messages: Sequence[Any]
    if by == "Consolidate":
        request = pb.ConsolidateRequest(validate_only=True)
        messages = [message async for message in caller.Consolidate(request)]
        assert (await caller.ListRuns(pb.ListRunsRequest())).total_size == 0
    else:
        messages = await caller.told(await caller.start(validate_only=True))
    assert_whole(messages)
    assert kinds(messages) == ["run", *["outcome"] * len(CITIES), "summary"]
    counts = messages[-1].summary.progress
    assert (counts.processed, counts.created, counts.superseded) == (4, 1, 3)
    assert messages[-1].summary.validate_only
    assert {(event.state, event.attempts) for event in await caller.events()} == {(PENDING, 0)}


async def test_a_run_keeps_to_its_scope(service: Service, caller: Caller):
    await caller.append(moved("Lagos", 1), moved("Accra", 2, subject=OTHER), moved("Kigali", 3, domain="home"))
    async with service.workers():
        for scope, left in (({"subject": OTHER}, 2), ({"domain": "home"}, 1), ({"max_events": 1}, 0)):
            [*_, last] = await caller.told(await caller.start(**scope))
            assert (extracted(last.summary).processed, last.summary.state) == (1, SUCCEEDED)
            assert len(await caller.events(states=[PENDING])) == left


async def test_without_a_model_events_without_candidates_wait_and_the_run_says_so(
    service: Service, caller: Caller
):
    await caller.append(note("I moved to Lagos"))
    async with service.workers():
        [*_, last] = await caller.told(await caller.start())
    assert last.summary.state == FAILED
    assert last.summary.error.message
    assert [(event.state, event.attempts) for event in await caller.events()] == [(PENDING, 0)]


async def test_a_bad_candidate_is_refused_by_itself_with_its_reason(service: Service, caller: Caller):
    event = moved("Lagos", 1)
    event.candidates.add(text="no claim")
    await caller.append(event)
    async with service.workers():
        [_, told, *_, last] = await caller.told(await caller.start())
    good, bad = told.outcome.candidates
    assert (good.outcome, bad.outcome) == (
        enums_pb2.CANDIDATE_OUTCOME_CREATED,
        enums_pb2.CANDIDATE_OUTCOME_REJECTED,
    )
    assert bad.reason
    assert (last.summary.progress.created, last.summary.progress.rejected) == (1, 1)


async def test_a_cancelled_run_lets_its_events_wait_for_the_next(service: Service, caller: Caller):
    await moves(caller)
    run_id = await caller.start()
    cancelled = (await caller.CancelRun(pb.CancelRunRequest(run_id=run_id))).run
    assert (cancelled.run_id, cancelled.state) == (run_id, CANCELLED)
    async with service.workers():
        [*_, last] = await caller.told(run_id)
        assert (last.summary.state, extracted(last.summary).processed) == (CANCELLED, 0)
        assert {event.state for event in await caller.events()} == {PENDING}
        [*_, last] = await caller.told(await caller.start())
    assert extracted(last.summary).processed == len(CITIES)


async def test_a_run_that_is_over_cannot_be_cancelled(service: Service, caller: Caller):
    await moves(caller)
    cancelled, finished = await caller.start(max_events=1), await caller.start()
    await caller.CancelRun(pb.CancelRunRequest(run_id=cancelled))
    async with service.workers():
        await caller.told(finished)
    for run_id in (cancelled, finished):
        failed = await failure(caller.CancelRun(pb.CancelRunRequest(run_id=run_id)))
        assert (failed.code, failed.reasons) == (Code.FAILED_PRECONDITION, ("RUN_ALREADY_FINISHED",))


async def test_a_repeated_cancel_gives_its_first_answer(caller: Caller):
    run_id = await caller.start()
    request = pb.CancelRunRequest(run_id=run_id, request_id=str(uuid4()))
    first = await caller.CancelRun(request)
    assert await caller.CancelRun(request) == first
    other = pb.CancelRunRequest(run_id=await caller.start(), request_id=request.request_id)
    failed = await failure(caller.CancelRun(other))
    assert (failed.code, failed.reasons) == (Code.ALREADY_EXISTS, ("REQUEST_ID_REUSED",))


async def test_runs_are_paged_newest_first(caller: Caller):
    ids = [await caller.start() for _ in range(3)]
    await caller.CancelRun(pb.CancelRunRequest(run_id=ids[1]))
    first = await caller.ListRuns(pb.ListRunsRequest(page_size=2))
    assert ([run.run_id for run in first.runs], first.total_size) == ([ids[2], ids[1]], 3)
    rest = await caller.ListRuns(pb.ListRunsRequest(page_size=2, page_token=first.next_page_token))
    assert ([run.run_id for run in rest.runs], rest.next_page_token) == ([ids[0]], "")
    cancelled = await caller.ListRuns(pb.ListRunsRequest(states=[CANCELLED]))
    assert ([run.run_id for run in cancelled.runs], cancelled.total_size) == ([ids[1]], 1)
    misused = pb.ListRunsRequest(states=[CANCELLED], page_token=first.next_page_token)
    failed = await failure(caller.ListRuns(misused))
    assert (failed.code, failed.reasons) == (Code.INVALID_ARGUMENT, ("INVALID_PAGE_TOKEN",))


async def test_the_runs_of_another_project_are_unknown(service: Service, caller: Caller):
    run_id = await caller.start()
    foreign = service.caller()
    assert (await foreign.ListRuns(pb.ListRunsRequest())).total_size == 0
    for asked in (run_id, str(uuid4())):
        for call in (
            foreign.GetRun(pb.GetRunRequest(run_id=asked)),
            foreign.CancelRun(pb.CancelRunRequest(run_id=asked)),
            foreign.WatchRun(pb.WatchRunRequest(run_id=asked)).read(),
        ):
            failed = await failure(call)
            assert (failed.code, failed.reasons) == (Code.NOT_FOUND, ("RUN_NOT_FOUND",))
    assert (await caller.GetRun(pb.GetRunRequest(run_id=run_id))).run.state == QUEUED


async def test_runs_of_two_projects_do_each_their_own(service: Service):
    here, there = service.caller(), service.caller()
    await here.append(moved("Lagos", 1))
    await there.append(moved("Accra", 1), moved("Kigali", 2))
    runs = [(here, await here.start(), 1), (there, await there.start(), 2)]
    async with service.workers():
        for caller, run_id, count in runs:
            [*_, last] = await caller.told(run_id)
            assert extracted(last.summary).processed == count


NOBODY = resources_pb2.EntityRef(entity_type="User")
BAD: list[tuple[str, Any, set[str]]] = [
    ("StartRun", pb.StartRunRequest(max_events=-1, request_id="x"), {"max_events", "request_id"}),
    ("StartRun", pb.StartRunRequest(subject=NOBODY, domain=" "), {"subject.entity_id", "domain"}),
    ("StartRun", pb.StartRunRequest(stages=[_UNKNOWN]), {"stages[0]"}),
    ("Consolidate", pb.ConsolidateRequest(max_events=-1, stages=[_UNKNOWN]), {"max_events", "stages[0]"}),
    ("GetRun", pb.GetRunRequest(), {"run_id"}),
    ("GetRun", pb.GetRunRequest(run_id="x"), {"run_id"}),
    ("ListRuns", pb.ListRunsRequest(states=[_UNKNOWN], page_size=-1), {"states[0]", "page_size"}),
    ("ListRuns", pb.ListRunsRequest(page_token="x"), {"page_token"}),
    ("CancelRun", pb.CancelRunRequest(run_id="x", request_id="x"), {"run_id", "request_id"}),
    ("WatchRun", pb.WatchRunRequest(), {"run_id"}),
    ("WatchRun", pb.WatchRunRequest(run_id=str(uuid4()), after_sequence=-1), {"after_sequence"}),
    ("WatchRun", pb.WatchRunRequest(run_id="x", after_sequence=-1), {"run_id", "after_sequence"}),
]


@pytest.mark.parametrize(("method", "request_", "fields"), BAD)
async def test_every_bad_field_is_named(caller: Caller, method: str, request_: Any, fields: set[str]):
    call = getattr(caller, method)(request_)
    failed = await failure(call.read() if method in {"Consolidate", "WatchRun"} else call)
    assert failed.code is Code.INVALID_ARGUMENT
    assert set(failed.fields) == fields

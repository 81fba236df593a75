"""``concord events``, ``consolidate`` and ``runs``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import concord as client
import grpc
import pytest
from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import enums_pb2
from concord_server.cli import output
from concord_server.cli.failures import ExitCode

from .conftest import make_status
from .fake_runs import EVENT_ID, RUN_ID, make_event, make_run


@pytest.fixture
def terminal(monkeypatch):
    """Lays results out as on a terminal of 160 columns, without colours."""
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "dumb")


def lines(tmp_path: Path, *events: dict[str, Any] | str) -> str:
    """Writes a file of events and returns its path."""
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(e if isinstance(e, str) else json.dumps(e) for e in events), encoding="utf-8")
    return str(file)


def event(number: int = 1, **fields: Any) -> dict[str, Any]:
    subject = {"entity_type": "User", "entity_id": "ada"}
    return {"subject": subject, "text": f"Note {number}", "idempotency_key": f"k{number}", **fields}


def test_appending_counts_new_and_known_events(concord, service, tmp_path):
    file = lines(tmp_path, event(1), "", event(2), event(1))
    ended = concord("events", "append", file)
    assert (ended.code, ended.out, ended.err) == (ExitCode.OK, "appended\t2\nknown\t1\n", "")
    [request] = service.runs.requests
    assert [sent.text for sent in request.events] == ["Note 1", "Note 2", "Note 1"]


def test_a_file_is_sent_in_batches(concord, service, tmp_path):
    ended = concord("events", "append", lines(tmp_path, *(event(number) for number in range(230))))
    assert ended.out == "appended\t230\nknown\t0\n"
    assert [len(request.events) for request in service.runs.requests] == [100, 100, 30]


def test_every_field_of_a_line_is_sent(concord, service, tmp_path):
    candidate = {
        "claim": {"subject": "ada", "predicate": "city", "value": "Lagos", "cardinality": "SINGLE"},
        "text": "Ada lives in Lagos",
        "type": "FACT_TYPE_OPINION",
        "action": "SUPERSEDE",
        "confidence": 0.5,
        "valid_from": "2026-01-05T00:00:00Z",
        "volatility": "SLOW",
        "tags": ["home"],
    }
    given = event(
        kind="chat",
        payload={"n": 1},
        messages=[{"role": "user", "name": "Ada", "text": "Hi", "time": "2026-01-05T00:00:00Z"}],
        occur_time="2026-01-05T00:00:00Z",
        trust="SEMI_TRUSTED",
        access_scope="team",
        domain="home",
        tags=["x"],
        candidates=[candidate],
    )
    concord("events", "append", lines(tmp_path, given))
    [sent] = service.runs.requests[0].events
    assert (sent.kind, sent.access_scope, sent.domain, list(sent.tags)) == ("chat", "team", "home", ["x"])
    assert (sent.payload["n"], sent.messages[0].name, sent.trust) == (1, "Ada", enums_pb2.TRUST_SEMI_TRUSTED)
    assert sent.occur_time.ToJsonString() == sent.messages[0].time.ToJsonString() == "2026-01-05T00:00:00Z"
    [one] = sent.candidates
    assert (one.claim.value.string_value, one.action) == ("Lagos", enums_pb2.CANDIDATE_ACTION_SUPERSEDE)
    assert (one.type, one.volatility) == (enums_pb2.FACT_TYPE_OPINION, enums_pb2.VOLATILITY_SLOW)
    assert one.claim.cardinality == enums_pb2.CARDINALITY_SINGLE


def test_appended_events_as_json(concord, tmp_path):
    ended = concord("events", "append", lines(tmp_path, event(1), event(1)), "--output", "json")
    assert [json.loads(line) for line in ended.out.splitlines()] == [
        {"event_id": EVENT_ID, "duplicate": False},
        {"event_id": EVENT_ID, "duplicate": True},
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2 is no event"),
        ('{"text": "x"}', "line 2 is no event: 'subject'"),
        (json.dumps(event(colour="red")), "unknown field 'colour'"),
        (json.dumps(event(trust="SOME")), "line 2 is no event"),
        (json.dumps(event(occur_time="yesterday")), "line 2 is no event"),
    ],
)
def test_a_line_that_is_no_event_is_named_and_nothing_of_its_batch_is_sent(concord, service, tmp_path, line, says):
    ended = concord("events", "append", lines(tmp_path, event(1), line))
    assert ended.code == ExitCode.INVALID
    assert says in ended.err
    assert ended.err.count("\n") == 1
    assert service.runs.requests == []


def test_a_file_that_is_not_there(concord):
    ended = concord("events", "append", "nowhere.jsonl")
    assert (ended.code, ended.err) == (
        ExitCode.USAGE,
        "concord: cannot read nowhere.jsonl: No such file or directory\n",
    )


def test_what_the_service_refuses_is_told_by_field(concord, service, tmp_path):
    service.runs.failure = make_status(grpc.StatusCode.INVALID_ARGUMENT, "must have a text", field="events[0]")
    ended = concord("events", "append", lines(tmp_path, event()))
    assert ended.code == ExitCode.INVALID
    assert "events[0]" in ended.err


def test_events_are_rows_when_piped(concord, service):
    service.runs.events = [make_event(state=enums_pb2.EVENT_STATE_FAILED, attempts=2)]
    service.runs.events[0].last_error.message = "over\tloaded"
    ended = concord("events", "list", "--failed", "--subject", "User:ada")
    header, row = ended.rows
    assert dict(zip(header, row, strict=True)) == {
        "event_id": EVENT_ID,
        "subject": "User:ada",
        "kind": "chat",
        "occur_time": "2025-03-02T09:00:00Z",
        "state": "FAILED",
        "attempts": "2",
        "last_error": "over\\tloaded",
    }
    [request] = service.runs.requests
    failed = [enums_pb2.EVENT_STATE_FAILED, enums_pb2.EVENT_STATE_DEAD]
    assert (list(request.states), request.subject.entity_id) == (failed, "ada")


def test_events_as_json(concord):
    [one] = json.loads(concord("events", "list", "--output", "json").out)
    assert (one["event_id"], one["state"], one["text"]) == (EVENT_ID, "PENDING", "I moved to Lagos")


def test_events_on_a_terminal_are_laid_out(concord, terminal):
    header, row = concord("events", "list").out.splitlines()
    assert "\t" not in header + row
    assert header.split()[0] == "event_id"
    assert row.split()[0] == EVENT_ID


def test_a_search_shows_scores_and_wording(concord, service):
    service.runs.events = [
        make_event(),
        make_event(text="", payload={"city": "Lagos"}),
    ]
    service.runs.events.append(make_event(text=""))
    service.runs.events[2].messages.add(role="user", text="Lagos it is")
    ended = concord("events", "search", "User:ada", "where to", "--limit", "3", "--failed")
    header, *rows = ended.rows
    first = dict(zip(header, rows[0], strict=True))
    assert (first["score"], first["similarity"], first["text_rank"]) == ("0.0330", "0.7500", "0.5000")
    assert [row[-1] for row in rows] == ["I moved to Lagos", '{"city": "Lagos"}', "Lagos it is"]
    [request] = service.runs.requests
    assert (request.subject.entity_type, request.query, request.top_k) == ("User", "where to", 3)
    assert list(request.states) == [enums_pb2.EVENT_STATE_FAILED, enums_pb2.EVENT_STATE_DEAD]


def test_a_search_as_json(concord):
    [match] = json.loads(concord("events", "search", "User:ada", "x", "--output", "json").out)
    assert (match["event"]["event_id"], match["similarity"]) == (EVENT_ID, 0.75)


def test_a_search_that_finds_nothing_says_so_on_a_terminal_alone(concord, service, monkeypatch):
    service.runs.events = []
    piped = concord("events", "search", "User:ada", "x")
    assert (len(piped.rows), piped.err) == (1, "")
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    assert concord("events", "search", "User:ada", "x").err == "concord: nothing was found\n"


@pytest.mark.parametrize("subject", ["ada", "", ":", "User:"])
def test_a_search_needs_a_subject(concord, service, subject):
    ended = concord("events", "search", subject, "x")
    assert ended.code == ExitCode.USAGE
    assert service.runs.requests == []


def test_a_retry_tells_how_many_wait_again(concord, service):
    ended = concord("events", "retry", "--subject", "User:ada")
    assert ended.out == "requeued\t3\n"
    assert service.runs.requests[0].subject.entity_id == "ada"


def test_a_run_is_one_row_when_piped(concord, service):
    ended = concord("consolidate", "--subject", "User:ada", "--domain", "home", "--max-events", "2")
    assert (ended.code, ended.err) == (ExitCode.OK, "")
    header, row = ended.rows
    shown = dict(zip(header, row, strict=True))
    assert shown["run_id"] == RUN_ID
    assert (shown["state"], shown["total"], shown["created"], shown["superseded"]) == ("SUCCEEDED", "2", "1", "1")
    started, watched = service.runs.requests
    assert (started.subject.entity_id, started.domain, started.max_events) == ("ada", "home", 2)
    assert not started.validate_only
    assert (watched.run_id, watched.after_sequence) == (RUN_ID, 0)


def test_a_dry_run_is_asked_for(concord, service):
    concord("consolidate", "--dry-run")
    assert service.runs.requests[0].validate_only


def test_a_run_as_json_is_a_line_for_each_message(concord):
    told = [json.loads(line) for line in concord("consolidate", "--output", "json").out.splitlines()]
    assert [(message["sequence"], message["last"]) for message in told] == [
        *((sequence, False) for sequence in (1, 2, 3)),
        (4, True),
    ]
    assert told[1]["update"]["event_id"] == EVENT_ID
    assert told[2]["update"]["processed"] == 1
    assert told[3]["update"]["state"] == "SUCCEEDED"


def test_a_run_on_a_terminal_has_a_bar_and_the_counts_that_are_not_zero(concord, terminal):
    ended = concord("consolidate")
    assert ended.code == ExitCode.OK
    assert "EXTRACT" in ended.out
    shown = [line.rstrip().split(maxsplit=1) for line in ended.out.splitlines()[-4:]]
    assert shown == [
        ["run_id", RUN_ID],
        ["state", "SUCCEEDED"],
        ["worked", "2/2"],
        ["counts", "1 created · 1 superseded"],
    ]


def test_runs_on_a_terminal_are_laid_out(concord, terminal):
    header, row = concord("runs", "list").out.splitlines()
    assert header.split() == ["run_id", "state", "create_time", "worked", "counts", "error"]
    assert row.split()[:2] == [RUN_ID, "SUCCEEDED"]


def test_what_to_do_next_is_told_on_a_terminal_if_there_is_something_new(concord, terminal, tmp_path):
    file = lines(tmp_path, event(1))
    assert "concord consolidate" in concord("events", "append", file).err
    assert concord("events", "append", file).err == ""


def test_a_run_that_could_not_go_on_has_an_exit_code_of_its_own(concord, service):
    failed = make_run(enums_pb2.RUN_STATE_FAILED, processed=0)
    failed.error.message = "no model is configured"
    service.runs.messages[-1] = pb.WatchRunResponse(sequence=4, summary=failed)
    ended = concord("consolidate")
    assert (ended.code, ended.err) == (ExitCode.STATE, "concord: no model is configured\n")
    assert "FAILED" in ended.out


def test_a_run_is_watched_from_a_sequence(concord, service):
    ended = concord("runs", "watch", RUN_ID, "--after", "2", "--output", "json")
    assert [json.loads(line)["sequence"] for line in ended.out.splitlines()] == [3, 4]
    assert service.runs.requests[0].after_sequence == 2


def test_a_run_watched_after_its_end_shows_how_it_ended(concord):
    ended = concord("runs", "watch", RUN_ID, "--after", "4")
    assert ended.code == ExitCode.OK
    assert ended.rows[1][:2] == [RUN_ID, "SUCCEEDED"]


@pytest.mark.parametrize("command", [["consolidate"], ["runs", "watch", RUN_ID]])
def test_ctrl_c_detaches_and_says_how_to_watch_on(concord, service, monkeypatch, command):
    def interrupted(self: client.Client, run_id: str, **_asked: Any) -> Iterator[client.RunMessage]:
        yield client.RunMessage(sequence=7, update=None, last=False)
        raise KeyboardInterrupt

    monkeypatch.setattr(client.Client, "watch_run", interrupted)
    ended = concord(*command)
    assert ended.code == ExitCode.INTERRUPTED
    assert ended.out == ""
    assert ended.err == (
        f"concord: detached; the run goes on (watch it with: concord runs watch {RUN_ID} --after 7)\n"
    )
    assert not any(isinstance(request, pb.CancelRunRequest) for request in service.runs.requests)


def test_runs_are_rows_when_piped(concord):
    header, row = concord("runs", "list").rows
    shown = dict(zip(header, row, strict=True))
    assert (shown["run_id"], shown["create_time"], shown["processed"]) == (RUN_ID, "2025-03-02T09:00:00Z", "2")
    [one] = json.loads(concord("runs", "list", "--output", "json").out)
    assert (one["run_id"], one["progress"]["created"]) == (RUN_ID, 1)


def test_a_cancelled_run_is_shown(concord, service):
    ended = concord("runs", "cancel", RUN_ID)
    assert ended.rows[1][:2] == [RUN_ID, "CANCELLED"]
    assert service.runs.requests[0].run_id == RUN_ID


@pytest.mark.parametrize(
    ("code", "reason", "exit_code"),
    [
        (grpc.StatusCode.NOT_FOUND, "RUN_NOT_FOUND", ExitCode.NOT_FOUND),
        (grpc.StatusCode.FAILED_PRECONDITION, "RUN_ALREADY_FINISHED", ExitCode.STATE),
        (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", ExitCode.INVALID),
    ],
)
def test_failures_have_their_exit_codes(concord, service, code, reason, exit_code):
    service.runs.failure = make_status(code, "it cannot be", reason=reason)
    for command in (["runs", "cancel", RUN_ID], ["runs", "watch", RUN_ID]):
        ended = concord(*command)
        assert (ended.code, ended.out) == (exit_code, "")
        assert "it cannot be" in ended.err
        assert ended.err.count("\n") == 1

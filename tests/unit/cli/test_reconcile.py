from __future__ import annotations

import json

import pytest
from concord_server.cli.failures import ExitCode
from grpc_health.v1 import health_pb2


def counts(ended) -> dict[str, int]:
    header, *rows = ended.rows
    assert header == ["action", "lines"]
    return {name: int(count) for name, count in rows}


def test_the_lines_of_a_file_are_reconciled_and_counted(concord, service, tmp_path):
    file = tmp_path / "facts.jsonl"
    file.write_text('{"text": "one", "domain": "d"}\n\ntwo\none\n')
    ended = concord("reconcile", str(file))
    assert ended.code == ExitCode.OK
    assert counts(ended) == {
        "CREATED": 2,
        "MERGED": 1,
        "BRANCHED": 0,
        "CONFLICTED": 0,
        "SUPPRESSED": 0,
        "FAILED": 0,
        "TOTAL": 3,
    }
    assert ended.err == ""
    assert [(statement.text, statement.domain) for statement in service.statements] == [
        ("one", "d"),
        ("two", ""),
        ("one", ""),
    ]


def test_a_dash_reads_standard_input(concord, service):
    assert counts(concord("reconcile", "-", stdin=b"one\ntwo\n"))["CREATED"] == 2
    assert [statement.text for statement in service.statements] == ["one", "two"]


def test_options_reach_the_service(concord, service):
    ended = concord(
        *("reconcile", "-", "--domain", "d", "--access-scope", "s", "--type", "opinion"),
        *("--owner", "Person:nora", "--source-url", "https://e.org", "--observe-time", "8 May 2023"),
        *("--conflict-policy", "conflict", "--project", "acme", "--api-key", "k", "--dry-run"),
        stdin=b"one\n",
    )
    assert ended.code == ExitCode.OK
    [statement] = service.statements
    assert (statement.domain, statement.access_scope, statement.type) == ("d", "s", 7)
    assert (statement.owner.entity_type, statement.owner.entity_id) == ("Person", "nora")
    assert statement.source.url == "https://e.org"
    assert statement.observe_time.ToJsonString() == "2023-05-08T00:00:00Z"
    assert statement.contradiction_policy == 2
    assert statement.validate_only


def test_bad_lines_are_told_by_number_and_reason_and_the_others_go_on(concord, service):
    ended = concord("reconcile", "-", stdin=b'one\n{"text": 3}\nrefused\ncaf\xe9\ntwo\n{"text"\n')
    assert ended.code == ExitCode.PARTIAL
    assert (counts(ended)["CREATED"], counts(ended)["FAILED"], counts(ended)["TOTAL"]) == (2, 4, 6)
    assert ended.err.splitlines() == [
        "concord: line 2: text must be a string, not 3",
        "concord: line 3: text must not be refused",
        "concord: line 4: is not UTF-8: invalid continuation byte at byte 4",
        "concord: line 6: is not a JSON object on one line: Expecting ':' delimiter at column 8",
    ]


def test_a_file_of_bad_lines_alone_needs_no_service(concord, service):
    ended = concord("reconcile", "-", "--target", "127.0.0.1:1", stdin=b'{"a": 1}\n' * 200)
    assert ended.code == ExitCode.PARTIAL
    assert counts(ended)["FAILED"] == 200


def test_json_is_one_document_with_every_line_in_order_and_the_counts(concord):
    ended = concord("reconcile", "-", "--output", "json", stdin=b'one\n{"text": 3}\none\nrefused\n')
    assert ended.code == ExitCode.PARTIAL
    document = json.loads(ended.out)
    assert document["summary"].pop("seconds") >= 0
    assert document["summary"] == {
        "total": 4,
        "failed": 2,
        "by_action": {"CREATED": 1, "MERGED": 1, "BRANCHED": 0, "CONFLICTED": 0, "SUPPRESSED": 0},
    }
    first, second, third, fourth = document["results"]
    assert (first["line"], first["action"], first["text"]) == (1, "CREATED", "one")
    assert first["decision_id"]
    assert "matched_fact_id" not in first
    assert second == {"line": 2, "error": {"message": "text must be a string, not 3"}}
    assert (third["action"], third["similarity"]) == ("MERGED", 1.0)
    assert fourth["error"] == {
        "message": "text must not be refused",
        "code": "INVALID_ARGUMENT",
        "reason": "INVALID_FIELD",
    }


def test_json_of_no_lines_is_a_document_too(concord):
    document = json.loads(concord("reconcile", "-", "--output", "json").out)
    assert document["results"] == []
    assert document["summary"]["total"] == 0


def test_details_are_a_table_of_lines_with_the_counts_beside_it(concord):
    ended = concord("reconcile", "-", "--details", stdin=b"one\none\n")
    header, *rows = ended.rows
    assert header[:3] == ["line", "action", "similarity"]
    assert [row[:3] for row in rows] == [["1", "CREATED", ""], ["2", "MERGED", "1.00"]]
    assert rows[1][-2:] == ["one", "the wording is known"]
    assert ended.err == "concord: created 1, merged 1, total 2\n"


def test_a_warning_is_told_once_with_its_count(concord):
    ended = concord("reconcile", "-", stdin=b"warned 1\nwarned 2\n")
    assert ended.err == "concord: warning: the embedder is down (on 2 lines)\n"


def test_a_stream_that_breaks_says_where_and_keeps_what_was_done(concord, service):
    service.dies_at = 2
    ended = concord("reconcile", "-", stdin=b"one\n\ntwo\nthree\nfour\n")
    assert ended.code == ExitCode.UNEXPECTED
    assert (counts(ended)["CREATED"], counts(ended)["TOTAL"]) == (2, 2)
    assert ended.err == (
        "concord: stopped at line 4: it broke (run the same command again: what is done merges)\n"
    )


def test_a_stream_that_breaks_still_tells_the_bad_lines_before_it(concord, service):
    service.dies_at = 1
    ended = concord("reconcile", "-", stdin=b'one\n{"a": 1}\ntwo\n')
    assert counts(ended)["FAILED"] == 1
    assert "stopped at line 3" in ended.err


def test_json_of_a_run_that_broke_is_a_document_still(concord, service):
    service.dies_at = 1
    document = json.loads(concord("reconcile", "-", "--output", "json", stdin=b"one\ntwo\n").out)
    assert [result["line"] for result in document["results"]] == [1]
    assert document["summary"]["total"] == 1


def test_an_unreachable_service_is_one_line_with_a_hint(concord):
    ended = concord("reconcile", "-", "--target", "127.0.0.1:1", stdin=b"one\n")
    assert ended.code == ExitCode.UNREACHABLE
    assert ended.out == ""
    assert ended.err == (
        "concord: cannot reach 127.0.0.1:1: connection refused"
        " (start it with: concord serve, or name another with --target)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reconcile"], "Missing argument 'FILE|-'"),
        (["reconcile", "no-such-file"], "cannot read no-such-file: No such file or directory"),
        (["reconcile", "."], "cannot read .: Is a directory"),
        (["reconcile", "-", "--owner", "nora"], "--owner 'nora' is not TYPE:ID"),
        (["reconcile", "-", "--observe-time", "soon"], "--observe-time 'soon' is not a time"),
        (["reconcile", "-", "--type", "rumour"], "'rumour' is not one of"),
        (["reconcile", "-", "--no-such-option"], "No such option"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_a_code_of_its_own(concord, arguments, message):
    ended = concord(*arguments)
    assert ended.code == ExitCode.USAGE
    assert ended.out == ""
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_a_service_that_is_starting_is_waited_for(concord, service):
    service.healths = [health_pb2.HealthCheckResponse.NOT_SERVING] * 3
    ended = concord("reconcile", "-", stdin=b"one\n")
    assert service.healths == []
    assert ended.err == "concord: the service is starting\n"
    assert counts(ended)["CREATED"] == 1

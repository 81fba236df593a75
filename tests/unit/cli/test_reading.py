"""``concord facts``, ``conflicts`` and ``decisions``."""

from __future__ import annotations

import json

import grpc
import pytest
from concord_server.cli import output
from concord_server.cli.failures import ExitCode

from .conftest import CONFLICT_ID, DECISION_ID, FACT_ID, OTHER_ID, make_fact, make_status


@pytest.fixture
def terminal(monkeypatch):
    """Lays results out as on a terminal of 160 columns, without colours."""
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")


def test_facts_are_rows_when_piped(concord):
    ended = concord("facts", "list")
    assert ended.code == ExitCode.OK
    header, row = ended.rows
    assert dict(zip(header, row, strict=True)) == {
        "fact_id": FACT_ID,
        "status": "ACTIVE",
        "confidence": "0.88",
        "source_count": "1",
        "valid_from": "2025-03-02T09:00:00Z",
        "valid_to": "",
        "owner": "Project:tendril",
        "domain": "people",
        "conflict_id": "",
        "text": "Nora leads Tendril.",
    }


def test_filters_reach_the_service(concord, service):
    concord(
        *("facts", "list", "--domain", "d", "--entity", "Person:nora", "--owner", "Team:t", "--status", "active"),
        *("--status", "pending", "--type", "event", "--predicate", "lead", "--tag", "x", "--as-of", "2025-01-01"),
    )
    request = service.requests[0]
    assert (request.domain, request.predicate, request.tag) == ("d", "lead", "x")
    assert (request.entity.entity_id, request.owner.entity_type) == ("nora", "Team")
    assert (list(request.statuses), list(request.types)) == ([2, 1], [6])
    assert request.as_of.ToJsonString() == "2025-01-01T00:00:00Z"


def test_project_and_key_go_with_the_call(concord, service):
    concord("facts", "list", "--project", "acme", "--api-key", "secret")
    assert service.metadata["x-concord-project"] == "acme"
    assert service.metadata["authorization"] == "Bearer secret"


def test_a_limit_says_what_it_leaves_out(concord, service):
    service.facts = [make_fact(text=f"fact {number}") for number in range(7)]
    ended = concord("facts", "list", "--limit", "3")
    assert [row[-1] for row in ended.rows[1:]] == ["fact 0", "fact 1", "fact 2"]
    assert ended.err == "concord: showing 3 of 7 facts (--limit 0 shows all)\n"


def test_no_limit_reads_every_page(concord, service):
    service.facts = [make_fact(text=f"fact {number}") for number in range(7)]
    ended = concord("facts", "list", "--limit", "0")
    assert len(ended.rows) == 8
    assert ended.err == ""


def test_a_text_with_control_characters_stays_one_row_and_harmless(concord, service):
    service.facts = [make_fact(text="a\tb\nc\x1b[31mred\u202eevil")]
    ended = concord("facts", "list")
    assert ended.rows[1][-1] == "a\\tb\\nc\\x1b[31mred\\u202eevil"


def test_facts_on_a_terminal_show_the_wording_first(concord, service, terminal):
    service.facts = [make_fact(text="[bold]Nora[/bold] leads :rocket:\x1b[31m")]
    ended = concord("facts", "list")
    first, second = ended.out.splitlines()
    assert first == "[bold]Nora[/bold] leads :rocket:\\x1b[31m"
    assert second.split() == [
        *("ACTIVE", "0.88", "1", "source", "since", "2025-03-02", "Project:tendril", "people"),
        FACT_ID,
    ]


def test_facts_as_json_are_a_list(concord):
    [fact] = json.loads(concord("facts", "list", "--output", "json").out)
    assert (fact["fact_id"], fact["owner"]["entity_id"]) == (FACT_ID, "tendril")


def test_a_fact_is_shown_with_its_sources_and_evidence(concord):
    ended = concord("facts", "show", FACT_ID)
    fields = dict(ended.rows)
    assert fields["text"] == "Nora leads Tendril."
    assert fields["status"] == "ACTIVE"
    assert fields["source"] == "Notes · https://e.org (credibility 0.90, trusted)"
    assert fields["evidence"] == "supports “Nora leads.” at conv:1 D1:3"
    assert "claim" not in fields


def test_a_fact_as_json_has_its_sources_beside_it(concord):
    document = json.loads(concord("facts", "show", FACT_ID, "--output", "json").out)
    assert set(document) == {"fact", "sources", "evidence"}


def test_a_fact_on_a_terminal_has_a_line_for_each_field(concord, terminal):
    out = concord("facts", "show", FACT_ID).out
    assert "text          Nora leads Tendril." in out


def test_conflicts_have_a_row_for_each_member_with_the_incumbent_first(concord, service):
    header, *rows = concord("conflicts", "list").rows
    members = [dict(zip(header, row, strict=True)) for row in rows]
    assert [(m["conflict_id"], m["role"], m["fact_id"]) for m in members] == [
        (CONFLICT_ID, "incumbent", FACT_ID),
        (CONFLICT_ID, "challenger", OTHER_ID),
    ]
    assert service.requests[0].state == 1


def test_all_conflicts_are_listed_when_asked_for(concord, service):
    concord("conflicts", "list", "--all", "--entity", "Project:tendril", "--domain", "d")
    assert (service.requests[0].state, service.requests[0].entity.entity_id) == (0, "tendril")


def test_conflicts_on_a_terminal_say_how_to_decide(concord, terminal):
    ended = concord("conflicts", "list")
    assert "challenger Idris leads Tendril." in ended.out
    assert "concord conflicts resolve" in ended.err


def test_no_conflicts_are_a_header_alone_when_piped(concord, service):
    service.conflicts = []
    ended = concord("conflicts", "list")
    assert (len(ended.rows), ended.err) == (1, "")


def test_a_conflict_is_resolved_in_favour_of_a_fact(concord, service):
    ended = concord("conflicts", "resolve", CONFLICT_ID, "--keep", OTHER_ID, "--note", "asked Idris")
    request = service.requests[0]
    assert (request.conflict_id, request.keep_fact_id, request.note) == (CONFLICT_ID, OTHER_ID, "asked Idris")
    assert [row[2] for row in ended.rows] == ["role", "member", "kept"]


@pytest.mark.parametrize(("flag", "field"), [("--keep-none", "keep_none"), ("--keep-all", "keep_all")])
def test_a_conflict_is_resolved_for_none_or_all(concord, service, flag, field):
    assert concord("conflicts", "resolve", CONFLICT_ID, flag).code == ExitCode.OK
    assert service.requests[0].WhichOneof("resolution") == field


@pytest.mark.parametrize("flags", [[], ["--keep", OTHER_ID, "--keep-all"]])
def test_a_resolution_is_exactly_one(concord, service, flags):
    ended = concord("conflicts", "resolve", CONFLICT_ID, *flags)
    assert ended.code == ExitCode.USAGE
    assert ended.err == "concord: give exactly one of --keep, --keep-none and --keep-all\n"
    assert service.requests == []


def test_a_decision_is_shown_with_every_candidate(concord):
    out = concord("decisions", "show", DECISION_ID).out
    fields, candidates = out.split("\n\n")
    assert "rationale\tthe wording is known" in fields.splitlines()
    assert candidates.splitlines()[1].split("\t") == [FACT_ID, "0.96", "CONTRADICTION", "0.90", "number", "yes"]


@pytest.mark.parametrize(
    ("code", "expected", "hint"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, ExitCode.INVALID, ""),
        (grpc.StatusCode.NOT_FOUND, ExitCode.NOT_FOUND, ""),
        (grpc.StatusCode.FAILED_PRECONDITION, ExitCode.STATE, ""),
        (grpc.StatusCode.ABORTED, ExitCode.STATE, " (read it again and decide anew)"),
        (grpc.StatusCode.ALREADY_EXISTS, ExitCode.STATE, ""),
        (grpc.StatusCode.UNAUTHENTICATED, ExitCode.DENIED, " (give a key with CONCORD_API_KEY)"),
        (grpc.StatusCode.PERMISSION_DENIED, ExitCode.DENIED, ""),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, ExitCode.UNREACHABLE, " (try again later)"),
        (grpc.StatusCode.INTERNAL, ExitCode.UNEXPECTED, ""),
    ],
)
def test_every_kind_of_failure_has_its_exit_code(concord, service, code, expected, hint):
    service.failure = make_status(code, "no such luck")
    ended = concord("facts", "show", FACT_ID)
    assert ended.code == expected
    assert (ended.out, ended.err) == ("", f"concord: no such luck{hint}\n")

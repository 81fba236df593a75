from __future__ import annotations

import pytest
from concord import Client, ConcordError
from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import consolidation_pb2, enums_pb2
from concord_server.cli.demonstration import demonstrate, sample_events, sample_files
from concord_server.cli.events_file import read_events
from concord_server.cli.statements.parse import Defaults, parse_line
from concord_server.cli.statements.reader import read_lines

from .fake_runs import EVENT_ID


@pytest.fixture
def client(service):
    with Client(service.target) as client:
        yield client


def test_every_line_of_the_sample_data_is_a_statement_with_a_source_and_a_time():
    statements = []
    for file in sample_files():
        with file.open("rb") as stream:
            statements += [parse_line(line.content, Defaults()) for line in read_lines(stream)]
    assert len(statements) == 60
    assert all(statement.source and statement.observe_time for statement in statements)
    sources = [statement.source for statement in statements if statement.source]
    assert len({source.external_id or source.url for source in sources}) > 20


def test_every_sample_event_has_candidates_and_a_key_of_its_own():
    with sample_events().open(encoding="utf-8") as stream:
        events = list(read_events(stream))
    assert events
    assert all(event.candidates and event.occur_time for event in events)
    assert len({event.idempotency_key for event in events}) == len(events)


def test_what_became_of_events_is_shown_by_candidate(client, service, capsys):
    candidate = consolidation_pb2.CandidateResult(
        text="Ada lives in Lagos.", outcome=enums_pb2.CANDIDATE_OUTCOME_SUPERSEDED, reason="newer by its time"
    )
    outcome = consolidation_pb2.EventOutcome(
        event_id=EVENT_ID, state=enums_pb2.EVENT_STATE_DONE, candidates=[candidate]
    )
    service.runs.messages[1] = pb.WatchRunResponse(sequence=2, outcome=outcome)
    demonstrate(client, sample_files(), sample_events())
    out = capsys.readouterr().out
    assert "7 events appended, 0 of them known before" in out
    assert "  superseded Ada lives in Lagos.  (newer by its time)" in out


def test_without_briefings_the_facts_of_the_entity_are_listed_instead(client, service, capsys):
    demonstrate(client, sample_files(), sample_events())
    out = capsys.readouterr().out
    assert "60 statements reconciled" in out
    assert "Facts about Project:tendril, by status" in out
    assert "Briefing" not in out


def test_a_run_that_merges_everything_says_so(client, capsys):
    demonstrate(client, sample_files(), sample_events())
    assert "nothing was created twice" not in capsys.readouterr().out
    demonstrate(client, sample_files(), sample_events())
    assert "nothing was created twice" in capsys.readouterr().out


def test_a_call_that_fails_ends_the_demo_with_its_error(client, service):
    service.dies_at = 3
    with pytest.raises(ConcordError, match="it broke"):
        demonstrate(client, sample_files(), sample_events())


def test_a_briefing_is_shown_where_the_service_has_it(client, service, capsys, monkeypatch):
    service.briefing = "# Tendril\n\nThree facts."
    demonstrate(client, sample_files(), sample_events())
    out = capsys.readouterr().out
    assert "Briefing of Project:tendril\n# Tendril\n\nThree facts." in out

from __future__ import annotations

import pytest
from concord import Client, ConcordError
from concord_server.cli.demonstration import demonstrate, sample_files
from concord_server.cli.statements.parse import Defaults, parse_line
from concord_server.cli.statements.reader import read_lines


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


def test_without_briefings_the_facts_of_the_entity_are_listed_instead(client, service, capsys):
    demonstrate(client, sample_files())
    out = capsys.readouterr().out
    assert "60 statements reconciled" in out
    assert "Facts about Project:tendril, by status" in out
    assert "Briefing" not in out


def test_a_run_that_merges_everything_says_so(client, capsys):
    demonstrate(client, sample_files())
    assert "nothing was created twice" not in capsys.readouterr().out
    demonstrate(client, sample_files())
    assert "nothing was created twice" in capsys.readouterr().out


def test_a_call_that_fails_ends_the_demo_with_its_error(client, service):
    service.dies_at = 3
    with pytest.raises(ConcordError, match="it broke"):
        demonstrate(client, sample_files())


def test_a_briefing_is_shown_where_the_service_has_it(client, service, capsys, monkeypatch):
    service.briefing = "# Tendril\n\nThree facts."
    demonstrate(client, sample_files())
    out = capsys.readouterr().out
    assert "Briefing of Project:tendril\n# Tendril\n\nThree facts." in out

"""Items of an answer become candidates one by one; whatever is wrong with one, the others stand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.consolidation import admit
from concord_server.domain.enums import CandidateAction, Cardinality, FactType, Volatility
from concord_server.domain.events import EventMessage
from concord_server.domain.model import EntityRef
from concord_server.services.extraction.candidates import MAX_REJECTED

from tests.unit.extraction.events import event, reasons, taken, values

MOVED = event("I moved to Lagos last year, and I play the cello.")
PLAYS = {"predicate": "plays", "value": "cello"}


def test_a_fact_needs_a_predicate_and_a_value_alone() -> None:
    result = taken(MOVED, [PLAYS])
    assert values(result) == [("plays", "cello")]
    [candidate] = result.candidates
    command = admit(MOVED, candidate)
    assert isinstance(command, ReconcileCommand)
    assert (command.text, command.owner) == ("u1 plays cello", EntityRef("User", "u1"))


def test_everything_that_a_model_may_say_is_read() -> None:
    said = {
        "subject": "the user",
        "predicate": "lives_in",
        "value": "Lagos",
        "qualifiers": {"kind": "home"},
        "cardinality": "SINGLE",
        "text": "The user lives in Lagos.",
        "type": "ASSERTION",
        "action": "supersede",
        "confidence": 0.9,
        "valid_from": "2023",
        "valid_to": "2030-01-31",
        "volatility": "SLOW",
        "evidence": "I moved to Lagos",
    }
    [candidate] = taken(MOVED, [said]).candidates
    assert candidate.claim is not None
    assert (candidate.claim.subject, candidate.claim.qualifiers) == ("u1", {"kind": "home"})
    assert candidate.claim.cardinality is Cardinality.SINGLE
    assert candidate.action is CandidateAction.SUPERSEDE
    assert (candidate.valid_from, candidate.valid_to) == (
        datetime(2023, 1, 1, tzinfo=UTC),
        datetime(2030, 1, 31, tzinfo=UTC),
    )
    assert candidate.volatility is Volatility.SLOW
    assert [(e.quote, e.confidence) for e in candidate.evidence] == [("I moved to Lagos", 0.9)]


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ({"type": "event"}, ("type", FactType.EVENT)),
        ({"type": "FACT_TYPE_OPINION"}, ("type", FactType.OPINION)),
        ({"type": "preference"}, ("type", FactType.ASSERTION)),
        ({"type": None}, ("type", FactType.ASSERTION)),
        ({"action": "UPDATE"}, ("action", CandidateAction.SUPERSEDE)),
        ({"action": "add"}, ("action", CandidateAction.CREATE)),
        ({"action": 7}, ("action", CandidateAction.CREATE)),
        ({"confidence": "0.7"}, ("confidence", 0.7)),
        ({"confidence": "90%"}, ("confidence", 0.9)),
        ({"confidence": 95}, ("confidence", 1.0)),
        ({"confidence": -3}, ("confidence", 0.0)),
        ({"confidence": 10**400}, ("confidence", 0.0)),
        ({"confidence": "high"}, ("confidence", 0.0)),
        ({"confidence": None}, ("confidence", 0.0)),
        ({"text": None}, ("text", "")),
        ({"text": ["a"]}, ("text", "")),
        ({"volatility": "often"}, ("volatility", None)),
        ({"valid_from": "since childhood"}, ("valid_from", None)),
        ({"valid_from": 2019}, ("valid_from", datetime(2019, 1, 1, tzinfo=UTC))),
        ({"valid_from": "2019-7"}, ("valid_from", datetime(2019, 7, 1, tzinfo=UTC))),
        ({"valid_from": "2019-07-01T02:00:00+02:00"}, ("valid_from", datetime(2019, 7, 1, tzinfo=UTC))),
        ({"valid_from": "0001-01-01T00:00:00+14:00"}, ("valid_from", None)),
        ({"valid_to": "null"}, ("valid_to", None)),
    ],
)
def test_what_only_describes_a_fact_is_read_leniently(said: dict[str, Any], read: tuple[str, Any]) -> None:
    [candidate] = taken(MOVED, [{**PLAYS, **said}]).candidates
    assert getattr(candidate, read[0]) == read[1]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("the user plays the cello", "not_an_object"),
        (None, "not_an_object"),
        ({"value": "cello"}, "missing_predicate"),
        ({"predicate": None, "value": "cello"}, "missing_predicate"),
        ({"predicate": ["plays"], "value": "cello"}, "invalid_predicate"),
        ({"predicate": "p" * 129, "value": "cello"}, "invalid_predicate"),
        ({"predicate": "?!", "value": "cello"}, "invalid_predicate"),
        ({"predicate": "plays"}, "missing_value"),
        ({"predicate": "plays", "value": None}, "missing_value"),
        ({"predicate": "plays", "value": "c" * 4095}, "value_too_large"),
        ({"predicate": "plays", "value": "a\x00b", "text": "u1 plays"}, "invalid_value"),
        ({"predicate": "id", "value": 10**20}, "invalid_value"),
        ({"predicate": "id", "value": 10**400}, "invalid_value"),
        ({**PLAYS, "qualifiers": "often"}, "invalid_qualifiers"),
        ({**PLAYS, "valid_to": "next summer"}, "invalid_valid_to"),
        ({**PLAYS, "valid_from": "2020", "valid_to": "2019"}, "invalid_interval"),
        ({**PLAYS, "text": "x" * 9000}, "invalid_text"),
        ({**PLAYS, "subject": "Bob"}, "other_subject"),
        ({**PLAYS, "access_scope": "admin"}, "other_scope"),
        ({**PLAYS, "owner": {"entity_type": "User", "entity_id": "u2"}}, "other_scope"),
        ({**PLAYS, "evidence": "I have played it for years"}, "no_evidence_span"),
        ({**PLAYS, "action": "reject", "reason": "transient_state"}, "transient_state"),
        ({**PLAYS, "action": "reject"}, "rejected_by_model"),
    ],
)
def test_an_item_that_is_no_candidate_is_refused_with_a_reason_and_the_others_stand(
    said: Any, reason: str
) -> None:
    result = taken(MOVED, [said, {"predicate": "lives_in", "value": "Lagos"}])
    assert reasons(result) == [reason]
    assert values(result) == [("lives_in", "Lagos")]


def test_in_a_bare_list_object_stands_for_value() -> None:
    bare = '[{"subject": "u1", "predicate": "plays", "object": "cello"}]'
    assert values(taken(MOVED, bare)) == [("plays", "cello")]
    asked_for = '{"facts": [{"subject": "u1", "predicate": "plays", "object": "cello"}]}'
    assert reasons(taken(MOVED, asked_for)) == ["missing_value"]


def test_ids_that_the_model_invented_are_refused_and_the_fact_is_kept() -> None:
    result = taken(MOVED, [{**PLAYS, "supersedes_fact_id": "0190d3c8-0000-7000-8000-00000000000f", "note": "x"}])
    assert values(result) == [("plays", "cello")]
    assert reasons(result) == ["unknown_id"]


def test_valid_facts_are_counted_and_no_more_are_taken_than_the_project_allows() -> None:
    facts = [{"predicate": f"p{n}", "value": n} for n in range(5)]
    result = taken(MOVED, [{"predicate": "", "value": 1}, *facts], limit=3)
    assert values(result) == [("p0", 0), ("p1", 1), ("p2", 2)]
    assert reasons(result) == ["missing_predicate", "too_many_facts", "too_many_facts"]


def test_what_is_said_twice_is_taken_once() -> None:
    result = taken(MOVED, [PLAYS, {**PLAYS, "text": "u1 plays the cello"}])
    assert values(result) == [("plays", "cello")]
    assert reasons(result) == ["said_twice"]


def test_a_flood_of_nonsense_is_told_in_short() -> None:
    result = taken(MOVED, [1] * 10_000)
    assert len(result.rejected) == MAX_REJECTED + 1
    assert result.rejected[-1].text == f"and {10_000 - MAX_REJECTED} more"


@pytest.mark.parametrize(
    ("subject", "alone", "beside_another"),
    [
        ("", True, True),
        ("u1", True, True),
        ("U1", True, True),
        ("User", True, True),
        ("User:u1", True, True),
        ("I", True, False),
        ("Maria", True, False),
        ("Ana", False, False),
        ("assistant", False, False),
    ],
)
def test_the_subject_is_the_events_by_whichever_name(subject: str, alone: bool, beside_another: bool) -> None:
    maria = EventMessage("user", "I play the cello", "Maria")
    bot = EventMessage("assistant", "Nice!", "Ana")
    ana = EventMessage("user", "So do I", "Ana")
    fact = {**PLAYS, "subject": subject}
    for messages, kept in (((maria, bot), alone), ((maria, bot, ana), beside_another)):
        result = taken(event(messages=messages), [fact])
        assert [c.claim and c.claim.subject for c in result.candidates] == (["u1"] if kept else [])
        assert reasons(result) == ([] if kept else ["other_subject"])

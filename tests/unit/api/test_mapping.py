from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from concord_server.api.mapping.resources import (
    to_claim,
    to_conflict,
    to_decision,
    to_evidence,
    to_fact,
    to_source,
)
from concord_server.api.mapping.responses import (
    to_get_fact_response,
    to_list_conflicts_response,
    to_list_facts_response,
    to_reconcile_response,
)
from concord_server.domain.enums import EvolutionType, FactStatus, Freshness, Volatility
from concord_server.domain.model import Claim
from concord_server.domain.queries import ConflictSummary, Page
from concord_server.services.results import FactDetails
from google.protobuf import json_format
from google.protobuf.message import Message

from tests.contract.ledger_values import (
    CONFLICT,
    DECISION,
    EVIDENCE,
    FACT,
    NOW,
    PLAIN_FACT,
    RESULT,
    SOURCE,
    at,
)


def plain(message: Message) -> Any:
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def test_a_fact_arrives_whole():
    assert plain(to_fact(FACT, NOW)) == {
        "fact_id": "019a0000-0000-7000-8000-0000000000f1",
        "domain": "ops",
        "access_scope": "private",
        "type": "FACT_TYPE_MEASUREMENT",
        "owner": {"entity_type": "Person", "entity_id": "usr_42", "role": "SUBJECT_ROLE_SUBJECT"},
        "status": "FACT_STATUS_ACTIVE",
        "text": "Priya owns 3 bikes",
        "text_raw": "priya has three bikes",
        "claim": {
            "subject": "Priya",
            "predicate": "bike_count",
            "value": 3.0,
            "qualifiers": {"bound": "upper"},
            "cardinality": "CARDINALITY_SINGLE",
        },
        "evolution_type": "EVOLUTION_TYPE_CORRECTION",
        "parent_ids": ["019a0000-0000-7000-8000-0000000000f0"],
        "confidence": 0.8812345678901234,
        "source_count": 2,
        "corroboration_score": 0.25,
        "reinforcement_count": 4,
        "last_reinforce_time": "2026-01-09T08:30:15.654321Z",
        "trust": "TRUST_SEMI_TRUSTED",
        "volatility": "VOLATILITY_SLOW",
        "freshness": "FRESHNESS_FRESH",
        "valid_from": "2026-01-02T08:30:15.654321Z",
        "valid_to": "2026-01-20T08:30:15.654321Z",
        "create_time": "2026-01-03T08:30:15.654321Z",
        "update_time": "2026-01-04T08:30:15.654321Z",
        "subjects": [
            {"entity_type": "Person", "entity_id": "usr_42", "role": "SUBJECT_ROLE_SUBJECT"},
            {"entity_type": "City", "entity_id": "paris", "role": "SUBJECT_ROLE_LOCATION"},
        ],
        "contents": [{"content_id": "doc-1", "relationship": "CONTENT_RELATIONSHIP_SUPPORTS"}],
        "tags": ["a", "b"],
        "conflict_id": "019a0000-0000-7000-8000-00000000000d",
        "version": 7,
        "etag": '"7"',
        "metadata": {"ticket": 17.0},
    }


def test_what_a_fact_does_not_have_stays_unset():
    message = to_fact(PLAIN_FACT, NOW)
    for name in ("owner", "claim", "valid_to", "delete_time", "metadata"):
        assert not message.HasField(name)
    assert message.conflict_id == ""
    assert not message.parent_ids


def test_every_field_of_the_message_is_filled():
    message = to_fact(replace(FACT, delete_time=NOW), NOW)
    names = {field.name for field, _ in message.ListFields()}
    assert names == {field.name for field in message.DESCRIPTOR.fields}
    others: tuple[Message, ...] = (
        to_source(SOURCE),
        to_evidence(EVIDENCE),
        to_decision(DECISION),
        to_conflict(CONFLICT, NOW),
    )
    for other in others:
        assert {f.name for f, _ in other.ListFields()} == {f.name for f in other.DESCRIPTOR.fields}


def test_an_erased_fact_has_ids_and_times_and_no_words():
    message = to_fact(replace(FACT, status=FactStatus.DELETED, delete_time=at(30)), NOW)
    assert plain(message)["delete_time"] == "2026-01-30T08:30:15.654321Z"
    assert message.fact_id
    assert message.status
    for name in ("text", "text_raw", "claim", "subjects", "contents", "tags", "metadata"):
        assert name not in {field.name for field, _ in message.ListFields()}


@pytest.mark.parametrize(
    ("volatility", "days", "freshness"),
    [
        (Volatility.STABLE, 5000, Freshness.FRESH),
        (Volatility.SLOW, 366, Freshness.UNCONFIRMED),
        (Volatility.VOLATILE, 61, Freshness.STALE),
        (Volatility.EPHEMERAL, 7, Freshness.FRESH),
        (Volatility.EPHEMERAL, 8, Freshness.STALE),
    ],
)
def test_freshness_is_that_of_the_moment_of_reading(volatility, days, freshness):
    fact = replace(FACT, volatility=volatility)
    message = to_fact(fact, fact.last_reinforce_time + timedelta(days=days))
    assert plain(message)["freshness"] == f"FRESHNESS_{freshness.value}"


@pytest.mark.parametrize("value", [0, False, "", [], {}, None, -1.5, {"a": [1, {"b": None}]}])
def test_a_claims_value_is_there_even_when_it_is_empty(value):
    message = to_claim(Claim("s", "p", value))
    assert message.HasField("value")
    assert message.value.WhichOneof("kind")
    assert not message.HasField("qualifiers")


def test_a_source_and_evidence_arrive_whole():
    assert plain(to_source(SOURCE)) == {
        "source_id": "019a0000-0000-7000-8000-00000000000b",
        "fact_id": "019a0000-0000-7000-8000-0000000000f1",
        "source_type": "web",
        "url": "https://a.example/1",
        "title": "Minutes",
        "external_id": "doc-1",
        "credibility": 0.9,
        "extract_time": "2026-01-05T08:30:15.654321Z",
        "trust": "TRUST_THIRD_PARTY",
        "metadata": {"page": 4.0},
        "create_time": "2026-01-06T08:30:15.654321Z",
    }
    assert plain(to_evidence(EVIDENCE)) == {
        "evidence_id": "019a0000-0000-7000-8000-00000000000c",
        "fact_id": "019a0000-0000-7000-8000-0000000000f1",
        "source_id": "019a0000-0000-7000-8000-00000000000b",
        "stance": "EVIDENCE_STANCE_CONTRADICTS",
        "quote": "three bikes",
        "locator": "page 4",
        "source_kind": "document",
        "source_ref": "ref",
        "confidence": 0.6,
        "extraction_method": "manual",
        "create_time": "2026-01-07T08:30:15.654321Z",
    }
    assert to_evidence(replace(EVIDENCE, source_id=None)).source_id == ""


def test_a_credibility_of_zero_is_given_not_absent():
    assert to_source(replace(SOURCE, credibility=0.0)).HasField("credibility")


def test_a_decision_arrives_whole():
    assert plain(to_decision(DECISION)) == {
        "decision_id": "019a0000-0000-7000-8000-00000000000e",
        "basis": "DECISION_BASIS_JUDGED",
        "judge": "local/1",
        "action": "RECONCILE_ACTION_MERGED",
        "candidates": [
            {
                "fact_id": "019a0000-0000-7000-8000-0000000000f1",
                "similarity": 0.91,
                "relation": "RELATION_SAME",
                "probabilities": {"same": 0.9, "distinct": 0.1},
                "discrepancies": ["number", "unit"],
                "chosen": True,
            },
            {"fact_id": "019a0000-0000-7000-8000-0000000000f2", "similarity": 0.61},
        ],
        "similarity_threshold": 0.86,
        "conflict_threshold": 0.61,
        "merge_probability_threshold": 0.76,
        "supersede_probability_threshold": 0.77,
        "rationale": "says the same",
        "create_time": "2026-01-12T08:30:15.654321Z",
    }


def test_a_conflict_names_its_facts_the_incumbent_first():
    message = to_conflict(CONFLICT, NOW)
    assert [fact.fact_id for fact in message.facts] == [str(FACT.fact_id), str(PLAIN_FACT.fact_id)]
    assert message.kept_fact_id == str(FACT.fact_id)
    assert message.etag == '"2"'
    open_one = to_conflict(replace(CONFLICT, resolve_time=None, kept_fact_id=None), NOW)
    assert open_one.kept_fact_id == ""
    assert not open_one.HasField("resolve_time")


def test_an_answer_arrives_whole():
    result = replace(RESULT, evolution_type=EvolutionType.REFINEMENT, conflict=CONFLICT)
    message = to_reconcile_response(result, NOW)
    assert {f.name for f, _ in message.ListFields()} == {f.name for f in message.DESCRIPTOR.fields}
    assert message.similarity == 0.91
    assert list(message.warnings) == ["the cardinality is SINGLE"]
    assert message.decision.decision_id == str(DECISION.decision_id)


def test_what_an_answer_does_not_have_stays_unset():
    message = to_reconcile_response(
        replace(RESULT, source=None, similarity=None, matched_fact=None, warnings=()), NOW
    )
    for name in ("source", "similarity", "matched_fact", "conflict"):
        assert not message.HasField(name)
    assert message.evolution_type == 0


def test_a_similarity_of_zero_is_given_not_absent():
    assert to_reconcile_response(replace(RESULT, similarity=0.0), NOW).HasField("similarity")


def test_a_dry_run_names_no_decision_that_could_be_read():
    message = to_reconcile_response(RESULT, NOW, stored=False)
    assert message.decision.decision_id == ""
    assert message.decision.rationale == "says the same"


def test_confidence_is_as_stored_or_as_of_now():
    details = FactDetails(replace(PLAIN_FACT, confidence=0.88, source_count=1), (SOURCE,), (EVIDENCE,))
    stored = to_get_fact_response(details, NOW, recompute_confidence=False)
    assert stored.fact.confidence == 0.88
    assert len(stored.sources) == len(stored.evidence) == 1
    later = SOURCE.extract_time + timedelta(days=4)
    recomputed = to_get_fact_response(details, later, recompute_confidence=True)
    assert recomputed.fact.confidence == pytest.approx(0.5 + 0.1 + 0.2 * 0.9 + 0.06)


def test_a_page_of_facts_says_how_many_there_are():
    message = to_list_facts_response(Page([FACT, PLAIN_FACT], None, 7), "token", NOW)
    assert len(message.facts) == 2
    assert (message.next_page_token, message.total_size) == ("token", 7)


def test_a_page_of_conflicts_says_how_long_the_oldest_waits():
    page = Page([CONFLICT], None, 3)
    message = to_list_conflicts_response(page, ConflictSummary(2, NOW - timedelta(hours=1)), "token", NOW)
    assert (message.open_count, message.total_size, message.next_page_token) == (2, 3, "token")
    assert message.oldest_open_age.ToSeconds() == 3600
    none = to_list_conflicts_response(page, ConflictSummary(0, None), "", NOW)
    assert not none.HasField("oldest_open_age")
    ahead = to_list_conflicts_response(page, ConflictSummary(1, NOW + timedelta(seconds=1)), "", NOW)
    assert ahead.oldest_open_age.ToSeconds() == 0

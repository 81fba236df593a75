from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from concord import (
    Cardinality,
    Claim,
    ContentLink,
    ContradictionPolicy,
    EntityRef,
    EvidenceInput,
    EvidenceStance,
    FactType,
    SourceInput,
    Statement,
    SubjectRole,
    Trust,
    Volatility,
)
from concord_server.cli.statements.parse import MAX_DEPTH, Defaults, parse_line
from concord_server.cli.statements.reader import LineError


def parse(content: str | dict[str, Any], **defaults) -> Statement:
    line = content if isinstance(content, str) else json.dumps(content)
    return parse_line(line, Defaults(**defaults))


def problem(content: str | dict[str, Any]) -> str:
    with pytest.raises(LineError) as caught:
        parse(content)
    return str(caught.value)


def test_a_plain_line_is_the_statement_itself():
    assert parse('He said: {"so"}') == Statement('He said: {"so"}')


def test_a_brace_makes_a_line_json():
    assert parse({"text": "Nora leads Tendril."}) == Statement("Nora leads Tendril.")


WHOLE_LINE = {
    "text": "Nora leads Tendril.",
    "type": "relationship",
    "domain": "people",
    "access_scope": "staff",
    "owner": {"entity_type": "Team", "entity_id": "tendril"},
    "claim": {
        "subject": "Tendril",
        "predicate": "lead",
        "value": {"name": "Nora", "since": 2025},
        "qualifiers": {"area": "hardware"},
        "cardinality": "CARDINALITY_SINGLE",
    },
    "source": {
        "source_type": "document",
        "url": "https://example.org/a",
        "title": "Notes",
        "external_id": 17,
        "credibility": 1,
        "extract_time": "2025-03-02",
        "trust": "third_party",
        "metadata": {"page": 3},
    },
    "evidence": [
        {"quote": "Nora leads.", "stance": "supports", "locator": "p. 3", "confidence": 0.5},
        "words",
    ],
    "subjects": [{"entity_type": "Person", "entity_id": "nora", "role": "object"}, "Project:tendril"],
    "contents": ["doc-1", {"content_id": "doc-2", "relationship": "referenced_in"}],
    "tags": ["org"],
    "observe_time": "8 May 2025",
    "valid_from": "2025-05-01",
    "valid_to": "2025-06-01T00:00:00Z",
    "similarity_threshold": 0.9,
    "conflict_threshold": 0.5,
    "merge_probability_threshold": 0.8,
    "contradiction_policy": "conflict",
    "corroboration_score": 0.25,
    "volatility": "slow",
    "metadata": {"k": [1, None, True]},
}


def test_every_field_of_a_statement_can_be_given():
    statement = parse(WHOLE_LINE)
    assert statement.type is FactType.RELATIONSHIP
    assert (statement.domain, statement.access_scope) == ("people", "staff")
    assert statement.owner == EntityRef("Team", "tendril")
    assert statement.claim == Claim(
        "Tendril", "lead", {"name": "Nora", "since": 2025}, {"area": "hardware"}, Cardinality.SINGLE
    )
    assert statement.source == SourceInput(
        source_type="document",
        url="https://example.org/a",
        title="Notes",
        external_id="17",
        credibility=1.0,
        extract_time=datetime(2025, 3, 2, tzinfo=UTC),
        trust=Trust.THIRD_PARTY,
        metadata={"page": 3},
    )
    assert statement.evidence == [
        EvidenceInput(quote="Nora leads.", stance=EvidenceStance.SUPPORTS, locator="p. 3", confidence=0.5),
        EvidenceInput(quote="words"),
    ]
    assert statement.subjects == [EntityRef("Person", "nora", SubjectRole.OBJECT), EntityRef("Project", "tendril")]
    assert [content.content_id for content in statement.contents] == ["doc-1", "doc-2"]
    assert statement.contents[0] == ContentLink("doc-1")
    assert statement.tags == ["org"]
    assert statement.observe_time == datetime(2025, 5, 8, tzinfo=UTC)
    assert (statement.valid_from, statement.valid_to) == (
        datetime(2025, 5, 1, tzinfo=UTC),
        datetime(2025, 6, 1, tzinfo=UTC),
    )
    assert (statement.similarity_threshold, statement.conflict_threshold) == (0.9, 0.5)
    assert statement.merge_probability_threshold == 0.8
    assert statement.contradiction_policy is ContradictionPolicy.CONFLICT
    assert statement.corroboration_score == 0.25
    assert statement.volatility is Volatility.SLOW
    assert statement.metadata == {"k": [1, None, True]}


def test_facts_of_conversations_name_their_time_subject_source_and_evidence():
    line = {
        "conversation": "conv-26",
        "session": 1,
        "time": "1:56 pm on 8 May, 2023",
        "subject": "Caroline",
        "text": "Caroline attended a support group.",
        "evidence_turns": ["D1:3", "D1:5"],
    }
    statement = parse(line)
    assert statement.text == "Caroline attended a support group."
    assert statement.observe_time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert statement.owner is None
    assert statement.subjects == [EntityRef("Person", "Caroline")]
    assert statement.source == SourceInput(
        source_type="conversation", title="conv-26, session 1", external_id="conv-26:1"
    )
    assert statement.evidence == [
        EvidenceInput(locator=turn, source_kind="conversation", source_ref="conv-26:1")
        for turn in ("D1:3", "D1:5")
    ]


def test_the_same_line_always_makes_the_same_statement():
    line = {"conversation": "c", "session": 2, "time": "8 May 2023", "subject": "Ann", "text": "Ann sails."}
    assert parse(line) == parse(line)


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("Caroline", EntityRef("Person", "Caroline")),
        ("Project:tendril", EntityRef("Project", "tendril")),
        ("Dr. Ada: surgeon", EntityRef("Person", "Dr. Ada: surgeon")),
        ("李明", EntityRef("Person", "李明")),
        ({"entity_type": "City", "entity_id": "Lagos"}, EntityRef("City", "Lagos")),
    ],
)
def test_a_subject_is_a_person_unless_it_says_otherwise(subject, expected):
    assert parse({"text": "x", "subject": subject}).subjects == [expected]


def test_a_conversation_or_a_session_alone_is_a_source_too():
    assert parse({"text": "x", "conversation": "c1"}).source == SourceInput(
        source_type="conversation", title="c1", external_id="c1"
    )
    assert parse({"text": "x", "session": "a"}).source == SourceInput(
        source_type="conversation", title="session a"
    )


def test_a_source_may_be_a_url_or_a_title():
    assert parse({"text": "x", "source": "https://e.org"}).source == SourceInput(url="https://e.org")
    assert parse({"text": "x", "source": "Notes"}).source == SourceInput(title="Notes")


def test_options_speak_for_lines_that_do_not():
    noon = datetime(2025, 1, 1, 12, tzinfo=UTC)
    statement = parse(
        "Nora sails.",
        type=FactType.OPINION,
        domain="d",
        access_scope="s",
        owner=EntityRef("Person", "nora"),
        source_url="https://e.org",
        observe_time=noon,
        contradiction_policy=ContradictionPolicy.CONFLICT,
        validate_only=True,
    )
    assert statement == Statement(
        "Nora sails.",
        type=FactType.OPINION,
        domain="d",
        access_scope="s",
        owner=EntityRef("Person", "nora"),
        source=SourceInput(url="https://e.org"),
        observe_time=noon,
        contradiction_policy=ContradictionPolicy.CONFLICT,
        validate_only=True,
    )


def test_what_a_line_says_itself_wins_over_options():
    statement = parse({"text": "x", "domain": "own", "conversation": "c"}, domain="d", source_url="https://e.org")
    assert statement.domain == "own"
    assert statement.source is not None
    assert statement.source.url == ""


def test_null_counts_as_absent():
    assert parse({"text": "x", "domain": None, "owner": None}, domain="d").domain == "d"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "x"', "is not a JSON object on one line: Expecting ',' delimiter at column 13"),
        ('{"text": "x"},', "is not a JSON object on one line: Extra data at column 14"),
        ({"domain": "x"}, "text is missing"),
        ({"text": None}, "text is missing"),
        ({"text": 3}, "text must be a string, not 3"),
        ({"text": "x", "domian": "y"}, "unknown key domian; did you mean domain?"),
        ({"text": "x", "importance": 1}, "unknown key importance; what else is to be kept goes into metadata"),
        (
            {"text": "x", "source": {"link": "y"}},
            "unknown key source.link; what else is to be kept goes into metadata",
        ),
        ({"text": "x", "source": ""}, "source must not be empty"),
        ({"text": "x", "source": {"credibility": "high"}}, "source.credibility must be a number, not 'high'"),
        ({"text": "x", "source": {"credibility": True}}, "source.credibility must be a number, not True"),
        ({"text": "x", "owner": "alice"}, "owner must be TYPE:ID, such as \"Person:alice\", not 'alice'"),
        ({"text": "x", "owner": {"entity_type": "Person"}}, "owner.entity_id is missing"),
        ({"text": "x", "claim": {"subject": "a", "predicate": "b"}}, "claim.value is missing"),
        ({"text": "x", "subjects": "Person:a"}, "subjects must be a list, not 'Person:a'"),
        ({"text": "x", "evidence": [{"stance": "maybe"}]}, "evidence[0].stance must be one of SUPPORTS,"),
        ({"text": "x", "type": "UNSPECIFIED"}, "type must be one of ASSERTION,"),
        ({"text": "x", "time": "soon"}, "time: 'soon' is not a time; write it like one of:"),
        ({"text": "x", "time": 1683554160}, "time must be a string, not 1683554160"),
        ({"text": "x", "time": "2024-01-01", "observe_time": "2024-01-01"}, "give observe_time or time, not both"),
        ({"text": "x", "session": 1, "source": "s"}, "give source or conversation or session, not both"),
        ({"text": "x", "session": True}, "session must be a string or a whole number, not True"),
        ('{"text": "x", "text": "y"}', "the key text is given twice"),
        ('{"text": "x", "metadata": {"n": NaN}}', "NaN is not a finite number"),
        ('{"text": "x", "metadata": {"n": 1e999}}', "1e999 is not a finite number"),
        ('{"text": "x", "metadata": {"n": 9007199254740993}}', "the number 9007199254740993 is beyond 2^53"),
        ('{"text": "x", "metadata": {"n": ' + "9" * 5000 + "}}", "the number 99999999999999999999 is beyond 2^53"),
        ('{"text": "\\ud800"}', "contains half of a surrogate pair"),
        (
            '{"text": "x", "metadata": ' + '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH + "}",
            "is nested more than 24",
        ),
        ('{"text": ' + "[" * 100_000, "is nested more than 24"),
    ],
)
def test_a_line_that_could_not_be_sent_is_refused_with_the_reason(line, message):
    assert problem(line).startswith(message)


def test_the_deepest_line_that_is_accepted_can_be_sent_and_read():
    from concord._requests import reconcile
    from concord.v1 import reconcile_service_pb2 as pb

    line = '{"text": "x", "metadata": ' + '{"a":' * (MAX_DEPTH - 1) + "1" + "}" * (MAX_DEPTH - 1) + "}"
    request = pb.StreamReconcileRequest(request=reconcile(parse(line)))
    assert pb.StreamReconcileRequest.FromString(request.SerializeToString()) == request

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from concord.v1 import enums_pb2
from concord.v1.reconcile_service_pb2 import ReconcileRequest
from concord_server.api.parsing.statements import RECONCILE_METHOD, parse_statement
from concord_server.domain.commands import ClaimInput, ReconcileCommand, ThresholdOverrides
from concord_server.domain.enums import (
    Cardinality,
    ContentRelationship,
    ContradictionPolicy,
    EvidenceStance,
    FactType,
    SubjectRole,
    Trust,
    Volatility,
)
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.model import ContentLink, EntityRef, EvidenceInput, SourceInput
from google.protobuf import json_format
from google.protobuf.timestamp_pb2 import Timestamp

from tests.contract.ledger_values import NOW

REQUEST_ID = "0b9c7f0e-63a5-4d6c-9d7b-2f3f5a1c0001"


def encode(_result: object) -> bytes:
    return b"answer"


def request(**fields: object) -> ReconcileRequest:
    return json_format.ParseDict(fields, ReconcileRequest())


def parse(message: ReconcileRequest) -> tuple[Any, Any]:
    return parse_statement(message, encode, NOW)


def bad_fields(message: ReconcileRequest) -> set[str]:
    with pytest.raises(InvalidFieldsError) as caught:
        parse(message)
    return {violation.field for violation in caught.value.violations}


def test_a_request_of_nothing_but_text_has_the_defaults_of_the_contract():
    command, idempotency = parse(request(text="Alice lives in Paris"))
    assert command == ReconcileCommand(text="Alice lives in Paris")
    assert command.type is FactType.ASSERTION
    assert command.contradiction_policy is None  # which leaves the project's
    assert command.volatility is None
    assert command.thresholds == ThresholdOverrides(None, None, None)
    assert idempotency is None


def test_every_field_arrives():
    command, _ = parse(
        request(
            text="Priya owns 3 bikes",
            type="FACT_TYPE_MEASUREMENT",
            domain="ops",
            access_scope="private",
            owner={"entity_type": "Person", "entity_id": "usr_42"},
            claim={
                "subject": "Priya",
                "predicate": "Bike Count",
                "value": 3,
                "qualifiers": {"bound": "upper"},
                "cardinality": "CARDINALITY_MULTI",
            },
            source={
                "source_type": "web",
                "url": "https://a.example",
                "title": "t",
                "external_id": "e",
                "credibility": 0.0,
                "extract_time": "2026-01-02T03:04:05.678901234Z",
                "trust": "TRUST_UNTRUSTED",
                "metadata": {"k": [1, None]},
            },
            evidence=[
                {
                    "stance": "EVIDENCE_STANCE_UNCLEAR",
                    "quote": "q",
                    "locator": "l",
                    "source_kind": "k",
                    "source_ref": "r",
                    "confidence": 0.5,
                    "extraction_method": "m",
                },
                {},
            ],
            subjects=[{"entity_type": "City", "entity_id": "paris", "role": "SUBJECT_ROLE_LOCATION"}],
            contents=[{"content_id": "c", "relationship": "CONTENT_RELATIONSHIP_SUPPORTS"}, {"content_id": "d"}],
            tags=["a"],
            observe_time="2026-01-01T00:00:00Z",
            valid_from="2025-01-01T00:00:00Z",
            valid_to="2026-01-01T00:00:00Z",
            similarity_threshold=0.9,
            conflict_threshold=0.0,
            merge_probability_threshold=0.8,
            contradiction_policy="CONTRADICTION_POLICY_CONFLICT",
            corroboration_score=0.5,
            volatility="VOLATILITY_EPHEMERAL",
            metadata={"n": 1.5},
            validate_only=True,
        )
    )
    assert command == ReconcileCommand(
        text="Priya owns 3 bikes",
        type=FactType.MEASUREMENT,
        domain="ops",
        access_scope="private",
        owner=EntityRef("Person", "usr_42"),
        claim=ClaimInput("Priya", "Bike Count", 3, {"bound": "upper"}, Cardinality.MULTI),
        source=SourceInput(
            "web",
            "https://a.example",
            "t",
            "e",
            0.0,
            datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
            Trust.UNTRUSTED,
            {"k": [1, None]},
        ),
        evidence=(EvidenceInput(EvidenceStance.UNCLEAR, "q", "l", "k", "r", 0.5, "m"), EvidenceInput()),
        subjects=(EntityRef("City", "paris", SubjectRole.LOCATION),),
        contents=(
            ContentLink("c", ContentRelationship.SUPPORTS),
            ContentLink("d", ContentRelationship.EXTRACTED_FROM),
        ),
        tags=("a",),
        observe_time=datetime(2026, 1, 1, tzinfo=UTC),
        valid_from=datetime(2025, 1, 1, tzinfo=UTC),
        valid_to=datetime(2026, 1, 1, tzinfo=UTC),
        thresholds=ThresholdOverrides(0.9, 0.0, 0.8),
        contradiction_policy=ContradictionPolicy.CONFLICT,
        corroboration_score=0.5,
        volatility=Volatility.EPHEMERAL,
        metadata={"n": 1.5},
        validate_only=True,
    )
    assert isinstance(command.claim.value, int)


def test_a_source_without_credibility_and_trust_leaves_the_first_open_and_is_trusted():
    command, _ = parse(request(text="x", source={"url": "https://a.example"}))
    assert command.source == SourceInput(url="https://a.example", credibility=None, trust=Trust.TRUSTED)


def test_an_enum_number_of_a_later_release_is_named_by_its_path():
    message = request(text="x", claim={"subject": "s", "predicate": "p", "value": 1}, evidence=[{}, {}])
    later: Any = 77
    message.type = later
    message.claim.cardinality = later
    message.source.trust = later
    message.source.url = "u"
    message.evidence[1].stance = later
    message.owner.entity_type = message.owner.entity_id = "o"
    message.owner.role = later
    message.volatility = later
    message.contradiction_policy = later
    assert bad_fields(message) == {
        "type",
        "claim.cardinality",
        "source.trust",
        "evidence[1].stance",
        "owner.role",
        "volatility",
        "contradiction_policy",
    }


def test_what_cannot_be_read_and_what_is_not_valid_are_named_in_one_answer():
    message = request(
        text="  ",
        request_id="nope",
        source={"credibility": 5, "url": "u"},
        subjects=[{"entity_type": "Person"}],
        similarity_threshold="NaN",
    )
    message.observe_time.CopyFrom(Timestamp(seconds=253_402_300_800))
    message.source.extract_time.nanos = -1
    assert bad_fields(message) == {
        "text",
        "request_id",
        "source.credibility",
        "source.extract_time",
        "subjects[0].entity_id",
        "similarity_threshold",
        "observe_time",
    }


def test_a_lone_threshold_is_not_held_against_thresholds_of_the_project_that_are_not_known_here():
    message = request(text="x", request_id="nope", conflict_threshold=0.9)
    assert bad_fields(message) == {"request_id"}
    message = request(text="x", request_id="nope", similarity_threshold=0.1)
    assert bad_fields(message) == {"request_id"}


def test_what_can_be_read_is_left_for_the_use_case_to_validate():
    command, _ = parse(request(text="", corroboration_score=9))
    assert command.corroboration_score == 9


def test_a_claim_without_a_value_has_a_null():
    message = request(text="x", claim={"subject": "s", "predicate": "p"})
    assert parse(message)[0].claim.value is None


def test_the_request_id_may_be_in_either_case():
    for text in (REQUEST_ID, REQUEST_ID.upper()):
        _, idempotency = parse(request(text="x", request_id=text))
        assert str(idempotency.request_id) == REQUEST_ID
        assert idempotency.method == RECONCILE_METHOD
        assert idempotency.encode(None) == b"answer"


@pytest.mark.parametrize(
    "text",
    ["nope", REQUEST_ID.replace("-", ""), "{" + REQUEST_ID + "}", "urn:uuid:" + REQUEST_ID, REQUEST_ID + "\n"],
)
def test_other_forms_of_a_uuid_are_refused(text):
    assert bad_fields(request(text="x", request_id=text)) == {"request_id"}


def fingerprint(message: ReconcileRequest) -> str:
    return str(parse(message)[1].fingerprint)


def test_the_same_request_has_the_same_fingerprint_whatever_its_id_and_order_of_keys():
    one = request(text="x", request_id=REQUEST_ID, metadata={"a": 1, "b": 2})
    two = request(text="x", request_id=REQUEST_ID.replace("1", "2"), metadata={"b": 2, "a": 1})
    assert fingerprint(one) == fingerprint(two)


def test_another_request_has_another_fingerprint():
    base = request(text="x", request_id=REQUEST_ID)
    others = [
        request(text="y", request_id=REQUEST_ID),
        request(text="x", request_id=REQUEST_ID, domain="d"),
        request(text="x", request_id=REQUEST_ID, similarity_threshold=0.85),
        # A field that this release does not know.
        ReconcileRequest.FromString(base.SerializeToString() + b"\xa2\x06\x01z"),
    ]
    assert len({fingerprint(message) for message in [base, *others]}) == 5


def test_the_request_stays_as_received():
    message = request(text="x", request_id=REQUEST_ID)
    parse(message)
    assert message.request_id == REQUEST_ID


def test_a_dry_run_is_not_kept_for_repeated_requests_but_its_id_is_checked():
    assert parse(request(text="x", request_id=REQUEST_ID, validate_only=True))[1] is None
    assert bad_fields(request(text="x", request_id="nope", validate_only=True)) == {"request_id"}


def test_enum_numbers_of_the_contract_are_read():
    command, _ = parse(ReconcileRequest(text="x", type=enums_pb2.FACT_TYPE_EVENT))
    assert command.type is FactType.EVENT

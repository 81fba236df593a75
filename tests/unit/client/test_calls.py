"""Each call is built as the contract has it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import pytest
from concord import (
    UNSET,
    Cardinality,
    Claim,
    ConflictState,
    ContentLink,
    ContradictionPolicy,
    EntityRef,
    EvidenceInput,
    EvolutionType,
    FactFilter,
    FactStatus,
    FactType,
    SourceInput,
    Statement,
    SubjectRole,
    Trust,
    Volatility,
    enums,
)
from concord import _briefing_calls as briefing
from concord import _entity_calls as entities
from concord import _evolution_calls as evolution
from concord import _reconcile_calls as reconciling
from concord._call import Call, Rpc
from concord.v1 import (
    briefing_service_pb2,
    enums_pb2,
    evolution_service_pb2,
    reconcile_service_pb2,
)
from google.protobuf import json_format

TIME = datetime(2026, 1, 5, tzinfo=UTC)
SERVICES = (reconcile_service_pb2, evolution_service_pb2, briefing_service_pb2)
RPCS = {
    rpc.path: rpc
    for module in (reconciling, evolution, briefing, entities)
    for rpc in vars(module).values()
    if isinstance(rpc, Rpc)
}
FULL_STATEMENT = Statement(
    "Alice works at Acme",
    type=FactType.RELATIONSHIP,
    domain="people",
    access_scope="team-a",
    owner=EntityRef("Person", "alice"),
    claim=Claim("Alice", "employer", {"name": "Acme", "since": None}, {"kind": "main"}, Cardinality.SINGLE),
    source=SourceInput(
        source_type="web",
        url="https://a.example",
        title="Team",
        external_id="s1",
        credibility=0.0,
        extract_time=TIME,
        trust=Trust.SEMI_TRUSTED,
        metadata={"lang": "en"},
    ),
    evidence=[EvidenceInput(quote="Alice, Acme", locator="page 4", confidence=0.9, extraction_method="manual")],
    subjects=[EntityRef("Company", "acme", SubjectRole.OBJECT)],
    contents=[ContentLink("doc-1")],
    tags=["work", "team"],
    observe_time=TIME,
    valid_from=TIME,
    valid_to=TIME + timedelta(days=1),
    corroboration_score=0.5,
    volatility=Volatility.SLOW,
    metadata={"nested": {"list": [1, 2.5, True, None]}},
)


def as_json(message: Any) -> dict[str, Any]:
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def test_there_is_a_call_for_each_rpc_of_the_three_services() -> None:
    methods = {
        f"/{service.full_name}/{method.name}": method
        for module in SERVICES
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    assert RPCS.keys() == methods.keys()
    for path, rpc in RPCS.items():
        assert rpc.request_type.DESCRIPTOR is methods[path].input_type
        assert rpc.response_type.DESCRIPTOR is methods[path].output_type


def test_each_write_can_be_repeated() -> None:
    reads = re.compile("^(Get|List|BatchGet|Search|Check|Watch)")
    by_item = {"BatchReconcile", "StreamReconcile"}
    writes = {path.rpartition("/")[2] for path, rpc in RPCS.items() if rpc.write}
    names = {path.rpartition("/")[2] for path in RPCS}
    assert writes == {name for name in names if not reads.match(name)} - by_item


def test_enums_are_those_of_the_contract() -> None:
    kinds = [kind for kind in vars(enums).values() if inspect.isclass(kind) and issubclass(kind, StrEnum)]
    for kind in kinds:
        if kind is StrEnum:
            continue
        descriptor = enums_pb2.DESCRIPTOR.enum_types_by_name[kind.__name__]
        prefix = descriptor.values_by_number[0].name.removesuffix("UNSPECIFIED")
        assert [prefix + member.value for member in kind] == [value.name for value in descriptor.values]
        assert [enums.enum_to_proto(member) for member in kind] == [value.number for value in descriptor.values]
        assert [enums.enum_from_proto(kind, value.number) for value in descriptor.values] == list(kind)
        assert [enums.enum_from_name(kind, value.name) for value in descriptor.values] == list(kind)


def test_values_of_a_newer_server_read_as_unspecified() -> None:
    assert enums.enum_from_proto(FactStatus, 99) is FactStatus.UNSPECIFIED
    assert enums.enum_from_name(FactStatus, "FACT_STATUS_NEWER") is FactStatus.UNSPECIFIED


def test_text_in_place_of_a_member_is_refused() -> None:
    text: Any = "ACTIVE"
    with pytest.raises(TypeError, match="not a member"):
        evolution.update_fact_status("id", text)
    with pytest.raises(TypeError, match="sequence of enum members"):
        briefing.list_facts(FactFilter(statuses=FactStatus.ACTIVE))  # type: ignore[arg-type]


def test_a_statement_is_sent_with_every_field() -> None:
    statement = dataclasses.replace(
        FULL_STATEMENT,
        similarity_threshold=0.0,
        conflict_threshold=0.0,
        merge_probability_threshold=1.0,
        contradiction_policy=ContradictionPolicy.CONFLICT,
        request_id="0b9c7f0e-63a5-4d6c-9d7b-2f3f5a1c0001",
    )
    assert as_json(reconciling.reconcile(statement).request) == {
        "text": "Alice works at Acme",
        "type": "FACT_TYPE_RELATIONSHIP",
        "domain": "people",
        "access_scope": "team-a",
        "owner": {"entity_type": "Person", "entity_id": "alice"},
        "claim": {
            "subject": "Alice",
            "predicate": "employer",
            "value": {"name": "Acme", "since": None},
            "qualifiers": {"kind": "main"},
            "cardinality": "CARDINALITY_SINGLE",
        },
        "source": {
            "source_type": "web",
            "url": "https://a.example",
            "title": "Team",
            "external_id": "s1",
            "credibility": 0.0,
            "extract_time": "2026-01-05T00:00:00Z",
            "trust": "TRUST_SEMI_TRUSTED",
            "metadata": {"lang": "en"},
        },
        "evidence": [
            {"quote": "Alice, Acme", "locator": "page 4", "confidence": 0.9, "extraction_method": "manual"}
        ],
        "subjects": [{"entity_type": "Company", "entity_id": "acme", "role": "SUBJECT_ROLE_OBJECT"}],
        "contents": [{"content_id": "doc-1"}],
        "tags": ["work", "team"],
        "observe_time": "2026-01-05T00:00:00Z",
        "valid_from": "2026-01-05T00:00:00Z",
        "valid_to": "2026-01-06T00:00:00Z",
        "similarity_threshold": 0.0,
        "conflict_threshold": 0.0,
        "merge_probability_threshold": 1.0,
        "contradiction_policy": "CONTRADICTION_POLICY_CONFLICT",
        "corroboration_score": 0.5,
        "volatility": "VOLATILITY_SLOW",
        "metadata": {"nested": {"list": [1, 2.5, True, None]}},
        "request_id": "0b9c7f0e-63a5-4d6c-9d7b-2f3f5a1c0001",
    }


def test_what_is_not_given_is_not_sent() -> None:
    call = reconciling.reconcile(Statement("x", validate_only=True))
    assert as_json(call.request) == {"text": "x", "validate_only": True}


def test_writes_get_a_request_id_of_their_own_and_keep_one_that_is_given() -> None:
    first, second = (reconciling.reconcile("x").request for _ in range(2))
    assert first.request_id != second.request_id  # type: ignore[attr-defined]
    builders: list[Call[Any]] = [
        reconciling.resolve_conflict("c", keep_none=True, request_id="given"),
        reconciling.withdraw_source(url="u", request_id="given"),
        evolution.branch(["p"], Statement("x", request_id="given")),
        evolution.update_fact("f", tags=[], request_id="given"),
        evolution.update_fact_status("f", FactStatus.ARCHIVED, request_id="given"),
        entities.link_entity("f", "t", "e", request_id="given"),
        entities.unlink_entity("f", "t", "e", request_id="given"),
        entities.merge_entities("t", "a", "b", request_id="given"),
    ]
    assert all(as_json(call.request)["request_id"] == "given" for call in builders)
    assert re.fullmatch(r"[0-9a-f-]{36}", as_json(entities.link_entity("f", "t", "e").request)["request_id"])


def test_a_branch_takes_the_statement_but_nothing_that_only_reconcile_has() -> None:
    request = as_json(evolution.branch(["p"], FULL_STATEMENT, evolution_type=EvolutionType.CORRECTION).request)
    assert request["parent_ids"] == ["p"]
    assert request["evolution_type"] == "EVOLUTION_TYPE_CORRECTION"
    assert request["claim"]["predicate"] == "employer"
    refused: dict[str, Any] = {
        "similarity_threshold": 0.9,
        "conflict_threshold": 0.1,
        "merge_probability_threshold": 0.5,
        "contradiction_policy": ContradictionPolicy.CONFLICT,
        "validate_only": True,
    }
    for field, value in refused.items():
        with pytest.raises(ValueError, match=f"branch takes no {field}"):
            evolution.branch(["p"], dataclasses.replace(FULL_STATEMENT, **{field: value}))


def test_one_parent_id_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match="sequence of ids"):
        evolution.branch("parent", "x")


def test_a_filter_tells_every_scope_from_unscoped_facts() -> None:
    assert as_json(briefing.list_facts().request) == {}
    assert as_json(briefing.list_facts(FactFilter(access_scope="")).request) == {"access_scope": ""}


def test_a_filter_is_sent_with_every_field() -> None:
    where = FactFilter(
        domain="ops",
        access_scope="team-a",
        types=[FactType.EVENT],
        statuses=(FactStatus.ACTIVE, FactStatus.DISPUTED),
        entity=EntityRef("User", "u1", SubjectRole.OBJECT),
        owner=EntityRef("User", "u2"),
        content_id="doc-1",
        tag="work",
        predicate="employer",
        min_confidence=0.5,
        as_of=TIME,
        known_at=TIME,
    )
    expected = {
        "domain": "ops",
        "access_scope": "team-a",
        "types": ["FACT_TYPE_EVENT"],
        "statuses": ["FACT_STATUS_ACTIVE", "FACT_STATUS_DISPUTED"],
        "entity": {"entity_type": "User", "entity_id": "u1", "role": "SUBJECT_ROLE_OBJECT"},
        "owner": {"entity_type": "User", "entity_id": "u2"},
        "content_id": "doc-1",
        "tag": "work",
        "predicate": "employer",
        "min_confidence": 0.5,
        "as_of": "2026-01-05T00:00:00Z",
        "known_at": "2026-01-05T00:00:00Z",
    }
    assert as_json(briefing.list_facts(where).request) == expected
    assert as_json(briefing.search_facts("q", where, top_k=3).request) == {**expected, "query": "q", "top_k": 3}


def test_an_update_names_what_is_given_and_clears_what_is_none() -> None:
    request = as_json(
        evolution.update_fact("f", valid_to=None, tags=[], metadata={"a": 1}, request_id="r").request
    )
    assert request == {
        "fact_id": "f",
        "update_mask": "validTo,tags,metadata",
        "metadata": {"a": 1},
        "request_id": "r",
    }
    assert as_json(evolution.update_fact("f", corroboration_score=0.0, request_id="r").request) == {
        "fact_id": "f",
        "update_mask": "corroborationScore",
        "request_id": "r",
    }
    with pytest.raises(ValueError, match="at least one field"):
        evolution.update_fact("f", valid_from=UNSET, reason="no reason")


def test_a_conflict_is_resolved_one_way() -> None:
    assert as_json(reconciling.resolve_conflict("c", keep_fact_id="f", request_id="r").request) == {
        "conflict_id": "c",
        "keep_fact_id": "f",
        "request_id": "r",
    }
    assert as_json(reconciling.resolve_conflict("c", keep_all=True, request_id="r").request)["keep_all"] is True
    for wrong in ({}, {"keep_none": True, "keep_all": True}, {"keep_fact_id": "f", "keep_none": True}):
        with pytest.raises(ValueError, match="exactly one"):
            reconciling.resolve_conflict("c", **wrong)


def test_conflicts_can_be_filtered() -> None:
    call = reconciling.list_conflicts(state=ConflictState.OPEN, entity=EntityRef("User", "u"), access_scope="")
    assert as_json(call.request) == {
        "state": "CONFLICT_STATE_OPEN",
        "entity": {"entity_type": "User", "entity_id": "u"},
        "access_scope": "",
    }

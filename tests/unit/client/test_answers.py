"""Answers are read completely, into what cannot be changed."""

from __future__ import annotations

import dataclasses
from typing import Any

import concord
import pytest
from concord import (
    EntityRef,
    FactStatus,
    FactType,
)
from concord import _briefing_calls as briefing
from concord import _entity_calls as entities
from concord import _evolution_calls as evolution
from concord import _reconcile_calls as reconciling
from concord._call import Call
from concord.v1 import (
    briefing_service_pb2,
    consolidation_pb2,
    enums_pb2,
    evolution_service_pb2,
    reconcile_service_pb2,
    resources_pb2,
)
from google.protobuf.descriptor import FieldDescriptor


def filled(message: Any, depth: int = 0) -> Any:
    """The message with something other than the default in every field."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type and field.message_type.GetOptions().map_entry:
            getattr(message, field.name)[{"probabilities": "refinement"}.get(field.name, "FACT_TYPE_EVENT")] = 1
            continue
        if field.type == FieldDescriptor.TYPE_MESSAGE and field.message_type.full_name == "google.protobuf.Value":
            message.value.string_value = "a value"
            continue
        if field.type == FieldDescriptor.TYPE_MESSAGE and field.message_type.full_name == "google.protobuf.Struct":
            getattr(message, field.name)["key"] = "value"
            continue
        value: Any = {
            FieldDescriptor.TYPE_STRING: f"a {field.name}",
            FieldDescriptor.TYPE_DOUBLE: 0.25,
            FieldDescriptor.TYPE_BOOL: True,
            FieldDescriptor.TYPE_ENUM: 2,
        }.get(field.type, 7)
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            value = filled(field.message_type._concrete_class(), depth + 1)
        if field.is_repeated:
            getattr(message, field.name).append(value)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            getattr(message, field.name).CopyFrom(value)
        else:
            setattr(message, field.name, value)
    return message


def assert_read_completely(result: Any, message: Any) -> None:
    """Every field of the message is in the result, under its name, and none has been lost."""
    for field in message.DESCRIPTOR.fields:
        held = getattr(result, field.name)
        assert held not in (None, "", (), 0, {}), f"{type(result).__name__}.{field.name} is {held!r}"
        if dataclasses.is_dataclass(held) and field.message_type.full_name != "google.protobuf.Timestamp":
            assert_read_completely(held, getattr(message, field.name))


@pytest.mark.parametrize(
    ("call", "response"),
    [
        (reconciling.reconcile("x"), reconcile_service_pb2.ReconcileResponse()),
        (reconciling.get_conflict("c"), resources_pb2.Conflict()),
        (reconciling.get_decision("d"), resources_pb2.Decision()),
        (evolution.branch(["p"], "x"), evolution_service_pb2.BranchResponse()),
        (briefing.get_fact("f"), briefing_service_pb2.GetFactResponse()),
        (briefing.check_claim("x"), briefing_service_pb2.CheckClaimResponse()),
        (reconciling.withdraw_source(url="u"), reconcile_service_pb2.WithdrawSourceResponse()),
        (briefing.batch_get_facts(["f"]), briefing_service_pb2.BatchGetFactsResponse()),
        (entities.merge_entities("t", "a", "b"), briefing_service_pb2.MergeEntitiesResponse()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_answers_are_read_completely(call: Call[Any], response: Any) -> None:
    filled(response)
    answer = response
    if not isinstance(response, call.response_type):
        answer = call.response_type()
        getattr(answer, answer.DESCRIPTOR.fields[0].name).CopyFrom(response)
    assert_read_completely(call.parse(answer), response)


@pytest.mark.parametrize(
    ("call", "items", "item"),
    [
        (reconciling.list_conflicts(), "conflicts", resources_pb2.Conflict()),
        (evolution.get_evolution_tree("f"), "facts", resources_pb2.Fact()),
        (evolution.list_fact_versions("f"), "versions", resources_pb2.FactVersion()),
        (briefing.list_facts(), "facts", resources_pb2.Fact()),
        (briefing.list_noteworthy_facts(), "results", briefing_service_pb2.NoteworthyFact()),
        (entities.list_entities(), "entities", briefing_service_pb2.EntitySummary()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_pages_are_read_completely(call: Call[concord.Page[Any]], items: str, item: Any) -> None:
    response: Any = call.response_type(next_page_token="more", total_size=9)
    getattr(response, items).append(filled(item))
    page = call.parse(response)
    assert (page.next_page_token, page.total_size, len(page)) == ("more", 9, 1)
    assert_read_completely(page.items[0], item)


def test_a_briefing_is_read_completely() -> None:
    response = briefing_service_pb2.GetEntityBriefingResponse(
        entity_type="User", total_count=3, by_type={"FACT_TYPE_EVENT": 3}, by_status={"FACT_STATUS_ACTIVE": 3}
    )
    observation = filled(consolidation_pb2.Observation())
    response.observations.append(observation)
    result = briefing.get_entity_briefing("User", "u1").parse(response)
    assert (result.by_type, result.by_status) == ({FactType.EVENT: 3}, {FactStatus.ACTIVE: 3})
    assert_read_completely(result.observations[0], observation)


def test_search_results_are_read_completely() -> None:
    response = briefing_service_pb2.SearchFactsResponse(results=[filled(briefing_service_pb2.FactSearchResult())])
    (result,) = briefing.search_facts("q").parse(response)
    assert_read_completely(result, response.results[0])


def test_probabilities_of_relations_that_a_newer_server_knows_are_left_out() -> None:
    decision = resources_pb2.Decision()
    decision.candidates.add().probabilities.update({"same": 0.9, "newer": 0.1})
    answer = reconcile_service_pb2.GetDecisionResponse(decision=decision)
    assert reconciling.get_decision("d").parse(answer).candidates[0].probabilities == {"SAME": 0.9}


def test_an_answer_without_what_the_contract_promises_is_an_internal_error() -> None:
    with pytest.raises(concord.InternalError, match="ReconcileResponse without fact"):
        reconciling.reconcile("x").parse(reconcile_service_pb2.ReconcileResponse())
    with pytest.raises(concord.InternalError, match="1 of 2 items"):
        reconciling.batch_reconcile(["x", "y"]).parse(
            reconcile_service_pb2.BatchReconcileResponse(results=[reconcile_service_pb2.BatchReconcileResult()])
        )
    with pytest.raises(concord.InternalError, match="neither"):
        reconciling.batch_reconcile(["x"]).parse(
            reconcile_service_pb2.BatchReconcileResponse(results=[reconcile_service_pb2.BatchReconcileResult()])
        )


def test_owners_read_back_equal_to_what_was_written() -> None:
    owner = EntityRef("User", "u1")
    message = resources_pb2.Fact(
        owner=resources_pb2.EntityRef(entity_type="User", entity_id="u1", role=enums_pb2.SUBJECT_ROLE_SUBJECT)
    )
    answer = briefing_service_pb2.GetFactResponse(fact=message)
    assert briefing.get_fact("f").parse(answer).fact.owner == owner


def instances() -> list[Any]:
    """One of each frozen class that the library exports."""
    classes = [
        kind
        for name in concord.__all__
        if dataclasses.is_dataclass(kind := getattr(concord, name)) and isinstance(kind, type)
    ]
    assert len(classes) > 35
    made = []
    for kind in classes:
        required = [
            field.name
            for field in dataclasses.fields(kind)
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        ]
        made.append(kind(**dict.fromkeys(required)))
    return made


@pytest.mark.parametrize("instance", instances(), ids=lambda instance: type(instance).__name__)
def test_inputs_and_results_are_frozen(instance: Any) -> None:
    for field in dataclasses.fields(instance):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(instance, field.name, "changed")
    with pytest.raises((AttributeError, TypeError)):
        instance.something_new = 1

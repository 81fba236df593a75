"""The calls of ConsolidateService are built as the contract has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from concord import (
    CandidateAction,
    Claim,
    EntityRef,
    EventCandidate,
    EventInput,
    EventMessage,
    EventState,
    EvidenceInput,
    FactType,
    RunScope,
    RunStage,
    RunState,
    SourceInput,
    Trust,
    Volatility,
)
from concord import _consolidate_calls as consolidating
from concord._call import Call, Rpc
from concord.v1 import consolidate_service_pb2 as pb
from google.protobuf import json_format

TIME = datetime(2026, 1, 5, tzinfo=UTC)
STAMP = "2026-01-05T00:00:00Z"
ADA = EntityRef("User", "ada")
ADA_JSON = {"entity_type": "User", "entity_id": "ada"}
OBSERVATIONS = {"ListObservations", "GetObservation", "ListObservationVersions"}


def as_json(call: Call[Any]) -> dict[str, Any]:
    return json_format.MessageToDict(call.request, preserving_proto_field_name=True)


def test_there_is_a_call_for_each_rpc() -> None:
    rpcs = {rpc.path.rpartition("/")[2]: rpc for rpc in vars(consolidating).values() if isinstance(rpc, Rpc)}
    methods = {method.name: method for method in pb.DESCRIPTOR.services_by_name["ConsolidateService"].methods}
    # A run is started and then watched, so that a broken connection never starts a second one.
    assert rpcs.keys() >= methods.keys() - OBSERVATIONS - {"Consolidate"}
    for name, rpc in rpcs.items():
        assert rpc.request_type.DESCRIPTOR is methods[name].input_type
        assert rpc.response_type.DESCRIPTOR is methods[name].output_type
    writes = {name for name, rpc in rpcs.items() if rpc.write}
    assert writes == {"AppendEvents", "StartRun", "CancelRun", "RetryEvents"}


def test_an_event_is_sent_whole() -> None:
    event = EventInput(
        ADA,
        kind="chat",
        text="I moved",
        payload={"nested": {"list": [1, 2.5, True, None]}},
        messages=[EventMessage("user", "I moved", "Ada", TIME), EventMessage("assistant", "Nice")],
        occur_time=TIME,
        trust=Trust.SEMI_TRUSTED,
        access_scope="team",
        domain="home",
        source=SourceInput(title="chat", credibility=0.0),
        tags=["a", "b"],
        idempotency_key="k1",
        candidates=[
            EventCandidate(
                Claim("ada", "city", "Lagos"),
                text="Ada lives in Lagos",
                type=FactType.OPINION,
                action=CandidateAction.SUPERSEDE,
                reject_reason="none",
                confidence=0.9,
                valid_from=TIME,
                valid_to=TIME + timedelta(days=1),
                volatility=Volatility.SLOW,
                tags=["c"],
                evidence=[EvidenceInput(quote="moved")],
            )
        ],
    )
    [sent] = as_json(consolidating.append_events([event], request_id="r"))["events"]
    assert sent == {
        "subject": ADA_JSON,
        "kind": "chat",
        "text": "I moved",
        "payload": {"nested": {"list": [1, 2.5, True, None]}},
        "messages": [
            {"role": "user", "name": "Ada", "text": "I moved", "time": STAMP},
            {"role": "assistant", "text": "Nice"},
        ],
        "occur_time": STAMP,
        "trust": "TRUST_SEMI_TRUSTED",
        "access_scope": "team",
        "domain": "home",
        "source": {"title": "chat", "credibility": 0.0},
        "tags": ["a", "b"],
        "idempotency_key": "k1",
        "candidates": [
            {
                "claim": {"subject": "ada", "predicate": "city", "value": "Lagos"},
                "text": "Ada lives in Lagos",
                "type": "FACT_TYPE_OPINION",
                "action": "CANDIDATE_ACTION_SUPERSEDE",
                "reject_reason": "none",
                "confidence": 0.9,
                "valid_from": STAMP,
                "valid_to": "2026-01-06T00:00:00Z",
                "volatility": "VOLATILITY_SLOW",
                "tags": ["c"],
                "evidence": [{"quote": "moved"}],
            }
        ],
    }


@pytest.mark.parametrize(
    ("call", "sent"),
    [
        (
            consolidating.append_events([EventInput(ADA)], request_id="r"),
            {"events": [{"subject": ADA_JSON}], "request_id": "r"},
        ),
        (consolidating.start_run(request_id="r"), {"request_id": "r"}),
        (
            consolidating.start_run(
                RunScope(ADA, domain="d", max_events=5, stages=[RunStage.EXTRACT], validate_only=True)
            ),
            {
                "subject": ADA_JSON,
                "domain": "d",
                "max_events": 5,
                "stages": ["RUN_STAGE_EXTRACT"],
                "validate_only": True,
            },
        ),
        (consolidating.get_run("r"), {"run_id": "r"}),
        (
            consolidating.list_runs(states=[RunState.FAILED], page_size=5, page_token="t"),
            {"states": ["RUN_STATE_FAILED"], "page_size": 5, "page_token": "t"},
        ),
        (consolidating.cancel_run("r", request_id="q"), {"run_id": "r", "request_id": "q"}),
        (consolidating.get_event("e"), {"event_id": "e"}),
        (
            consolidating.list_events(
                states=[EventState.DEAD],
                subject=ADA,
                domain="d",
                access_scope="",
                order_by="occur_time",
                page_size=5,
                page_token="t",
            ),
            {
                "states": ["EVENT_STATE_DEAD"],
                "subject": ADA_JSON,
                "domain": "d",
                "access_scope": "",
                "order_by": "occur_time",
                "page_size": 5,
                "page_token": "t",
            },
        ),
        (consolidating.list_events(), {}),
        (consolidating.search_events(ADA, "tea"), {"subject": ADA_JSON, "query": "tea"}),
        (
            consolidating.search_events(ADA, "tea", states=[EventState.DONE], access_scope="", top_k=3),
            {
                "subject": ADA_JSON,
                "query": "tea",
                "states": ["EVENT_STATE_DONE"],
                "access_scope": "",
                "top_k": 3,
            },
        ),
        (
            consolidating.retry_events(states=[EventState.FAILED], subject=ADA, request_id="r"),
            {"states": ["EVENT_STATE_FAILED"], "subject": ADA_JSON, "request_id": "r"},
        ),
    ],
)
def test_calls_carry_what_they_are_given(call: Call[Any], sent: dict[str, Any]) -> None:
    assert as_json(call) == sent


def test_one_state_is_not_a_sequence_of_states() -> None:
    with pytest.raises(TypeError, match="sequence of enum members"):
        consolidating.list_events(states=EventState.DEAD)  # type: ignore[arg-type]

"""Calls about projects and their settings are built and read as the contract has them."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from concord import ContradictionPolicy, JudgeMode, Project, ProjectSettings, SettingsChange
from concord import _project_calls as projects
from concord._call import Rpc
from concord.enums import enum_from_proto, enum_to_proto
from concord.v1 import admin_pb2, admin_service_pb2
from google.protobuf import json_format

TIME = datetime(2026, 1, 5, tzinfo=UTC)
EVERYTHING: dict[str, Any] = {
    "similarity_threshold": 0.9,
    "conflict_threshold": 0.5,
    "merge_probability_threshold": 0.8,
    "supersede_probability_threshold": 0.7,
    "contradiction_policy": ContradictionPolicy.CONFLICT,
    "candidate_policy": ContradictionPolicy.SUPERSEDE,
    "judge": JudgeMode.LOCAL_THEN_MODEL,
    "extraction_prompt": "extract",
    "judge_prompt": "judge",
    "observation_prompt": "observe",
    "max_facts_per_event": 3,
    "max_model_calls_per_run": 4,
    "daily_token_budget": 2**40,
    "slow_horizon": timedelta(days=3),
    "volatile_horizon": timedelta(hours=2),
    "ephemeral_horizon": timedelta(microseconds=1),
}


def as_json(message: Any) -> dict[str, Any]:
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def test_every_write_can_be_repeated() -> None:
    rpcs = {rpc.path.rpartition("/")[2]: rpc.write for rpc in vars(projects).values() if isinstance(rpc, Rpc)}
    assert rpcs == {
        "CreateProject": True,
        "ListProjects": False,
        "GetProjectSettings": False,
        "UpdateProjectSettings": True,
    }


def test_judge_modes_are_those_of_the_contract() -> None:
    assert [enum_to_proto(mode) for mode in JudgeMode] == admin_pb2.JudgeMode.values()
    assert [enum_from_proto(JudgeMode, number) for number in admin_pb2.JudgeMode.values()] == list(JudgeMode)


def test_everything_that_is_set_is_sent_and_read_again() -> None:
    assert EVERYTHING.keys() == {field.name for field in fields(SettingsChange)}
    call = projects.update_project_settings(SettingsChange(**EVERYTHING), etag='"1"', request_id="r")
    request: Any = call.request
    sent = {field.name for field, _ in request.settings.ListFields()}
    assert sent == {field.name for field in request.settings.DESCRIPTOR.fields} - {"update_time", "etag"}
    assert (request.etag, request.request_id, len(request.update_mask.paths)) == ('"1"', "r", len(EVERYTHING))
    answer = admin_service_pb2.UpdateProjectSettingsResponse(settings=request.settings)
    answer.settings.update_time.FromDatetime(TIME)
    answer.settings.etag = '"2"'
    assert call.parse(answer) == ProjectSettings(**EVERYTHING, update_time=TIME, etag='"2"')


def test_what_is_none_is_named_and_not_given() -> None:
    call = projects.update_project_settings(
        SettingsChange(judge=None, slow_horizon=None, max_facts_per_event=2), request_id="r"
    )
    assert as_json(call.request) == {
        "settings": {"max_facts_per_event": 2},
        "update_mask": "judge,maxFactsPerEvent,volatilityHorizons.slow",
        "request_id": "r",
    }


@pytest.mark.parametrize("name", ["similarity_threshold", "conflict_threshold", "max_facts_per_event"])
def test_a_zero_that_would_stand_for_the_default_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        projects.update_project_settings(SettingsChange(**{name: 0}))  # type: ignore[arg-type]


def test_a_zero_that_means_no_limit_is_sent() -> None:
    call = projects.update_project_settings(SettingsChange(daily_token_budget=0), request_id="r")
    assert as_json(call.request) == {"settings": {}, "update_mask": "dailyTokenBudget", "request_id": "r"}


def test_a_change_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        projects.update_project_settings(SettingsChange())


def test_projects_are_asked_for_and_read() -> None:
    created = projects.create_project("acme", display_name="Acme", request_id="r")
    assert as_json(created.request) == {"project_id": "acme", "display_name": "Acme", "request_id": "r"}
    answer = admin_service_pb2.CreateProjectResponse(
        project=admin_pb2.Project(project_id="acme", display_name="Acme")
    )
    answer.project.create_time.FromDatetime(TIME)
    project = Project(project_id="acme", display_name="Acme", create_time=TIME)
    assert created.parse(answer) == project
    listed = projects.list_projects(page_size=2).parse(
        admin_service_pb2.ListProjectsResponse(projects=[answer.project], next_page_token="n", total_size=3)
    )
    assert (listed.items, listed.next_page_token, listed.total_size) == ((project,), "n", 3)

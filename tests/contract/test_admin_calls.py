"""AdminService on the wire: projects and their settings."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from concord.v1 import admin_pb2, enums_pb2
from concord.v1.admin_service_pb2 import (
    CreateProjectRequest,
    GetProjectSettingsRequest,
    ListProjectsRequest,
    UpdateProjectSettingsRequest,
)
from concord.v1.briefing_service_pb2 import GetFactRequest
from concord_server.domain.enums import ContradictionPolicy, Volatility
from concord_server.domain.errors import ProjectExistsError, UnavailableError
from concord_server.domain.freshness import Horizons
from concord_server.domain.project_settings import JudgeMode, OwnSettings, ProjectSettings
from concord_server.domain.queries import Cursor, Page
from concord_server.services.context import Replay
from concord_server.services.results import FactDetails
from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import Parse
from grpc import StatusCode as Code

from tests.contract.ledger_values import FACT, NOW
from tests.contract.scripted import PROJECT, Edge, failure

REQUEST_ID = str(uuid.uuid4())


def change(
    *paths: str, settings: admin_pb2.ProjectSettings | None = None, **fields: Any
) -> UpdateProjectSettingsRequest:
    request = UpdateProjectSettingsRequest(settings=settings, **fields)
    request.update_mask.paths.extend(paths)
    return request


async def test_settings_in_force_have_every_field(edge: Edge) -> None:
    settings = (await edge.admin.GetProjectSettings(GetProjectSettingsRequest())).settings
    unset = {"extraction_prompt", "judge_prompt", "observation_prompt", "update_time"}
    unlimited = {"max_model_calls_per_run", "daily_token_budget"}
    named = {field.name for field in settings.DESCRIPTOR.fields} - unset - unlimited
    assert {field.name for field, _ in settings.ListFields()} == named
    assert settings.similarity_threshold == 0.85
    assert settings.contradiction_policy == enums_pb2.CONTRADICTION_POLICY_SUPERSEDE
    assert settings.candidate_policy == enums_pb2.CONTRADICTION_POLICY_CONFLICT
    assert settings.judge == admin_pb2.JUDGE_MODE_LOCAL
    assert settings.max_facts_per_event == 20
    assert settings.volatility_horizons.slow.ToTimedelta() == timedelta(days=365)
    assert settings.volatility_horizons.ephemeral.ToTimedelta() == timedelta(days=7)


async def test_what_was_set_is_told(edge: Edge) -> None:
    edge.script.admin.get_project_settings.answer = ProjectSettings(
        judge=JudgeMode.LOCAL_THEN_MODEL,
        daily_token_budget=2**40,
        extraction_prompt="p",
        update_time=NOW,
        revision=4,
    )
    settings = (await edge.admin.GetProjectSettings(GetProjectSettingsRequest())).settings
    assert settings.judge == admin_pb2.JUDGE_MODE_LOCAL_THEN_MODEL
    assert (settings.daily_token_budget, settings.extraction_prompt, settings.etag) == (2**40, "p", '"4"')
    assert settings.update_time.ToDatetime(tzinfo=NOW.tzinfo) == NOW


async def test_a_change_is_what_the_mask_names_of_what_is_given(edge: Edge) -> None:
    settings = admin_pb2.ProjectSettings(
        similarity_threshold=0.9,
        contradiction_policy=enums_pb2.CONTRADICTION_POLICY_CONFLICT,
        judge=99,  # type: ignore[arg-type]
        volatility_horizons=admin_pb2.VolatilityHorizons(slow=Duration(seconds=60)),
    )
    paths = ("similarity_threshold", "contradiction_policy", "extraction_prompt", "volatility_horizons")
    await edge.admin.UpdateProjectSettings(change(*paths, settings=settings, etag='"3"', request_id=REQUEST_ID))
    [(caller, update, etag, idempotency)] = edge.script.admin.update_project_settings.calls
    assert (caller.project, etag) == ("default", '"3"')
    assert idempotency.request_id == uuid.UUID(REQUEST_ID)
    horizons = {"slow_horizon", "volatile_horizon", "ephemeral_horizon"}
    assert update.names == {"similarity_threshold", "contradiction_policy", "extraction_prompt"} | horizons
    assert update.values == OwnSettings(
        similarity_threshold=0.9,
        contradiction_policy=ContradictionPolicy.CONFLICT,
        slow_horizon=timedelta(seconds=60),
    )


async def test_a_mask_may_be_in_the_form_of_json_and_may_name_one_horizon(edge: Edge) -> None:
    text = """{"settings": {"maxFactsPerEvent": 5, "volatilityHorizons": {"slow": "60s", "volatile": "1s"}},
               "updateMask": "maxFactsPerEvent,volatilityHorizons.volatile"}"""
    await edge.admin.UpdateProjectSettings(Parse(text, UpdateProjectSettingsRequest()))
    await edge.admin.UpdateProjectSettings(change("maxFactsPerEvent"))
    (_, first, *_), (_, second, *_) = edge.script.admin.update_project_settings.calls
    assert first.names == {"max_facts_per_event", "volatile_horizon"}
    assert first.values == OwnSettings(max_facts_per_event=5, volatile_horizon=timedelta(seconds=1))
    assert (second.names, second.values) == ({"max_facts_per_event"}, OwnSettings())


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        (change(), ("update_mask",)),
        (change("colour"), ("update_mask",)),
        (change("etag"), ("update_mask",)),
        (change("update_time", "judge"), ("update_mask",)),
        (change("judge", settings=admin_pb2.ProjectSettings(judge=99)), ("settings.judge",)),  # type: ignore[arg-type]
        (change("judge", request_id="x", etag="\x00"), ("etag", "request_id")),
        (
            change("similarity_threshold", "nothing", settings=admin_pb2.ProjectSettings(similarity_threshold=2)),
            ("update_mask", "settings.similarity_threshold"),
        ),
    ],
)
async def test_a_change_that_cannot_be_read_is_refused_with_every_bad_field(
    edge: Edge, request_: UpdateProjectSettingsRequest, fields: tuple[str, ...]
) -> None:
    failed = await failure(edge.admin.UpdateProjectSettings(request_))
    assert (failed.code, failed.fields) == (Code.INVALID_ARGUMENT, fields)
    assert not edge.script.admin.update_project_settings.calls


async def test_an_endless_duration_is_read_as_a_very_long_one(edge: Edge) -> None:
    horizons = admin_pb2.VolatilityHorizons(slow=Duration(seconds=2**62))
    settings = admin_pb2.ProjectSettings(volatility_horizons=horizons)
    await edge.admin.UpdateProjectSettings(change("volatility_horizons.slow", settings=settings))
    [(_, update, *_)] = edge.script.admin.update_project_settings.calls
    assert update.values.slow_horizon > timedelta(days=999_999_000)


async def test_a_repeated_change_gets_its_first_answer(edge: Edge) -> None:
    edge.script.admin.update_project_settings.answer = Replay(b"")
    assert not (await edge.admin.UpdateProjectSettings(change("judge"))).HasField("settings")


async def test_facts_are_as_fresh_as_the_settings_of_the_callers_project_say(edge: Edge) -> None:
    old = replace(FACT, volatility=Volatility.SLOW, last_reinforce_time=NOW - timedelta(days=2))
    edge.script.get_fact.answer = FactDetails(old, (), ())

    async def freshness() -> Any:
        return (await edge.briefing.GetFact(GetFactRequest(fact_id=str(old.fact_id)))).fact.freshness

    assert await freshness() == enums_pb2.FRESHNESS_FRESH
    edge.script.settings.answer = ProjectSettings(horizons=Horizons(slow=timedelta(days=1)))
    assert await freshness() == enums_pb2.FRESHNESS_UNCONFIRMED


async def test_no_call_is_answered_by_settings_that_could_not_be_read(edge: Edge) -> None:
    edge.script.settings.answer = UnavailableError("the database cannot be reached")
    failed = await failure(edge.briefing.GetFact(GetFactRequest(fact_id=str(FACT.fact_id))))
    assert (failed.code, failed.reasons) == (Code.UNAVAILABLE, ("UNAVAILABLE",))
    assert not edge.script.get_fact.calls


async def test_projects_are_created_and_listed(edge: Edge) -> None:
    edge.script.admin.list_projects.answer = Page([PROJECT], Cursor("then", uuid.UUID(int=0)), 7)
    created = await edge.admin.CreateProject(CreateProjectRequest(project_id="acme", display_name="Acme Ltd."))
    [(_, *asked)] = edge.script.admin.create_project.calls
    assert asked == ["acme", "Acme Ltd.", None]
    page = await edge.admin.ListProjects(ListProjectsRequest(page_size=1))
    assert list(page.projects) == [created.project]
    assert (created.project.project_id, created.project.display_name, page.total_size) == ("acme", "Acme Ltd.", 7)
    assert created.project.create_time.ToDatetime(tzinfo=NOW.tzinfo) == NOW
    await edge.admin.ListProjects(ListProjectsRequest(page_size=2, page_token=page.next_page_token))
    assert edge.script.admin.list_projects.calls[-1][1:] == (Cursor("then", uuid.UUID(int=0)), 2)


async def test_a_project_that_exists_is_not_created(edge: Edge) -> None:
    edge.script.admin.create_project.answer = ProjectExistsError("acme")
    failed = await failure(edge.admin.CreateProject(CreateProjectRequest(project_id="acme")))
    assert (failed.code, failed.reasons) == (Code.ALREADY_EXISTS, ("PROJECT_EXISTS",))

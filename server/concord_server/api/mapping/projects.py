"""Projects and their settings, as the contract has them."""

from __future__ import annotations

from concord.v1 import admin_pb2, admin_service_pb2

from concord_server.api.enums import CONTRADICTION_POLICY, JUDGE_MODE
from concord_server.api.wellknown import optional_timestamp, to_duration, to_timestamp
from concord_server.domain.project_settings import ProjectSettings
from concord_server.domain.projects import Project
from concord_server.domain.queries import Page


def to_project(project: Project) -> admin_pb2.Project:
    """Returns a project."""
    return admin_pb2.Project(
        project_id=project.project_id,
        display_name=project.display_name,
        create_time=to_timestamp(project.create_time),
    )


def to_create_project_response(project: Project) -> admin_service_pb2.CreateProjectResponse:
    """Returns the answer about a new project."""
    return admin_service_pb2.CreateProjectResponse(project=to_project(project))


def to_list_projects_response(page: Page[Project], next_token: str) -> admin_service_pb2.ListProjectsResponse:
    """Returns a page of projects."""
    return admin_service_pb2.ListProjectsResponse(
        projects=[to_project(project) for project in page.items],
        next_page_token=next_token,
        total_size=page.total,
    )


def to_settings(settings: ProjectSettings) -> admin_pb2.ProjectSettings:
    """Returns what is in force: every field is set."""
    thresholds, horizons = settings.thresholds, settings.horizons
    return admin_pb2.ProjectSettings(
        similarity_threshold=thresholds.similarity,
        conflict_threshold=thresholds.conflict,
        merge_probability_threshold=thresholds.merge_probability,
        supersede_probability_threshold=thresholds.supersede_probability,
        contradiction_policy=CONTRADICTION_POLICY.to_proto(settings.contradiction_policy),
        candidate_policy=CONTRADICTION_POLICY.to_proto(settings.candidate_policy),
        judge=JUDGE_MODE.to_proto(settings.judge),
        extraction_prompt=settings.extraction_prompt,
        judge_prompt=settings.judge_prompt,
        observation_prompt=settings.observation_prompt,
        max_facts_per_event=settings.max_facts_per_event,
        max_model_calls_per_run=settings.max_model_calls_per_run,
        daily_token_budget=settings.daily_token_budget,
        volatility_horizons=admin_pb2.VolatilityHorizons(
            slow=to_duration(horizons.slow),
            volatile=to_duration(horizons.volatile),
            ephemeral=to_duration(horizons.ephemeral),
        ),
        update_time=optional_timestamp(settings.update_time),
        etag=settings.etag,
    )


def to_get_settings_response(settings: ProjectSettings) -> admin_service_pb2.GetProjectSettingsResponse:
    """Returns the answer about settings in force."""
    return admin_service_pb2.GetProjectSettingsResponse(settings=to_settings(settings))


def to_update_settings_response(settings: ProjectSettings) -> admin_service_pb2.UpdateProjectSettingsResponse:
    """Returns the answer about changed settings."""
    return admin_service_pb2.UpdateProjectSettingsResponse(settings=to_settings(settings))

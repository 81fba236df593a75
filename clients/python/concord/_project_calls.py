"""The calls of AdminService that are about projects and their settings."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask

from concord import _parse
from concord._call import Call, Rpc
from concord._convert import duration_from_proto
from concord.admin import JudgeMode, Project, ProjectSettings, SettingsChange
from concord.enums import ContradictionPolicy, enum_from_proto, enum_to_proto
from concord.inputs import UNSET
from concord.results import Page
from concord.v1 import admin_pb2
from concord.v1 import admin_service_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["AdminService"]
_CREATE = Rpc.of(_SERVICE, pb.CreateProjectRequest, pb.CreateProjectResponse)
_LIST = Rpc.of(_SERVICE, pb.ListProjectsRequest, pb.ListProjectsResponse)
_GET = Rpc.of(_SERVICE, pb.GetProjectSettingsRequest, pb.GetProjectSettingsResponse)
_UPDATE = Rpc.of(_SERVICE, pb.UpdateProjectSettingsRequest, pb.UpdateProjectSettingsResponse)

_HORIZON = "_horizon"
_ZERO_IS_DEFAULT = frozenset(
    {field.name for field in fields(SettingsChange) if field.name.endswith("_threshold")}
) | {"max_facts_per_event"}
"""Fields of the contract where 0 cannot be told from nothing, and is not what nothing stands for."""


def create_project(
    project_id: str, *, display_name: str = "", request_id: str = "", timeout: float | None = None
) -> Call[Project]:
    """Creates a project; one also comes into being by its first use.

    Args:
        project_id: 1 to 64 lower-case letters, digits, "-" and "_".
        display_name: its name for people.
        request_id: UUID under which the call can be repeated; made here if empty.
        timeout: seconds for all attempts; None means the client's default.

    Raises:
        AlreadyExistsError: there is such a project.
    """
    request = pb.CreateProjectRequest(project_id=project_id, display_name=display_name, request_id=request_id)
    return _CREATE.call(request, lambda response: _parse.required(response, "project", project), timeout=timeout)


def list_projects(
    *, page_size: int = 0, page_token: str = "", timeout: float | None = None
) -> Call[Page[Project]]:
    """Lists projects, newest first."""
    request = pb.ListProjectsRequest(page_size=page_size, page_token=page_token)

    def parse(response: pb.ListProjectsResponse) -> Page[Project]:
        return Page(
            items=_parse.every(response.projects, project),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
        )

    return _LIST.call(request, parse, timeout=timeout)


def get_project_settings(*, timeout: float | None = None) -> Call[ProjectSettings]:
    """Reads what the project goes by."""
    return _GET.call(
        pb.GetProjectSettingsRequest(),
        lambda response: _parse.required(response, "settings", settings),
        timeout=timeout,
    )


def update_project_settings(
    change: SettingsChange, *, etag: str = "", request_id: str = "", timeout: float | None = None
) -> Call[ProjectSettings]:
    """Changes settings. Later decisions go by them, earlier ones stay.

    Args:
        change: what to set, and what to return to its default.
        etag: of the settings as they were read, to refuse a lost update.
        request_id: UUID under which the call can be repeated; made here if empty.
        timeout: seconds for all attempts; None means the client's default.

    Returns:
        What is in force afterwards.

    Raises:
        InvalidArgumentError: a value cannot be, by itself or beside the others.
        AbortedError: the etag is outdated.
        ValueError: nothing is to be changed, or something to 0 that cannot be.
    """
    given = {
        field.name: getattr(change, field.name)
        for field in fields(change)
        if getattr(change, field.name) is not UNSET
    }
    if not given:
        raise ValueError("give at least one setting to change")
    request = pb.UpdateProjectSettingsRequest(
        settings=_settings_to_proto(given),
        update_mask=FieldMask(paths=[_path(name) for name in given]),
        etag=etag,
        request_id=request_id,
    )
    return _UPDATE.call(request, lambda response: _parse.required(response, "settings", settings), timeout=timeout)


def project(given: admin_pb2.Project) -> Project:
    """Parses a project."""
    return Project(
        project_id=given.project_id,
        display_name=given.display_name,
        create_time=_parse.time(given, "create_time"),
    )


def settings(given: admin_pb2.ProjectSettings) -> ProjectSettings:
    """Parses settings."""
    horizons = given.volatility_horizons
    return ProjectSettings(
        similarity_threshold=given.similarity_threshold,
        conflict_threshold=given.conflict_threshold,
        merge_probability_threshold=given.merge_probability_threshold,
        supersede_probability_threshold=given.supersede_probability_threshold,
        contradiction_policy=enum_from_proto(ContradictionPolicy, given.contradiction_policy),
        candidate_policy=enum_from_proto(ContradictionPolicy, given.candidate_policy),
        judge=enum_from_proto(JudgeMode, given.judge),
        extraction_prompt=given.extraction_prompt,
        judge_prompt=given.judge_prompt,
        observation_prompt=given.observation_prompt,
        max_facts_per_event=given.max_facts_per_event,
        max_model_calls_per_run=given.max_model_calls_per_run,
        daily_token_budget=given.daily_token_budget,
        slow_horizon=duration_from_proto(horizons.slow),
        volatile_horizon=duration_from_proto(horizons.volatile),
        ephemeral_horizon=duration_from_proto(horizons.ephemeral),
        update_time=_parse.time(given, "update_time"),
        etag=given.etag,
    )


def _path(name: str) -> str:
    if name.endswith(_HORIZON):
        return f"volatility_horizons.{name.removesuffix(_HORIZON)}"
    return name


def _settings_to_proto(given: dict[str, Any]) -> admin_pb2.ProjectSettings:
    message = admin_pb2.ProjectSettings()
    for name, value in given.items():
        if value is None:
            continue
        if value == 0 and name in _ZERO_IS_DEFAULT:
            raise ValueError(f"{name} cannot be 0; give None for its default")
        if name.endswith(_HORIZON):
            duration = Duration()
            duration.FromTimedelta(value)
            getattr(message.volatility_horizons, name.removesuffix(_HORIZON)).CopyFrom(duration)
        elif isinstance(value, ContradictionPolicy | JudgeMode):
            setattr(message, name, enum_to_proto(value))
        else:
            setattr(message, name, value)
    return message

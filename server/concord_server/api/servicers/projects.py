"""The calls of AdminService that are about projects and their settings."""

from __future__ import annotations

from typing import Any

import grpc
from concord.v1 import admin_service_pb2 as pb

from concord_server.api.authentication import current_call
from concord_server.api.mapping.projects import (
    to_create_project_response,
    to_get_settings_response,
    to_list_projects_response,
    to_update_settings_response,
)
from concord_server.api.parsing.projects import parse_list_projects, parse_new_project, parse_settings_change
from concord_server.api.usecases import UseCases
from concord_server.services.context import Replay

Context = grpc.aio.ServicerContext[Any, Any]


class ProjectsServicer:
    """Creates and lists projects, reads and changes settings; a part of AdminService."""

    _use_cases: UseCases

    async def CreateProject(self, request: pb.CreateProjectRequest, context: Context) -> pb.CreateProjectResponse:
        """Creates a project."""
        idempotency = parse_new_project(
            request, lambda project: to_create_project_response(project).SerializeToString()
        )
        answer = await self._use_cases.admin.create_project.execute(
            current_call(), request.project_id, request.display_name, idempotency
        )
        if isinstance(answer, Replay):
            return pb.CreateProjectResponse.FromString(answer.response)
        return to_create_project_response(answer)

    async def ListProjects(self, request: pb.ListProjectsRequest, context: Context) -> pb.ListProjectsResponse:
        """Lists projects, newest first."""
        caller = current_call()
        query = parse_list_projects(request, caller.project)
        page = await self._use_cases.admin.list_projects.execute(caller, query.after, query.size)
        return to_list_projects_response(page, query.tokens.write(page.next))

    async def GetProjectSettings(
        self, request: pb.GetProjectSettingsRequest, context: Context
    ) -> pb.GetProjectSettingsResponse:
        """Reads the settings of the caller's project."""
        return to_get_settings_response(await self._use_cases.admin.get_project_settings.execute(current_call()))

    async def UpdateProjectSettings(
        self, request: pb.UpdateProjectSettingsRequest, context: Context
    ) -> pb.UpdateProjectSettingsResponse:
        """Changes the settings of the caller's project."""
        change = parse_settings_change(
            request, lambda settings: to_update_settings_response(settings).SerializeToString()
        )
        answer = await self._use_cases.admin.update_project_settings.execute(
            current_call(), change.update, change.etag, change.idempotency
        )
        if isinstance(answer, Replay):
            return pb.UpdateProjectSettingsResponse.FromString(answer.response)
        return to_update_settings_response(answer)

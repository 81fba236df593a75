"""What AdminService needs of the services."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from concord_server.domain.predicate_update import PredicateUpdate
from concord_server.domain.predicates import Predicate
from concord_server.domain.project_settings import ProjectSettings
from concord_server.domain.projects import Project
from concord_server.domain.queries import Cursor, Page
from concord_server.domain.settings_update import SettingsUpdate
from concord_server.services.context import CallContext, Idempotency, Replay


class CreateProject(Protocol):
    """Creates a project."""

    async def execute(
        self, context: CallContext, project_id: str, display_name: str, idempotency: Idempotency[Project] | None, /
    ) -> Project | Replay:
        """Returns the project, or the stored answer of a repeated request."""


class ListProjects(Protocol):
    """Lists projects, newest first."""

    async def execute(self, context: CallContext, after: Cursor | None, size: int, /) -> Page[Project]:
        """Returns a page."""


class GetProjectSettings(Protocol):
    """Reads a project's settings."""

    async def execute(self, context: CallContext, /) -> ProjectSettings:
        """Returns what is in force."""


class UpdateProjectSettings(Protocol):
    """Changes a project's settings."""

    async def execute(
        self,
        context: CallContext,
        update: SettingsUpdate,
        etag: str,
        idempotency: Idempotency[ProjectSettings] | None,
        /,
    ) -> ProjectSettings | Replay:
        """Returns what is in force afterwards, or the stored answer of a repeated request."""


class ListPredicates(Protocol):
    """Lists predicates by name."""

    async def execute(
        self, context: CallContext, only_suggested: bool, after: Cursor | None, size: int, /
    ) -> Page[Predicate]:
        """Returns a page."""


class UpdatePredicate(Protocol):
    """Changes a predicate."""

    async def execute(
        self,
        context: CallContext,
        update: PredicateUpdate,
        etag: str,
        idempotency: Idempotency[Predicate] | None,
        /,
    ) -> Predicate | Replay:
        """Returns the predicate afterwards, or the stored answer of a repeated request."""


@dataclass(frozen=True, slots=True)
class AdminUseCases:
    """What AdminService calls."""

    create_project: CreateProject
    list_projects: ListProjects
    get_project_settings: GetProjectSettings
    update_project_settings: UpdateProjectSettings
    list_predicates: ListPredicates
    update_predicate: UpdatePredicate

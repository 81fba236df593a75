"""The port behind which projects are known."""

from __future__ import annotations

from typing import Protocol

from concord_server.domain.projects import Project
from concord_server.domain.queries import Cursor, Page


class ProjectRepository(Protocol):
    """Every project, whichever a session is about: its methods alone see more than one."""

    async def exists(self, project_id: str) -> bool:
        """Tells whether there is such a project."""

    async def add(self, project: Project) -> Project | None:
        """Adds a project; ``None`` when it exists. Write sessions only."""

    async def rename(self, project: Project) -> Project:
        """Gives an existing project its name for people. Write sessions only."""

    async def list(self, *, after: Cursor | None, size: int) -> Page[Project]:
        """Returns a page of projects, newest first.

        Raises:
            InvalidPageTokenError: ``after`` is not a position in this list.
        """

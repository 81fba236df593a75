"""The port behind which projects' settings are read where decisions are made."""

from __future__ import annotations

from typing import Protocol

from concord_server.domain.project_settings import ProjectSettings


class SettingsOfProjects(Protocol):
    """Reads settings; may be a few seconds behind a change made elsewhere."""

    async def of(self, project: str) -> ProjectSettings:
        """Returns the project's settings, the defaults where it has set nothing. No transaction need be open.

        Raises:
            UnavailableError: the database cannot be reached.
        """


class DefaultSettings:
    """Every project has the defaults."""

    async def of(self, project: str) -> ProjectSettings:
        """Returns the defaults."""
        return ProjectSettings()

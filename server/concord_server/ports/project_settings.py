"""The ports behind which projects' settings are kept, and read where decisions are made."""

from __future__ import annotations

from typing import Protocol

from concord_server.domain.project_settings import OwnSettings, ProjectSettings


class SettingsOfProjects(Protocol):
    """Reads settings; may be a few seconds behind a change made elsewhere."""

    async def of(self, project: str) -> ProjectSettings:
        """Returns the project's settings, the defaults where it has set nothing.

        Call it while no session is open: it may open one of its own.

        Raises:
            UnavailableError: the database cannot be reached.
        """


class DefaultSettings:
    """Every project has the defaults."""

    async def of(self, project: str) -> ProjectSettings:
        """Returns the defaults."""
        return ProjectSettings()


class SettingsRepository(Protocol):
    """What one project has set for itself."""

    async def get(self) -> OwnSettings:
        """Returns what is set, nothing in a project that never set anything."""

    async def lock(self) -> OwnSettings:
        """Does as :meth:`get`, and keeps others from changing it until the session ends. Write sessions only."""

    async def save(self, settings: OwnSettings) -> None:
        """Stores what is set. Write sessions only, after :meth:`lock`."""

"""Creating and listing projects."""

from __future__ import annotations

from concord_server.domain.commands import Violations
from concord_server.domain.errors import ProjectExistsError
from concord_server.domain.projects import Project, validate_new_project
from concord_server.domain.queries import Cursor, Page
from concord_server.ports.clock import Clock
from concord_server.ports.ledger import Ledger, WriteSession
from concord_server.services import idempotency as repeats
from concord_server.services.context import CallContext, Idempotency, Replay


class CreateProject:
    """Creates projects."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def execute(
        self,
        context: CallContext,
        project_id: str,
        display_name: str,
        idempotency: Idempotency[Project] | None = None,
    ) -> Project | Replay:
        """Returns the new project. The request id is one of the caller's project.

        Raises:
            InvalidFieldsError: the project cannot have such a name.
            ProjectExistsError: it exists already, be it by its first use.
        """
        found = Violations()
        validate_new_project(project_id, display_name, found)
        found.raise_if_any()
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        async with self._ledger.read(context.project) as reader:
            if await reader.projects.exists(project_id):
                raise ProjectExistsError(project_id)
        project = Project(project_id, display_name, self._clock.now())
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, project.create_time)
            if known is not None:
                return known
            created = await _created(session, project, own=project_id == context.project)
            await repeats.complete(session, idempotency, created, [])
        return created


async def _created(session: WriteSession, project: Project, *, own: bool) -> Project:
    """Adds the project; ``own`` when it is the caller's, which the session itself has brought into being."""
    if own:
        return await session.projects.rename(project)
    added = await session.projects.add(project)
    if added is None:
        raise ProjectExistsError(project.project_id)
    return added


class ListProjects:
    """Lists every project."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(self, context: CallContext, after: Cursor | None, size: int) -> Page[Project]:
        """Returns a page, newest first."""
        async with self._ledger.read(context.project) as session:
            return await session.projects.list(after=after, size=size)

"""Projects: which there are."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Integer, Row, Text, bindparam, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from concord_server.domain.errors import InvalidPageTokenError
from concord_server.domain.projects import Project
from concord_server.domain.queries import Cursor, Page
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.statements import SessionContext
from concord_server.storage.tables import projects

_NO_ID = UUID(int=0)
_SEPARATOR = " "
"""Between time and name in a cursor; a time has none."""

_FIELDS = (projects.c.project_id, projects.c.display_name, projects.c.create_time)
_NAMED = projects.c.project_id == bindparam("named", type_=Text)
_EXISTS = select(select(projects.c.project_id).where(_NAMED).exists())
_ADD = insert(projects).on_conflict_do_nothing().returning(*_FIELDS)
_RENAME = update(projects).where(_NAMED).values(display_name=bindparam("shown")).returning(*_FIELDS)
_COUNT = select(func.count()).select_from(projects)
_POSITION = tuple_(projects.c.create_time, projects.c.project_id)
_PAGE = (
    select(*_FIELDS)
    .order_by(projects.c.create_time.desc(), projects.c.project_id.desc())
    .limit(bindparam("rows", type_=Integer))
)
_FURTHER = _PAGE.where(tuple_(bindparam("time", type_=TIMESTAMP), bindparam("last", type_=Text)) > _POSITION)


class PostgresProjects:
    """Implements :class:`~concord_server.ports.projects.ProjectRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def exists(self, project_id: str) -> bool:
        """Tells whether there is such a project."""
        return bool((await self._context.statements.execute(_EXISTS, {"named": project_id})).scalar_one())

    async def add(self, project: Project) -> Project | None:
        """Adds a project; ``None`` when it exists."""
        values = {
            "project_id": project.project_id,
            "display_name": project.display_name,
            "change_sequence": 0,
            "create_time": project.create_time,
        }
        row = await self._context.statements.first(_ADD, values)
        return None if row is None else _project(row)

    async def rename(self, project: Project) -> Project:
        """Gives an existing project its name for people."""
        values = {"named": project.project_id, "shown": project.display_name}
        return _project((await self._context.statements.execute(_RENAME, values)).one())

    async def list(self, *, after: Cursor | None, size: int) -> Page[Project]:
        """Returns a page of projects, newest first.

        Raises:
            InvalidPageTokenError: ``after`` is not a position in this list.
        """
        total = (await self._context.statements.execute(_COUNT)).scalar_one()
        parameters: dict[str, Any] = {"rows": size + 1}
        if after is not None:
            parameters |= _last(after)
        rows = await self._context.statements.rows(_PAGE if after is None else _FURTHER, parameters)
        items = [_project(row) for row in rows[:size]]
        return Page(items, _cursor(items[-1]) if len(rows) > size else None, total)


def _project(row: Row[Any]) -> Project:
    return Project(row.project_id, row.display_name, row.create_time)


def _cursor(project: Project) -> Cursor:
    return Cursor(f"{project.create_time.isoformat()}{_SEPARATOR}{project.project_id}", _NO_ID)


def _last(after: Cursor) -> dict[str, Any]:
    time, _, project_id = after.value.partition(_SEPARATOR)
    try:
        return {"time": datetime.fromisoformat(time), "last": project_id}
    except ValueError:
        raise InvalidPageTokenError.of("page_token", "is not a position in this list") from None

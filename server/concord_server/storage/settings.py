"""What projects have set for themselves."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert

from concord_server.domain.enums import ContradictionPolicy
from concord_server.domain.project_settings import NOTHING_SET, SETTABLE, JudgeMode, OwnSettings
from concord_server.storage.settings_tables import project_settings
from concord_server.storage.statements import PROJECT, SessionContext

_THIS = project_settings.c.project_id == PROJECT
_NAMES = (*sorted(SETTABLE), "update_time", "revision")
_GET = select(*(project_settings.c[name] for name in _NAMES)).where(_THIS)
_BEGIN = insert(project_settings).on_conflict_do_nothing()
_SAVE = update(project_settings).where(_THIS).values({name: bindparam(f"new_{name}") for name in _NAMES})


class PostgresSettings:
    """Implements :class:`~concord_server.ports.project_settings.SettingsRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def get(self) -> OwnSettings:
        """Returns what is set, nothing in a project that never set anything."""
        row = await self._context.statements.first(_GET, {"project": self._context.project})
        return _own(row) if row else NOTHING_SET

    async def lock(self) -> OwnSettings:
        """Does as :meth:`get`, and keeps others from changing it until the session ends."""
        # The first change needs a row to lock, too.
        await self._context.statements.execute(_BEGIN, {"project_id": self._context.project, "revision": 0})
        row = await self._context.statements.first(_GET.with_for_update(), {"project": self._context.project})
        return _own(row) if row else NOTHING_SET

    async def save(self, settings: OwnSettings) -> None:
        """Stores what is set."""
        values = {f"new_{name}": getattr(settings, name) for name in _NAMES}
        await self._context.statements.execute(_SAVE, {"project": self._context.project, **values})


def _own(row: Row[Any]) -> OwnSettings:
    values = dict(row._mapping)
    for name, vocabulary in (
        ("contradiction_policy", ContradictionPolicy),
        ("candidate_policy", ContradictionPolicy),
        ("judge", JudgeMode),
    ):
        values[name] = None if values[name] is None else vocabulary(values[name])
    return OwnSettings(**values)

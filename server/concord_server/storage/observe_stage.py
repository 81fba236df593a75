"""The stage OBSERVE of a run: when it begins, with which facts, and when it is over."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Executable, Row, and_, exists, insert, or_, update
from sqlalchemy.dialects.postgresql import insert as upsert

from concord_server.domain.enums import RunStage
from concord_server.domain.observations import Group
from concord_server.domain.runs import Run, RunScope
from concord_server.storage.event_tables import runs
from concord_server.storage.fact_tables import fact_subjects, facts
from concord_server.storage.observation_tables import observation_groups, run_facts
from concord_server.storage.observe_statements import IN_HAND, LEAVE, LEFT, pending_facts
from concord_server.storage.statements import SessionContext

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""When a group that no worker has had was last worked."""

_ROWS = 5_000
"""How many rows are stored at once."""


class ObserveStage:
    """The stage OBSERVE within the session that holds the run's row."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def in_hand(self, run_id: UUID) -> int:
        """Returns how many groups workers have in hand for a run."""
        count: int = (await self._execute(IN_HAND, run=run_id)).scalar_one()
        return count

    async def is_over(self, run: Run, *, begun: bool) -> bool:
        """Tells whether nothing is left of the stage; begins it where it has not begun."""
        if RunStage.OBSERVE not in run.scope.stages:
            return True
        assert run.run_id is not None
        if not begun:
            return await self._begin(run.run_id, run.scope) == 0
        return not (await self._execute(LEFT, run=run.run_id)).scalar_one()

    async def leave(self, run_id: UUID) -> int:
        """Takes what is left of the stage off a run that is over; returns how many facts."""
        left: int = (await self._execute(LEAVE, run=run_id)).rowcount
        return left

    async def count(self, scope: RunScope) -> int:
        """Returns how many facts the stage would have before it if it began now."""
        return len(await self._pending(scope))

    async def _begin(self, run_id: UUID, scope: RunScope) -> int:
        """Puts the pending facts within a scope before the run, and returns how many."""
        rows = await self._pending(scope)
        groups = {Group(r.access_scope, r.domain, r.owner_type, r.owner_id, tuple(sorted(r.tags))) for r in rows}
        ids = {group: group.group_id for group in groups}
        await self._add_groups(ids)
        before = [
            {
                "project_id": self._context.project,
                "run_id": run_id,
                "fact_id": row.fact_id,
                "group_id": ids[
                    Group(row.access_scope, row.domain, row.owner_type, row.owner_id, tuple(sorted(row.tags)))
                ],
                "fact_time": row.valid_from,
            }
            for row in rows
        ]
        for start in range(0, len(before), _ROWS):
            await self._context.statements.execute(insert(run_facts), before[start : start + _ROWS])
        begun = update(runs).where(runs.c.project_id == self._context.project, runs.c.run_id == run_id)
        await self._context.statements.execute(begun.values(observing=True, observe_total=len(rows)))
        return len(rows)

    async def _add_groups(self, ids: dict[Group, UUID]) -> None:
        rows = [
            {
                "project_id": self._context.project,
                "group_id": group_id,
                "access_scope": group.access_scope,
                "domain": group.domain,
                "owner_type": group.owner_type,
                "owner_id": group.owner_id,
                "tags": list(group.tags),
                "turn_time": _NEVER,
            }
            for group, group_id in sorted(ids.items(), key=lambda pair: pair[1])
        ]
        for start in range(0, len(rows), _ROWS):
            statement = upsert(observation_groups).on_conflict_do_nothing()
            await self._context.statements.execute(statement, rows[start : start + _ROWS])

    async def _pending(self, scope: RunScope) -> list[Row[Any]]:
        statement = pending_facts()
        if scope.domain:
            statement = statement.where(facts.c.domain == scope.domain)
        if scope.subject is not None:
            linked = exists().where(
                fact_subjects.c.project_id == facts.c.project_id,
                fact_subjects.c.fact_id == facts.c.fact_id,
                fact_subjects.c.entity_type == scope.subject.entity_type,
                fact_subjects.c.entity_id == scope.subject.entity_id,
            )
            owned = and_(
                facts.c.owner_type == scope.subject.entity_type, facts.c.owner_id == scope.subject.entity_id
            )
            statement = statement.where(or_(owned, linked))
        return list(await self._context.statements.rows(statement, {"project": self._context.project}))

    async def _execute(self, statement: Executable, **parameters: object) -> Any:  # noqa: ANN401 - a result of rows
        return await self._context.statements.execute(statement, {"project": self._context.project, **parameters})

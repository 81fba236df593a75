"""Reading the change log, and cutting off its old end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Delete,
    Integer,
    Row,
    Select,
    Text,
    and_,
    bindparam,
    delete,
    func,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.domain.enums import FactChange
from concord_server.domain.model import Fact
from concord_server.domain.watching import ChangePage, EntityName, LogBounds, RecordedChange
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.fact_rows import fact_from_row, version_columns
from concord_server.storage.fact_tables import fact_versions
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import change_log, entity_aliases, projects

_FIRST = select(func.min(change_log.c.sequence)).where(change_log.c.project_id == PROJECT).scalar_subquery()
_BOUNDS = select(projects.c.change_sequence.label("last"), _FIRST.label("first")).where(
    projects.c.project_id == PROJECT
)


def _page() -> Select[Any]:
    """The next entries with what they recorded, beside the bounds of the log: all of it as of one moment.

    Were the bounds read apart, changes could be pruned in between and passed over silently.
    """
    log, versions = change_log.c, fact_versions.c
    recorded = and_(
        versions.project_id == log.project_id,
        versions.fact_id == log.fact_id,
        versions.version == log.fact_version,
    )
    entries = (
        select(
            log.sequence,
            log.change.label("logged_change"),
            log.time.label("logged_time"),
            *version_columns(),
        )
        .select_from(change_log.join(fact_versions, recorded))
        .where(log.project_id == PROJECT, log.sequence > bindparam("after", type_=BigInteger))
        .order_by(log.sequence)
        .limit(bindparam("rows", type_=Integer))
        .subquery("entries")
    )
    bounds = _BOUNDS.subquery("bounds")
    return (
        select(bounds.c.last, bounds.c.first, *entries.c)
        .select_from(bounds.outerjoin(entries, true()))
        .order_by(entries.c.sequence)
    )


def _names() -> Select[Any]:
    """Every further id of given entities: what they were merged into, and what was merged into the same."""
    asked = (
        func.unnest(bindparam("types", type_=ARRAY(Text)), bindparam("ids", type_=ARRAY(Text)))
        .table_valued("type", "id", name="asked")
        .render_derived()
    )
    own, others = entity_aliases.alias("own"), entity_aliases.alias("others")
    merged = and_(own.c.project_id == PROJECT, own.c.entity_type == asked.c.type, own.c.entity_id == asked.c.id)
    canonical = func.coalesce(own.c.into_id, asked.c.id)
    same = and_(
        others.c.project_id == PROJECT, others.c.entity_type == asked.c.type, others.c.into_id == canonical
    )
    return (
        select(asked.c.type, asked.c.id, own.c.into_id, others.c.entity_id.label("other_id"))
        .select_from(asked.outerjoin(own, merged).outerjoin(others, same))
        .where(or_(own.c.into_id.is_not(None), others.c.entity_id.is_not(None)))
    )


def _prune() -> Delete:
    log = change_log.c
    oldest = (
        select(log.sequence, log.time)
        .where(log.project_id == PROJECT)
        .order_by(log.sequence)
        .limit(bindparam("rows", type_=Integer))
        .cte("oldest")
    )
    # Times are those of the transactions' starts and need not be in order, but what is left must have no holes.
    kept = (
        select(func.min(oldest.c.sequence))
        .where(oldest.c.time >= bindparam("before", type_=TIMESTAMP))
        .scalar_subquery()
    )
    gone = select(oldest.c.sequence).where(or_(kept.is_(None), oldest.c.sequence < kept))
    return delete(change_log).where(log.project_id == PROJECT, log.sequence.in_(gone))


_PAGE = _page()
_NAMES = _names()
_PRUNE = _prune()


class PostgresChangeLog:
    """Implements :class:`~concord_server.ports.watch.ChangeLogRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def bounds(self) -> LogBounds:
        """Returns what is left of the log."""
        row = await self._context.statements.first(_BOUNDS, {"project": self._context.project})
        return LogBounds(0, 0) if row is None else _bounds(row)

    async def page(self, after: int, size: int) -> ChangePage:
        """Returns the next changes after a sequence, oldest first.

        Raises:
            SequenceNotKeptError: changes after ``after`` are no longer kept, or the log never came that far.
        """
        parameters = {"project": self._context.project, "after": after, "rows": size}
        rows = await self._context.statements.rows(_PAGE, parameters)
        (_bounds(rows[0]) if rows else LogBounds(0, 0)).require(after)
        entries = [(row, fact_from_row(row)) for row in rows if row.sequence is not None]
        names = await self._names({name for _, fact in entries for name in _entities(fact)})
        changes = [_change(row, fact, names) for row, fact in entries]
        through = changes[-1].sequence if changes else after
        return ChangePage(changes, through, complete=len(changes) < size)

    async def prune(self, before: datetime, *, limit: int = 10_000) -> int:
        """Deletes the oldest changes, up to the first one recorded at ``before`` or later; returns how many."""
        parameters = {"project": self._context.project, "before": before, "rows": limit}
        return (await self._context.statements.execute(_PRUNE, parameters)).rowcount

    async def _names(self, entities: set[EntityName]) -> Mapping[EntityName, set[EntityName]]:
        """Returns the further names of those entities that have any."""
        if not entities:
            return {}
        asked = list(entities)
        parameters = {
            "project": self._context.project,
            "types": [entity_type for entity_type, _ in asked],
            "ids": [entity_id for _, entity_id in asked],
        }
        found: dict[EntityName, set[EntityName]] = {}
        for row in await self._context.statements.rows(_NAMES, parameters):
            further = found.setdefault((row.type, row.id), set())
            further |= {(row.type, name) for name in (row.into_id, row.other_id) if name is not None}
        return found


def _bounds(row: Row[Any]) -> LogBounds:
    return LogBounds(pruned=row.last if row.first is None else row.first - 1, last=row.last)


def _entities(fact: Fact) -> Sequence[EntityName]:
    owner = fact.partition.owner
    linked = [*fact.subjects, *([] if owner is None else [owner])]
    return [(entity.entity_type, entity.entity_id) for entity in linked]


def _change(row: Row[Any], fact: Fact, names: Mapping[EntityName, set[EntityName]]) -> RecordedChange:
    own = _entities(fact)
    return RecordedChange(
        sequence=row.sequence,
        change=FactChange(row.logged_change),
        fact=fact,
        time=row.logged_time,
        entities=frozenset(own).union(*(names.get(name, ()) for name in own)),
    )

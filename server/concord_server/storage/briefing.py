"""Facts ranked by how noteworthy they are, and counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Double,
    Executable,
    Integer,
    Row,
    Table,
    Uuid,
    any_,
    bindparam,
    case,
    cast,
    func,
    literal,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.domain.confidence import SourceStatistics
from concord_server.domain.enums import FactChange, FactStatus, FactType
from concord_server.domain.errors import InvalidPageTokenError
from concord_server.domain.model import Fact, FactVersion
from concord_server.domain.noteworthiness import (
    CONFIDENCE_WEIGHT,
    ENOUGH_SOURCES,
    FADED,
    FADING,
    RECENCY_WEIGHT,
    SOURCE_WEIGHT,
)
from concord_server.domain.queries import CurrentRead, Cursor, FactFilter, Page
from concord_server.ports.briefing import FactCounts
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.fact_queries import Shape, conditions_of, count_of, parameters_of, shape_of
from concord_server.storage.fact_rows import fact_from_row, version_columns
from concord_server.storage.fact_tables import fact_versions, facts, sources
from concord_server.storage.statements import PROJECT, SessionContext


class PostgresBriefings:
    """Implements :class:`~concord_server.ports.briefing.BriefingRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def ranked(
        self,
        where: FactFilter,
        current: CurrentRead | None,
        *,
        now: datetime,
        after: Cursor | None,
        size: int,
        active_first: bool = True,
    ) -> tuple[Page[Fact], datetime]:
        """Returns a page of facts by noteworthiness, then id, and the time that the ranking is as of.

        Raises:
            InvalidPageTokenError: ``after`` is not a position in such a list.
        """
        position = None if after is None else _position(after)
        if position is not None:
            now = position[0]
        shape = shape_of(where, current)
        parameters = parameters_of(self._context.project, where, current) | {"now": now, "limit": size + 1}
        total = (await self._context.statements.execute(count_of(shape), parameters)).scalar_one()
        if position is not None:
            _, rank, score, last_id = position
            parameters |= {"last_rank": rank, "last_score": -score, "last_id": last_id}
        query = _ranked(shape, active_first=active_first, goes_on=position is not None)
        rows = await self._context.statements.rows(query, parameters)
        items = [fact_from_row(row) for row in rows[:size]]
        following = _cursor(rows[size - 1], now) if len(rows) > size else None
        return Page(items, following, total), now

    async def counts(self, where: FactFilter) -> FactCounts:
        """Returns how many facts pass a filter, by type and by status."""
        by_type: Counter[FactType] = Counter()
        by_status: Counter[FactStatus] = Counter()
        parameters = parameters_of(self._context.project, where)
        for row in await self._context.statements.rows(_counts(shape_of(where)), parameters):
            by_type[FactType(row.type)] += row.number
            by_status[FactStatus(row.status)] += row.number
        return FactCounts(by_type, by_status)

    async def latest_changes(self, where: FactFilter, since: datetime, size: int) -> Sequence[FactVersion]:
        """Returns the facts that changed last, each by its newest version, newest first."""
        parameters = parameters_of(self._context.project, where) | {"since": since, "limit": size}
        rows = await self._context.statements.rows(_latest(shape_of(where)), parameters)
        return [_version(row) for row in rows]

    async def source_statistics(self, fact_ids: Sequence[UUID]) -> Mapping[UUID, SourceStatistics]:
        """Returns what confidence needs of the sources of each fact; facts without sources are absent."""
        if not fact_ids:
            return {}
        parameters = {"project": self._context.project, "facts": list(fact_ids)}
        rows = await self._context.statements.rows(_STATISTICS, parameters)
        return {row.fact_id: SourceStatistics(tuple(row.credibilities), row.newest_time) for row in rows}


@lru_cache(maxsize=256)
def _ranked(shape: Shape, *, active_first: bool, goes_on: bool) -> Executable:
    table = shape.table
    later: ColumnElement[int] = literal(0, Integer())
    if active_first:
        later = case((table.c.status == FactStatus.ACTIVE.value, 0), else_=1)
    score = _score(table)
    query = select(*shape.columns, later.label("ranked_later"), score.label("score")).where(*conditions_of(shape))
    if goes_on:
        last = tuple_(
            bindparam("last_rank", type_=Integer),
            bindparam("last_score", type_=Double),
            bindparam("last_id", type_=Uuid),
        )
        query = query.where(tuple_(later, -score, table.c.fact_id) > last)
    return query.order_by(later, score.desc(), table.c.fact_id).limit(bindparam("limit", type_=Integer))


@lru_cache(maxsize=256)
def _counts(shape: Shape) -> Executable:
    kind, status = shape.table.c.type, shape.table.c.status
    return select(kind, status, func.count().label("number")).where(*conditions_of(shape)).group_by(kind, status)


@lru_cache(maxsize=256)
def _latest(shape: Shape) -> Executable:
    versions = fact_versions.c
    changed = (versions.change, versions.actor, versions.reason, versions.recorded_from, versions.recorded_to)
    query = select(*version_columns(), *changed)
    if not shape.known_at:
        newest = (
            (versions.project_id == facts.c.project_id)
            & (versions.fact_id == facts.c.fact_id)
            & (versions.version == facts.c.version)
        )
        query = query.select_from(facts.join(fact_versions, newest))
    return (
        query.where(*conditions_of(shape), versions.recorded_from >= bindparam("since", type_=TIMESTAMP))
        .order_by(versions.recorded_from.desc(), versions.fact_id.desc())
        .limit(bindparam("limit", type_=Integer))
    )


def _score(table: Table) -> ColumnElement[float]:
    """Returns how noteworthy a row is, as :func:`~concord_server.domain.noteworthiness.noteworthiness` says."""
    now: BindParameter[datetime] = bindparam("now", type_=TIMESTAMP)
    age = func.extract("epoch", now - table.c.last_reinforce_time)
    fadings = cast(func.greatest(age, 0), Double()) / literal(FADING.total_seconds(), Double())
    faded = func.least(fadings, literal(FADED, Double()))
    sources_part = func.least(cast(table.c.source_count, Double()) / literal(float(ENOUGH_SOURCES), Double()), 1.0)
    return (
        literal(CONFIDENCE_WEIGHT, Double()) * table.c.confidence
        + literal(SOURCE_WEIGHT, Double()) * sources_part
        + literal(RECENCY_WEIGHT, Double()) * func.exp(-faded)
    )


def _cursor(row: Row[Any], now: datetime) -> Cursor:
    return Cursor(json.dumps([now.isoformat(), row.ranked_later, row.score]), row.fact_id)


def _position(after: Cursor) -> tuple[datetime, int, float, UUID]:
    try:
        moment, rank, score = json.loads(after.value)
        return datetime.fromisoformat(moment), int(rank), float(score), after.last_id
    except (ValueError, TypeError):
        raise InvalidPageTokenError.of("page_token", "belongs to another list") from None


def _version(row: Row[Any]) -> FactVersion:
    return FactVersion(
        fact=fact_from_row(row),
        change=FactChange(row.change),
        actor=row.actor,
        reason=row.reason,
        recorded_from=row.recorded_from,
        recorded_to=row.recorded_to,
    )


_STATISTICS = (
    select(
        sources.c.fact_id,
        func.array_agg(sources.c.credibility).label("credibilities"),
        func.max(sources.c.extract_time).label("newest_time"),
    )
    .where(sources.c.project_id == PROJECT, sources.c.fact_id == any_(bindparam("facts", type_=ARRAY(Uuid))))
    .group_by(sources.c.fact_id)
)

"""Observations as they are read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Double,
    Integer,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    cast,
    exists,
    func,
    literal,
    or_,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.domain.enums import ObservationState
from concord_server.domain.errors import InvalidPageTokenError
from concord_server.domain.observations import FoundObservation, Observation, ObservationFilter, ObservationVersion
from concord_server.domain.queries import Cursor, Page
from concord_server.ports.embedder import Vector
from concord_server.storage.columns import EMBEDDING, TIMESTAMP
from concord_server.storage.fact_tables import fact_subjects
from concord_server.storage.observation_rows import (
    SELECT_OBSERVATIONS,
    SELECT_VERSIONS,
    SUPPORT,
    observation_from_row,
    version_from_row,
)
from concord_server.storage.observation_tables import (
    observation_groups,
    observation_sources,
    observation_versions,
    observations,
)
from concord_server.storage.statements import PROJECT, SessionContext

_OBSERVATIONS = SELECT_OBSERVATIONS.where(observations.c.project_id == PROJECT)
_GET_MANY = _OBSERVATIONS.where(observations.c.observation_id == any_(bindparam("ids", type_=ARRAY(Uuid))))
_OF_VERSIONS = (
    SELECT_VERSIONS.where(
        observations.c.project_id == PROJECT,
        observations.c.observation_id == bindparam("observation", type_=Uuid),
        observation_versions.c.version > bindparam("after", type_=Integer),
    )
    .order_by(observation_versions.c.version)
    .limit(bindparam("size", type_=Integer))
)
_COUNT_VERSIONS = select(func.count()).where(
    observation_versions.c.project_id == PROJECT,
    observation_versions.c.observation_id == bindparam("observation", type_=Uuid),
)
_FIELDS: dict[str, ColumnElement[Any]] = {
    "create_time": observations.c.create_time,
    "update_time": observations.c.update_time,
    "proof_count": SUPPORT.c.proof_count,
}
_OVERFETCH = 2
"""How many times more rows than asked for are taken from the index, to put them in order exactly."""


class PostgresObservations:
    """Implements :class:`~concord_server.ports.observations.ObservationRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def get(self, observation_id: UUID) -> Observation | None:
        """Returns the observation."""
        found = await self.get_many([observation_id])
        return found[0] if found else None

    async def get_many(self, observation_ids: Sequence[UUID]) -> list[Observation]:
        """Returns the observations that exist, in the order asked for."""
        if not observation_ids:
            return []
        parameters = {"project": self._context.project, "ids": list(observation_ids)}
        rows = await self._context.statements.rows(_GET_MANY, parameters)
        found = {row.observation_id: observation_from_row(row) for row in rows}
        return [found[each] for each in observation_ids if each in found]

    async def list(
        self, where: ObservationFilter, field: str, *, descending: bool, after: Cursor | None, size: int
    ) -> Page[Observation]:
        """Returns a page by ``create_time``, ``update_time`` or ``proof_count``, then id.

        Raises:
            InvalidPageTokenError: ``after`` is not a position in this list.
        """
        matching = SELECT_OBSERVATIONS.where(*_conditions(self._context.project, where))
        counted = select(func.count()).select_from(matching.subquery())
        total = (await self._context.statements.execute(counted)).scalar_one()
        here = (_FIELDS[field], observations.c.observation_id)
        query = matching
        if after is not None:
            last = tuple_(_position(field, after), literal(after.last_id, Uuid()))
            query = query.where(tuple_(*here) < last if descending else tuple_(*here) > last)
        ordered = query.order_by(*(each.desc() if descending else each.asc() for each in here)).limit(size + 1)
        rows = await self._context.statements.rows(ordered)
        items = [observation_from_row(row) for row in rows[:size]]
        following = None
        if len(rows) > size:
            value = getattr(items[-1], field)
            shown = value.isoformat() if isinstance(value, datetime) else str(value)
            following = Cursor(shown, items[-1].observation_id)
        return Page(items, following, total)

    async def versions(self, observation_id: UUID, *, after: int, size: int) -> Page[ObservationVersion]:
        """Returns a page of the states that were on record, oldest first, after a version."""
        parameters: dict[str, Any] = {"project": self._context.project, "observation": observation_id}
        total = (await self._context.statements.execute(_COUNT_VERSIONS, parameters)).scalar_one()
        parameters |= {"after": after, "size": size + 1}
        rows = await self._context.statements.rows(_OF_VERSIONS, parameters)
        items = [version_from_row(row) for row in rows[:size]]
        following = None
        if len(rows) > size:
            following = Cursor(str(items[-1].observation.version), observation_id)
        return Page(items, following, total)

    async def similar(
        self, where: ObservationFilter, vector: Vector, *, min_similarity: float, limit: int
    ) -> Sequence[FoundObservation]:
        """Returns the observations nearest to a vector, best first."""
        distance: ColumnElement[float] = observations.c.embedding.op("<=>", return_type=Double())(
            literal(vector, EMBEDDING)
        )
        nearest = (
            select(observations.c.observation_id, (1 - distance).label("similarity"))
            .join(observation_groups, _SAME_GROUP)
            .where(*_conditions(self._context.project, where), observations.c.embedding.is_not(None))
            .order_by(distance)
            .limit(limit * _OVERFETCH)
        )
        rows = await self._context.statements.rows(nearest)
        by_id = {row.observation_id: max(min(row.similarity, 1.0), -1.0) for row in rows}
        found = await self.get_many(list(by_id))
        hits = [FoundObservation(each, by_id[each.observation_id]) for each in found]
        near = [hit for hit in hits if hit.similarity >= min_similarity]
        return sorted(near, key=lambda hit: (-hit.similarity, hit.observation.observation_id))[:limit]


_SAME_GROUP = and_(
    observation_groups.c.project_id == observations.c.project_id,
    observation_groups.c.group_id == observations.c.group_id,
)


def _conditions(project: str, where: ObservationFilter) -> list[ColumnElement[bool]]:
    states = where.states or (ObservationState.ACTIVE,)
    conditions: list[ColumnElement[bool]] = [
        observations.c.project_id == project,
        observations.c.state.in_([state.value for state in states])
        if len(states) > 1
        else observations.c.state == states[0].value,
    ]
    if where.domain is not None:
        conditions.append(observation_groups.c.domain == where.domain)
    if where.access_scope is not None:
        conditions.append(observation_groups.c.access_scope == where.access_scope)
    if where.tags:
        conditions.append(observation_groups.c.tags.contains(cast(list(where.tags), ARRAY(Text))))
    if where.subject is not None:
        subject = where.subject
        owned = and_(
            observation_groups.c.owner_type == subject.entity_type,
            observation_groups.c.owner_id == subject.entity_id,
        )
        linked = exists(_linked(subject.entity_type, subject.entity_id))
        conditions.append(or_(owned, linked))
    return conditions


def _linked(entity_type: str, entity_id: str) -> Select[Any]:
    """Returns the facts linked to an entity that an observation rests on."""
    rows, links = observation_sources.c, fact_subjects.c
    same = and_(links.project_id == rows.project_id, links.fact_id == rows.fact_id)
    return (
        select(rows.fact_id)
        .select_from(observation_sources.join(fact_subjects, same))
        .where(
            rows.project_id == observations.c.project_id,
            rows.observation_id == observations.c.observation_id,
            rows.detach_version.is_(None),
            links.entity_type == entity_type,
            links.entity_id == entity_id,
        )
        .correlate(observations)
    )


def _position(field: str, after: Cursor) -> ColumnElement[Any]:
    try:
        if field == "proof_count":
            return literal(int(after.value), Integer())
        moment = datetime.fromisoformat(after.value)
    except ValueError:
        raise InvalidPageTokenError.of("page_token", "belongs to another order") from None
    return literal(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC), TIMESTAMP)

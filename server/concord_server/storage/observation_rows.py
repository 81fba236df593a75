"""Observations to rows and back; what supports them is read from their source rows each time."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, FromClause, Integer, Row, Select, and_, func, or_, select, true
from sqlalchemy.dialects.postgresql import aggregate_order_by

from concord_server.domain.enums import ObservationAction, ObservationState
from concord_server.domain.observations import Group, Observation, ObservationVersion, Support
from concord_server.storage.fact_tables import facts
from concord_server.storage.observation_tables import (
    observation_groups,
    observation_sources,
    observation_versions,
    observations,
)

GROUP_COLUMNS = ("access_scope", "domain", "owner_type", "owner_id", "tags")


def _support(owner: Any, at_version: ColumnElement[int] | None) -> Any:  # noqa: ANN401 - tables, as SQLAlchemy types them
    """Returns the facts that an observation rests on, now or at one of its versions, as a lateral row."""
    rows = observation_sources.c
    attached: ColumnElement[bool] = rows.detach_version.is_(None)
    if at_version is not None:
        attached = and_(
            rows.attach_version <= at_version, or_(rows.detach_version.is_(None), rows.detach_version > at_version)
        )
    same_fact = and_(facts.c.project_id == rows.project_id, facts.c.fact_id == rows.fact_id)
    order = (facts.c.valid_from, facts.c.fact_id)
    return (
        select(
            func.array_agg(aggregate_order_by(rows.fact_id, *order)).label("fact_ids"),
            func.array_agg(aggregate_order_by(facts.c.valid_from, *order)).label("fact_times"),
            func.count(type_=Integer).label("proof_count"),
        )
        .select_from(observation_sources.join(facts, same_fact))
        .where(rows.project_id == owner.c.project_id, rows.observation_id == owner.c.observation_id, attached)
        .lateral("support")
    )


SUPPORT = _support(observations, None)
_SAME_GROUP = and_(
    observation_groups.c.project_id == observations.c.project_id,
    observation_groups.c.group_id == observations.c.group_id,
)
_READ = tuple(
    observations.c[name] for name in ("observation_id", "text", "state", "version", "create_time", "update_time")
)
_OF_GROUP = tuple(observation_groups.c[name] for name in GROUP_COLUMNS)


def _from() -> FromClause:
    return observations.join(observation_groups, _SAME_GROUP).join(SUPPORT, true())


SELECT_OBSERVATIONS: Select[Any] = select(
    *_READ, *_OF_GROUP, SUPPORT.c.fact_ids, SUPPORT.c.fact_times, SUPPORT.c.proof_count
).select_from(_from())
"""Observations with their groups and their support; restrict it by project."""


def _versions() -> Select[Any]:
    then = _support(observation_versions, observation_versions.c.version)
    same = and_(
        observation_versions.c.project_id == observations.c.project_id,
        observation_versions.c.observation_id == observations.c.observation_id,
    )
    own = ("text", "state", "version", "action", "run_id", "reason", "recorded_from", "recorded_to")
    return select(
        observations.c.observation_id,
        observations.c.create_time,
        observation_versions.c.recorded_from.label("update_time"),
        *(observation_versions.c[name] for name in own),
        *_OF_GROUP,
        then.c.fact_ids,
        then.c.fact_times,
    ).select_from(
        observation_versions.join(observations, same).join(observation_groups, _SAME_GROUP).join(then, true())
    )


SELECT_VERSIONS: Select[Any] = _versions()
"""Recorded states of observations, each with what supported it then; restrict it by project."""


def group_from_row(row: Row[Any]) -> Group:
    """Returns the group of a row that has its fields."""
    return Group(row.access_scope, row.domain, row.owner_type, row.owner_id, tuple(row.tags))


def observation_from_row(row: Row[Any]) -> Observation:
    """Returns the observation of a row of :data:`SELECT_OBSERVATIONS`."""
    ids: list[UUID] = row.fact_ids or []
    return Observation(
        observation_id=row.observation_id,
        group=group_from_row(row),
        text=row.text,
        state=ObservationState(row.state),
        support=tuple(Support(fact_id, time) for fact_id, time in zip(ids, row.fact_times or [], strict=True)),
        create_time=row.create_time,
        update_time=row.update_time,
        version=row.version,
    )


def version_from_row(row: Row[Any]) -> ObservationVersion:
    """Returns the recorded state of a row of :data:`SELECT_VERSIONS`."""
    return ObservationVersion(
        observation=observation_from_row(row),
        action=ObservationAction(row.action),
        run_id=row.run_id,
        reason=row.reason,
        recorded_from=row.recorded_from,
        recorded_to=row.recorded_to,
    )

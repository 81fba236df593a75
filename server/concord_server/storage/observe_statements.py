"""The statements by which workers take groups of facts, and recall what is known beside a batch.

Leases go by the database's clock, as those of events do. Each statement takes the parameters ``project`` and, where
it is about them, ``run``, ``group``, ``lease_id`` and ``facts``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    Executable,
    Integer,
    Interval,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    cast,
    delete,
    func,
    or_,
    select,
    true,
    union,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by, array

from concord_server.domain.enums import FactStatus, ObservationState
from concord_server.domain.runs import UNFINISHED
from concord_server.storage.columns import EMBEDDING
from concord_server.storage.event_tables import runs
from concord_server.storage.fact_tables import fact_search, fact_tags, facts, sources
from concord_server.storage.observation_rows import GROUP_COLUMNS, SELECT_OBSERVATIONS
from concord_server.storage.observation_tables import (
    MarkerState,
    observation_groups,
    observation_markers,
    observation_sources,
    observations,
    run_facts,
)
from concord_server.storage.statements import PROJECT

OBSERVATIONS_PER_FACT = 5
"""How many observations are recalled for each fact of a batch."""

MAX_OBSERVATIONS = 20
"""How many observations are recalled for a batch at most, besides those that rest on its facts."""

FACTS_PER_FACT = 4
"""How many facts considered earlier are recalled for each fact of a batch."""

SHOWN_SOURCES = 5
"""How many of the newest facts of each recalled observation are recalled with it."""

MIN_RECALL = 0.35
"""Least cosine of what is recalled."""

RUN = bindparam("run", type_=Uuid)
GROUP = bindparam("group", type_=Uuid)
LEASE_ID = bindparam("lease_id", type_=Uuid)
FACTS = any_(bindparam("facts", type_=ARRAY(Uuid)))
_UNTIL = func.clock_timestamp() + bindparam("lease", type_=Interval)
_OF_PROJECT = observation_groups.c.project_id == PROJECT
_KEPT = and_(_OF_PROJECT, observation_groups.c.group_id == GROUP, observation_groups.c.lease_owner == LEASE_ID)


def _take() -> Executable:
    groups = observation_groups.c
    open_run = select(runs.c.run_id).where(
        runs.c.project_id == PROJECT,
        runs.c.run_id == RUN,
        runs.c.state.in_([state.value for state in UNFINISHED]),
        runs.c.observing,
    )
    waits = select(run_facts.c.fact_id).where(
        run_facts.c.project_id == PROJECT, run_facts.c.run_id == RUN, run_facts.c.group_id == groups.group_id
    )
    free = (
        select(groups.group_id)
        .where(
            _OF_PROJECT,
            or_(groups.lease_until.is_(None), groups.lease_until < func.clock_timestamp()),
            waits.exists(),
            open_run.exists(),
        )
        .order_by(groups.turn_time, groups.group_id)
        .limit(1)
        .with_for_update(skip_locked=True)
        .cte("free")
    )
    taken = update(observation_groups).where(_OF_PROJECT, groups.group_id == free.c.group_id)
    now = func.clock_timestamp()
    return taken.values(lease_owner=LEASE_ID, lease_run=RUN, lease_until=_UNTIL, turn_time=now).returning(
        *(groups[name] for name in GROUP_COLUMNS)
    )


TAKE = _take()
RELEASE = update(observation_groups).where(_KEPT).values(lease_owner=None, lease_run=None, lease_until=None)
EXTEND = (
    update(observation_groups)
    .where(_OF_PROJECT, observation_groups.c.lease_owner == any_(bindparam("lease_ids", type_=ARRAY(Uuid))))
    .values(lease_until=_UNTIL)
)
HOLD = select(observation_groups.c.group_id).where(_KEPT).with_for_update()
IN_HAND = select(func.count()).where(
    _OF_PROJECT,
    observation_groups.c.lease_run == RUN,
    observation_groups.c.lease_until > func.clock_timestamp(),
)
LEFT = select(func.count()).where(run_facts.c.project_id == PROJECT, run_facts.c.run_id == RUN)
LEAVE = delete(run_facts).where(run_facts.c.project_id == PROJECT, run_facts.c.run_id == RUN)
NEXT_FACTS = (
    select(run_facts.c.fact_id)
    .where(run_facts.c.project_id == PROJECT, run_facts.c.run_id == RUN, run_facts.c.group_id == GROUP)
    .order_by(run_facts.c.fact_time, run_facts.c.fact_id)
    .limit(bindparam("size", type_=Integer))
)
DROP = delete(run_facts).where(
    run_facts.c.project_id == PROJECT, run_facts.c.run_id == RUN, run_facts.c.fact_id == FACTS
)
SETTLED = delete(run_facts).where(run_facts.c.project_id == PROJECT, run_facts.c.fact_id == FACTS)


def is_pending() -> ColumnElement[bool]:
    """Tells whether a fact is not yet considered, or failed and has rested.

    A marker goes when its fact changes in a way that matters, its group among them; so any marker is of the fact as
    it is.
    """
    markers = observation_markers.c
    settled = or_(
        markers.state == MarkerState.CONSIDERED.value,
        markers.retry_time.is_(None),
        markers.retry_time > func.now(),
    )
    marked = select(markers.fact_id).where(
        markers.project_id == facts.c.project_id, markers.fact_id == facts.c.fact_id, settled
    )
    active = and_(facts.c.status == FactStatus.ACTIVE.value, facts.c.conflict_id.is_(None))
    return and_(active, ~marked.correlate(facts).exists())


def pending_facts() -> Select[Any]:
    """Returns the facts of a project that are pending, with the fields of their groups."""
    tags = (
        select(func.array_agg(aggregate_order_by(fact_tags.c.tag, fact_tags.c.position)))
        .where(fact_tags.c.project_id == facts.c.project_id, fact_tags.c.fact_id == facts.c.fact_id)
        .correlate(facts)
        .scalar_subquery()
    )
    fields = [facts.c[name] for name in GROUP_COLUMNS if name != "tags"]
    none = cast(array([]), ARRAY(Text))
    return select(facts.c.fact_id, facts.c.valid_from, *fields, func.coalesce(tags, none).label("tags")).where(
        facts.c.project_id == PROJECT, is_pending()
    )


def _distance(column: Any, other: Any) -> ColumnElement[float]:  # noqa: ANN401 - columns, as SQLAlchemy types them
    """Returns a distance that no vector index is used for: it spans all groups, and a group's rows are few."""
    distance: ColumnElement[float] = column.op("<=>", return_type=Double())(other) + 0.0
    return distance


def _batch_vectors() -> Any:  # noqa: ANN401 - as SQLAlchemy types it
    batch = fact_search.alias("batch")
    chosen = select(batch.c.embedding).where(
        batch.c.project_id == PROJECT, batch.c.fact_id == FACTS, batch.c.embedding.is_not(None)
    )
    return chosen.cte("batch_vectors")


def _recall_observations() -> Executable:
    """The observations of the group near any fact of the batch, those that rest on one, and those without a wording."""
    batch = _batch_vectors()
    each = observations.alias("each")
    mine = [
        each.c.project_id == PROJECT,
        each.c.group_id == GROUP,
        each.c.state == ObservationState.ACTIVE.value,
    ]
    distance = _distance(each.c.embedding, batch.c.embedding)
    closest = (
        select(each.c.observation_id, distance.label("distance"))
        .where(*mine, each.c.embedding.is_not(None), distance <= 1 - MIN_RECALL)
        .order_by(distance)
        .limit(OBSERVATIONS_PER_FACT)
        .lateral("closest")
    )
    near = (
        select(closest.c.observation_id)
        .select_from(batch.join(closest, true()))
        .group_by(closest.c.observation_id)
        .order_by(func.min(closest.c.distance))
        .limit(MAX_OBSERVATIONS)
    )
    resting = select(observation_sources.c.observation_id).where(
        observation_sources.c.project_id == PROJECT,
        observation_sources.c.fact_id == FACTS,
        observation_sources.c.detach_version.is_(None),
    )
    blank = select(each.c.observation_id).where(*mine, each.c.text == "").limit(MAX_OBSERVATIONS)
    wanted = union(near.subquery().select(), resting, blank.subquery().select()).subquery("wanted")
    return SELECT_OBSERVATIONS.where(
        observations.c.project_id == PROJECT,
        observations.c.group_id == GROUP,
        observations.c.state == ObservationState.ACTIVE.value,
        observations.c.observation_id.in_(select(wanted.c.observation_id)),
    ).order_by(observations.c.create_time, observations.c.observation_id)


def _recall_facts() -> Executable:
    """The facts of the group considered earlier that are near any fact of the batch."""
    batch = _batch_vectors()
    search, markers = fact_search.c, observation_markers.c
    same = and_(search.project_id == markers.project_id, search.fact_id == markers.fact_id)
    distance = _distance(search.embedding, batch.c.embedding)
    closest = (
        select(markers.fact_id)
        .select_from(observation_markers.join(fact_search, same))
        .where(
            markers.project_id == PROJECT,
            markers.group_id == GROUP,
            markers.state == MarkerState.CONSIDERED.value,
            search.embedding.is_not(None),
            distance <= 1 - MIN_RECALL,
        )
        .order_by(distance)
        .limit(FACTS_PER_FACT)
        .lateral("closest")
    )
    return select(closest.c.fact_id).select_from(batch.join(closest, true())).distinct()


RECALL_OBSERVATIONS = _recall_observations()
RECALL_FACTS = _recall_facts()
_SAME_OBSERVATION = and_(
    observations.c.project_id == observation_sources.c.project_id,
    observations.c.observation_id == observation_sources.c.observation_id,
)
_SAME_FACT = and_(
    facts.c.project_id == observation_sources.c.project_id, facts.c.fact_id == observation_sources.c.fact_id
)
WORDED_BY = (
    select(observation_sources.c.fact_id)
    .select_from(observation_sources.join(observations, _SAME_OBSERVATION).join(facts, _SAME_FACT))
    .where(
        observation_sources.c.project_id == PROJECT,
        observation_sources.c.observation_id == any_(bindparam("ids", type_=ARRAY(Uuid))),
        observation_sources.c.detach_version.is_(None),
        facts.c.text == observations.c.text,
    )
)
VECTORS = select(fact_search.c.fact_id, fact_search.c.embedding).where(
    fact_search.c.project_id == PROJECT, fact_search.c.fact_id == FACTS, fact_search.c.embedding.is_not(None)
)
ORIGINS = (
    select(sources.c.fact_id, func.array_agg(sources.c.identity_digest).label("digests"))
    .where(sources.c.project_id == PROJECT, sources.c.fact_id == FACTS)
    .group_by(sources.c.fact_id)
)


def _near() -> Executable:
    given = (
        func.unnest(bindparam("vectors", type_=ARRAY(Text)))
        .table_valued("vector", with_ordinality="position", name="given")
        .render_derived()
    )
    vector = cast(given.c.vector, EMBEDDING.__class__())
    distance = _distance(observations.c.embedding, vector)
    return (
        select(given.c.position, observations.c.observation_id, (1 - distance).label("similarity"))
        .select_from(given.join(observations, true()))
        .where(
            observations.c.project_id == PROJECT,
            observations.c.group_id == GROUP,
            observations.c.state == ObservationState.ACTIVE.value,
            observations.c.embedding.is_not(None),
            1 - distance >= bindparam("min_similarity", type_=Double),
        )
        .order_by(given.c.position, distance)
    )


NEAR = _near()
LOCK_OBSERVATIONS = (
    select(observations.c.observation_id)
    .where(
        observations.c.project_id == PROJECT,
        observations.c.observation_id == any_(bindparam("ids", type_=ARRAY(Uuid))),
    )
    .order_by(observations.c.observation_id)
    .with_for_update()
)

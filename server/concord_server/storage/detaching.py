"""Taking off observations, at the commit of every session, what no longer supports them.

Nobody has to think of it: the session knows which facts it changed. For nearly all of them one query finds that
nothing rests on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import Integer, Uuid, any_, bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.domain.enums import FactStatus, ObservationAction, ObservationState
from concord_server.domain.model import Fact
from concord_server.domain.observations import Observation, supports
from concord_server.domain.observing import BATCH_SIZE
from concord_server.ports.observations import ObservationWrite
from concord_server.storage import observation_writing as writing
from concord_server.storage.observation_tables import (
    observation_markers,
    observation_sources,
    observation_versions,
)
from concord_server.storage.observations import PostgresObservations
from concord_server.storage.observe_statements import LOCK_OBSERVATIONS
from concord_server.storage.statements import PROJECT, SessionContext

_FACTS = any_(bindparam("facts", type_=ARRAY(Uuid)))
_RESTING = select(
    observation_sources.c.observation_id,
    observation_sources.c.fact_id,
    observation_sources.c.attach_version,
    observation_sources.c.detach_version,
    observation_sources.c.basis,
).where(observation_sources.c.project_id == PROJECT, observation_sources.c.fact_id == _FACTS)
_MARKED = select(observation_markers.c.fact_id, observation_markers.c.basis).where(
    observation_markers.c.project_id == PROJECT, observation_markers.c.fact_id == _FACTS
)
_UNMARK = delete(observation_markers).where(
    observation_markers.c.project_id == PROJECT, observation_markers.c.fact_id == _FACTS
)
_DETACH = (
    update(observation_sources)
    .where(
        observation_sources.c.project_id == PROJECT,
        observation_sources.c.observation_id == bindparam("observation", type_=Uuid),
        observation_sources.c.fact_id == _FACTS,
        observation_sources.c.detach_version.is_(None),
    )
    .values(detach_version=bindparam("at_version", type_=Integer))
)
_BLANK_VERSIONS = (
    update(observation_versions)
    .where(
        observation_versions.c.project_id == PROJECT,
        observation_versions.c.observation_id == bindparam("observation", type_=Uuid),
        observation_versions.c.version >= bindparam("from_version", type_=Integer),
    )
    .values(text="", reason="")
)


async def detach(context: SessionContext, changed: Mapping[UUID, Fact]) -> None:
    """Takes facts off the observations that they no longer support, and lets them be considered anew.

    An observation without support is retired; wording that ever rested on an erased fact is blanked; what is left of
    a detached observation is judged again, by at most one batch of its newest facts.

    Args:
        changed: the facts that the session changed, as they are at its end.
    """
    if not changed:
        return
    parameters = {"project": context.project, "facts": list(changed)}
    marked = await context.statements.rows(_MARKED, parameters)
    resting = await context.statements.rows(_RESTING, parameters)
    stale = {row.fact_id for row in marked if not supports(changed[row.fact_id], bytes(row.basis))}
    if stale:
        await context.statements.execute(_UNMARK, {"project": context.project, "facts": list(stale)})
    erased = {fact_id for fact_id, fact in changed.items() if fact.status is FactStatus.DELETED}
    lost: dict[UUID, set[UUID]] = {}
    blank: dict[UUID, int] = {}
    for row in resting:
        fact = changed[row.fact_id]
        if row.detach_version is None and not supports(fact, bytes(row.basis)):
            lost.setdefault(row.observation_id, set()).add(row.fact_id)
        if row.fact_id in erased:
            blank[row.observation_id] = min(row.attach_version, blank.get(row.observation_id, row.attach_version))
    await _rewrite(context, lost, blank, changed)


async def _rewrite(
    context: SessionContext,
    lost: Mapping[UUID, set[UUID]],
    blank: Mapping[UUID, int],
    changed: Mapping[UUID, Fact],
) -> None:
    ids = sorted({*lost, *blank})
    if not ids:
        return
    await context.statements.execute(LOCK_OBSERVATIONS, {"project": context.project, "ids": ids})
    now = max(fact.update_time for fact in changed.values())
    for observation in await PostgresObservations(context).get_many(ids):
        gone = lost.get(observation.observation_id, set())
        if observation.state is ObservationState.RETIRED:
            # What it rested on stays as its evidence, unless the words are gone.
            gone = {fact_id for fact_id in gone if changed[fact_id].status is FactStatus.DELETED}
        from_version = blank.get(observation.observation_id)
        if from_version is not None:
            await context.statements.execute(
                _BLANK_VERSIONS,
                {
                    "project": context.project,
                    "observation": observation.observation_id,
                    "from_version": from_version,
                },
            )
        if gone or (from_version is not None and observation.text):
            await _next_state(
                context, observation, gone, is_blank=from_version is not None, changed=changed, now=now
            )


async def _next_state(
    context: SessionContext,
    observation: Observation,
    gone: set[UUID],
    *,
    is_blank: bool,
    changed: Mapping[UUID, Fact],
    now: datetime,
) -> None:
    left = [each.fact_id for each in observation.support if each.fact_id not in gone]
    retires = observation.state is ObservationState.ACTIVE and not left
    state = ObservationState.RETIRED if retires else observation.state
    version = observation.version + 1
    named = {"project": context.project, "observation": observation.observation_id, "facts": list(gone)}
    await context.statements.execute(_DETACH, named | {"at_version": version})
    write = ObservationWrite(
        observation_id=observation.observation_id,
        version=version,
        text="" if is_blank else observation.text,
        state=state,
        action=ObservationAction.RETIRED if retires else ObservationAction.UPDATED,
        reason=_reason(gone, changed),
    )
    # Never before the version that it follows, whatever the clocks say.
    moment = max(now, observation.update_time)
    await writing.save(context, write, moment, group_id=observation.group.group_id, run_id=None)
    if state is ObservationState.ACTIVE:
        again = left[-BATCH_SIZE:]
        await context.statements.execute(_UNMARK, {"project": context.project, "facts": again})


def _reason(gone: Iterable[UUID], changed: Mapping[UUID, Fact]) -> str:
    """Returns why a state followed, in words that say nothing about what the facts said."""
    states = sorted({_what_happened(changed[fact_id]) for fact_id in gone})
    return f"what it rests on was {' and '.join(states)}" if states else "what it rested on was erased"


def _what_happened(fact: Fact) -> str:
    if fact.status is FactStatus.ACTIVE:
        return "edited"
    return "erased" if fact.status is FactStatus.DELETED else fact.status.value.lower()

"""Storing states of observations with their sources, and what runs tell of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Integer, Interval, Text, Uuid, bindparam, case, func, insert, or_, update
from sqlalchemy.dialects.postgresql import insert as upsert

from concord_server.domain.errors import ConcurrentUpdateError
from concord_server.domain.observations import basis_of
from concord_server.domain.runs import OBSERVE_COUNTS, MessageKind, ObserveProgress, eta
from concord_server.ports.observations import ObservationWrite, Told
from concord_server.storage.columns import EMBEDDING, TIMESTAMP
from concord_server.storage.event_tables import run_messages, runs
from concord_server.storage.observation_tables import (
    observation_markers,
    observation_sources,
    observation_versions,
    observations,
)
from concord_server.storage.run_rows import observation_document, progress_document, run_from_row
from concord_server.storage.statements import PROJECT, SessionContext

PROGRESS_SECONDS = 0.5
"""Least time between two messages about progress."""

_INSERT = insert(observations)
_INSERT_VERSION = insert(observation_versions)
_INSERT_MESSAGE = insert(run_messages)
_ATTACH = upsert(observation_sources).on_conflict_do_nothing(
    index_elements=["project_id", "observation_id", "fact_id"],
    index_where=observation_sources.c.detach_version.is_(None),
)
_THIS = (observations.c.project_id == PROJECT) & (
    observations.c.observation_id == bindparam("observation", type_=Uuid)
)
_NEXT = (
    update(observations)
    .where(_THIS, observations.c.version == bindparam("version_before", type_=Integer))
    .values(
        version=observations.c.version + 1,
        text=bindparam("new_text", type_=Text),
        state=bindparam("new_state", type_=Text),
        update_time=bindparam("now", type_=TIMESTAMP),
        embedding=case(
            (bindparam("new_text", type_=Text) == "", None),
            else_=func.coalesce(bindparam("new_embedding", type_=EMBEDDING), observations.c.embedding),
        ),
    )
)
_CLOSE = (
    update(observation_versions)
    .where(
        observation_versions.c.project_id == PROJECT,
        observation_versions.c.observation_id == bindparam("observation", type_=Uuid),
        observation_versions.c.recorded_to.is_(None),
    )
    .values(recorded_to=bindparam("now", type_=TIMESTAMP))
)


def _mark() -> Any:  # noqa: ANN401 - an insert, whose type says nothing
    inserted = upsert(observation_markers)
    given = ("state", "basis", "attempts", "error_reason", "error_message", "retry_time", "update_time")
    return inserted.on_conflict_do_update(
        index_elements=["project_id", "fact_id", "group_id"],
        set_={name: inserted.excluded[name] for name in given},
    )


MARK = _mark()
"""Stores markers, in place of those that are there."""


async def save(
    context: SessionContext, write: ObservationWrite, now: datetime, *, group_id: UUID, run_id: UUID | None
) -> None:
    """Stores a state of an observation as its newest version; version 1 makes it.

    Args:
        run_id: the run that it comes from, ``None`` where a change of its facts led to it.

    Raises:
        ConcurrentUpdateError: the stored version is not the one before.
    """
    key = {"project_id": context.project, "observation_id": write.observation_id}
    state = {"version": write.version, "text": write.text, "state": write.state.value}
    if write.version == 1:
        times = {"create_time": now, "update_time": now}
        row = key | state | times | {"group_id": group_id, "embedding": write.embedding}
        await context.statements.execute(_INSERT, row)
    else:
        named = {"project": context.project, "observation": write.observation_id, "now": now}
        changed = await context.statements.execute(
            _NEXT,
            named
            | {
                "version_before": write.version - 1,
                "new_text": write.text,
                "new_state": write.state.value,
                "new_embedding": write.embedding,
            },
        )
        if changed.rowcount != 1:
            raise ConcurrentUpdateError("the observation was changed meanwhile")
        await context.statements.execute(_CLOSE, named)
    record = {"action": write.action.value, "run_id": run_id, "reason": write.reason}
    await context.statements.execute(_INSERT_VERSION, key | state | record | {"recorded_from": now})
    attached = [
        key | {"fact_id": fact.fact_id, "attach_version": write.version, "basis": basis_of(fact)}
        for fact in write.attached
    ]
    if attached:
        await context.statements.execute(_ATTACH, attached)


def _count() -> Any:  # noqa: ANN401 - an update, whose type says nothing
    """Adds to a run's counts, and takes the sequences of what is told and, if it is time, of progress."""
    moment: ColumnElement[datetime] = bindparam("moment", type_=TIMESTAMP)
    pause = bindparam("pause", type_=Interval)
    due = or_(runs.c.progress_time.is_(None), runs.c.progress_time <= moment - pause)
    names = {name: f"observe_{name}" for name in OBSERVE_COUNTS}
    added = {column: runs.c[column] + bindparam(f"more_{name}", type_=Integer) for name, column in names.items()}
    return (
        update(runs)
        .where(runs.c.project_id == PROJECT, runs.c.run_id == bindparam("run", type_=Uuid), ~runs.c.told)
        .values(
            sequence=runs.c.sequence + bindparam("messages", type_=Integer) + case((due, 1), else_=0),
            progress_time=case((due, moment), else_=runs.c.progress_time),
            **added,
        )
        .returning(*runs.c)
    )


_COUNT = _count()


async def tell(
    context: SessionContext, run_id: UUID, told: Sequence[Told], progress: ObserveProgress, now: datetime
) -> None:
    """Adds to a run's counts, which locks its row until the commit, and lets it tell of observations."""
    added = {f"more_{name}": getattr(progress, name) for name in OBSERVE_COUNTS}
    parameters = {"project": context.project, "run": run_id, "moment": now, "messages": len(told)}
    row = await context.statements.first(
        _COUNT, parameters | added | {"pause": timedelta(seconds=PROGRESS_SECONDS)}
    )
    if row is None:
        return
    due = row.progress_time == now
    payloads = [(MessageKind.OBSERVATION, observation_document(each)) for each in told]
    if due:
        run = run_from_row(row)
        left = eta(run.worked, run.start_time, now)
        payloads.append((MessageKind.PROGRESS, progress_document(run, left)))
    first = row.sequence - len(payloads) + 1
    values = [
        {
            "project_id": context.project,
            "run_id": run_id,
            "sequence": first + offset,
            "kind": kind.value,
            "payload": payload,
            "create_time": now,
        }
        for offset, (kind, payload) in enumerate(payloads)
    ]
    if values:
        await context.statements.execute(_INSERT_MESSAGE, values)
    context.changes.announce = True

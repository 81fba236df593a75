"""The statements by which workers take events, and runs end.

Leases go by the database's clock, so that workers on machines whose clocks differ agree on them. Each statement takes
the parameters ``project`` and, where it is about them, ``run``, ``event``, ``of_type``, ``of_id`` (the subject) and
``lease_id``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Executable,
    Integer,
    Interval,
    Select,
    Text,
    Uuid,
    any_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.sql.dml import ReturningUpdate

from concord_server.domain.enums import CandidateOutcome, EventState, RunState
from concord_server.domain.runs import COUNTS, UNFINISHED, MessageKind
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.event_tables import (
    event_candidates,
    event_subjects,
    events,
    run_events,
    run_messages,
    runs,
)
from concord_server.storage.events import WAITING
from concord_server.storage.statements import PROJECT

_NOT_APPLIED = (CandidateOutcome.DUPLICATE.value, CandidateOutcome.REJECTED.value)

_RUN = bindparam("run", type_=Uuid)
_EVENT = bindparam("event", type_=Uuid)
_MOMENT: BindParameter[datetime] = bindparam("moment", type_=TIMESTAMP)
_LEASE_ID = bindparam("lease_id", type_=Uuid)
_HAS_MODEL: ColumnElement[bool] = bindparam("has_model", type_=Boolean)
_UNTIL = func.clock_timestamp() + bindparam("lease", type_=Interval)
_FREE = or_(event_subjects.c.lease_until.is_(None), event_subjects.c.lease_until < func.clock_timestamp())
_SAME_EVENT = (events.c.project_id == run_events.c.project_id) & (events.c.event_id == run_events.c.event_id)
_WAITS = events.c.state.in_(WAITING) & (
    (events.c.state != EventState.FAILED.value) | (events.c.retry_time <= func.now())
)
_BEFORE_RUN = [run_events.c.project_id == PROJECT, run_events.c.run_id == _RUN]
_THIS_SUBJECT = (event_subjects.c.subject_type == bindparam("of_type", type_=Text)) & (
    event_subjects.c.subject_id == bindparam("of_id", type_=Text)
)


def _open_run() -> Select[Any]:
    return select(runs.c.run_id).where(
        runs.c.project_id == PROJECT, runs.c.run_id == _RUN, runs.c.state.in_([s.value for s in UNFINISHED])
    )


def _take() -> Executable:
    same = (
        (event_subjects.c.project_id == run_events.c.project_id)
        & (event_subjects.c.subject_type == run_events.c.subject_type)
        & (event_subjects.c.subject_id == run_events.c.subject_id)
    )
    free = (
        select(event_subjects.c.subject_type, event_subjects.c.subject_id)
        .select_from(run_events.join(events, _SAME_EVENT).join(event_subjects, same))
        .where(*_BEFORE_RUN, _WAITS, or_(run_events.c.has_candidates, _HAS_MODEL), _FREE, _open_run().exists())
        .order_by(run_events.c.occur_time, run_events.c.event_id)
        .limit(1)
        .with_for_update(of=event_subjects, skip_locked=True)
        .cte("free")
    )
    return (
        update(event_subjects)
        .where(
            event_subjects.c.project_id == PROJECT,
            event_subjects.c.subject_type == free.c.subject_type,
            event_subjects.c.subject_id == free.c.subject_id,
        )
        .values(lease_owner=_LEASE_ID, lease_until=_UNTIL)
        .returning(event_subjects.c.subject_type, event_subjects.c.subject_id)
    )


def _next_event() -> Executable:
    kept = select(event_subjects.c.subject_id).where(
        event_subjects.c.project_id == PROJECT, _THIS_SUBJECT, event_subjects.c.lease_owner == _LEASE_ID
    )
    earliest = (
        select(run_events.c.event_id)
        .select_from(run_events.join(events, _SAME_EVENT))
        .where(
            *_BEFORE_RUN,
            run_events.c.subject_type == bindparam("of_type", type_=Text),
            run_events.c.subject_id == bindparam("of_id", type_=Text),
            or_(run_events.c.has_candidates, _HAS_MODEL),
            _WAITS,
        )
        .order_by(run_events.c.occur_time, run_events.c.event_id)
        .limit(1)
        .scalar_subquery()
    )
    taken = update(events).where(
        events.c.project_id == PROJECT, events.c.event_id == earliest, _WAITS, kept.exists(), _open_run().exists()
    )
    return taken.values(
        state=EventState.RUNNING.value,
        attempts=events.c.attempts + 1,
        run_id=_RUN,
        retry_time=None,
        update_time=func.now(),
    ).returning(*events.c)


def _hold() -> Executable:
    kept = select(event_subjects.c.subject_id).where(
        event_subjects.c.project_id == PROJECT, _THIS_SUBJECT, event_subjects.c.lease_owner == _LEASE_ID
    )
    applied = select(event_candidates.c.candidate_key).where(
        event_candidates.c.project_id == PROJECT,
        event_candidates.c.event_id == _EVENT,
        event_candidates.c.outcome.not_in(_NOT_APPLIED),
    )
    return (
        select(events.c.event_id, func.array(applied.scalar_subquery(), type_=ARRAY(Text)).label("applied"))
        .where(
            events.c.project_id == PROJECT,
            events.c.event_id == _EVENT,
            events.c.state == EventState.RUNNING.value,
            events.c.attempts == bindparam("attempt", type_=Integer),
            kept.exists(),
        )
        .with_for_update(of=events)
    )


def _count() -> ReturningUpdate[Any]:
    """Adds to a run's counts, and takes the sequences of an outcome and, if it is time, of progress."""
    moment = _MOMENT
    pause = bindparam("pause", type_=Interval)
    due = or_(runs.c.progress_time.is_(None), runs.c.progress_time <= moment - pause)
    added = {name: runs.c[name] + bindparam(f"more_{name}", type_=Integer) for name in COUNTS}
    return (
        update(runs)
        .where(runs.c.project_id == PROJECT, runs.c.run_id == _RUN, ~runs.c.told)
        .values(
            sequence=runs.c.sequence + 1 + case((due, 1), else_=0),
            progress_time=case((due, moment), else_=runs.c.progress_time),
            **added,
        )
        .returning(*runs.c)
    )


def _told(**ended: object) -> Executable:
    """Ends an event's attempt, takes it from every run's list, counts it and tells its outcome; returns its run.

    One statement, since each costs more than what it does. Nothing is returned when the run has told its summary.

    Args:
        ended: what the event is now, by column. No parameter may be named like a column: it would be set to it.
    """
    event = update(events).where(events.c.project_id == PROJECT, events.c.event_id == _EVENT)
    counted = _count().cte("counted")
    message = insert(run_messages).from_select(
        ["project_id", "run_id", "sequence", "kind", "payload", "create_time"],
        select(
            counted.c.project_id,
            counted.c.run_id,
            counted.c.sequence - case((counted.c.progress_time == _MOMENT, 1), else_=0),
            literal(MessageKind.OUTCOME.value, Text()),
            bindparam("outcome", type_=run_messages.c.payload.type),
            _MOMENT,
        ),
    )
    gone = delete(run_events).where(run_events.c.project_id == PROJECT, run_events.c.event_id == _EVENT)
    parts = (event.values(update_time=_MOMENT, **ended).cte("ended"), gone.cte("gone"), message.cte("message"))
    return select(counted).add_cte(*parts)


def _left() -> Executable:
    """Counts the events before a run that can be worked, that cannot for want of a model, and that are worked."""
    workable = or_(run_events.c.has_candidates, _HAS_MODEL)
    return (
        select(
            func.count().filter(workable).label("workable"),
            func.count().filter(~workable).label("unmodelled"),
        )
        .select_from(run_events.join(events, _SAME_EVENT))
        .where(*_BEFORE_RUN, _WAITS)
    )


BEGIN = (
    update(runs)
    .where(runs.c.project_id == PROJECT, runs.c.run_id == _RUN, runs.c.state == RunState.QUEUED.value)
    .values(state=RunState.RUNNING.value, start_time=bindparam("moment", type_=TIMESTAMP))
)
TAKE = _take()
NEXT_EVENT = _next_event()
RELEASE = (
    update(event_subjects)
    .where(event_subjects.c.project_id == PROJECT, _THIS_SUBJECT, event_subjects.c.lease_owner == _LEASE_ID)
    .values(lease_owner=None, lease_until=None)
)
EXTEND = (
    update(event_subjects)
    .where(
        event_subjects.c.project_id == PROJECT,
        event_subjects.c.lease_owner == any_(bindparam("lease_ids", type_=ARRAY(Uuid))),
    )
    .values(lease_until=_UNTIL)
)
HOLD = _hold()
END = update(events).where(events.c.project_id == PROJECT, events.c.event_id == bindparam("ended", type_=Uuid))
DONE = _told(
    state=EventState.DONE.value,
    error_reason="",
    error_message="",
    partial=bindparam("new_partial", type_=Boolean),
    extraction=None,
)
FAILED = _told(
    state=bindparam("new_state", type_=Text),
    retry_time=bindparam("new_retry_time", type_=TIMESTAMP),
    error_reason=bindparam("new_reason", type_=Text),
    error_message=bindparam("new_message", type_=Text),
)
LEFT = _left()
OPEN = select(runs).where(runs.c.project_id == PROJECT, runs.c.run_id == _RUN, ~runs.c.told).with_for_update()
LEAVE = delete(run_events).where(*_BEFORE_RUN)


def _orphans() -> Executable:
    """Lets the events of a run wait again that a worker left behind whose lease is over."""
    leased = select(event_subjects.c.subject_id).where(
        event_subjects.c.project_id == PROJECT,
        event_subjects.c.subject_type == events.c.subject_type,
        event_subjects.c.subject_id == events.c.subject_id,
        event_subjects.c.lease_until > func.clock_timestamp(),
    )
    return (
        update(events)
        .where(
            events.c.project_id == PROJECT,
            events.c.run_id == _RUN,
            events.c.state == EventState.RUNNING.value,
            ~leased.exists(),
        )
        .values(state=EventState.PENDING.value, update_time=func.now())
    )


ORPHANS = _orphans()
IN_HAND = select(func.count()).where(
    events.c.project_id == PROJECT, events.c.run_id == _RUN, events.c.state == EventState.RUNNING.value
)
THIS_RUN = (runs.c.project_id == PROJECT) & (runs.c.run_id == _RUN)

"""Events as workers take them: subjects under leases, attempts, and the end of runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Executable, Row, func, insert, update

from concord_server.domain.consolidation import Setback
from concord_server.domain.enums import EventState, RunState
from concord_server.domain.errors import LeaseLostError
from concord_server.domain.events import Event, Failure
from concord_server.domain.model import EntityRef
from concord_server.domain.runs import UNFINISHED, MessageKind, Progress, eta, progress_of
from concord_server.ports.events import Lease, Settled
from concord_server.storage.event_rows import event_from_row
from concord_server.storage.event_tables import event_candidates, events, runs
from concord_server.storage.lease_statements import (
    BEGIN,
    DONE,
    END,
    EXTEND,
    FAILED,
    HOLD,
    IN_HAND,
    LEAVE,
    LEFT,
    NEXT_EVENT,
    OPEN,
    ORPHANS,
    RELEASE,
    TAKE,
    THIS_RUN,
)
from concord_server.storage.observe_stage import ObserveStage
from concord_server.storage.run_rows import (
    counts_of,
    outcome_document,
    progress_document,
    run_document,
    run_from_row,
)
from concord_server.storage.runs import INSERT_MESSAGE, message_values
from concord_server.storage.statements import SessionContext

PROGRESS_SECONDS = 0.5
"""Least time between two messages about progress."""

MAX_WORDS = 1000
"""Of the words of something that a model said and that was refused, so much is kept."""

NO_MODEL = "NO_MODEL"
_INSERT_CANDIDATES = insert(event_candidates)
_NO_MODEL_MESSAGE = "no model is configured, and {count} events came without candidates; they still wait"


class PostgresLeases:
    """Implements :class:`~concord_server.ports.events.LeaseRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def begin(self, run_id: UUID, now: datetime) -> None:
        """Marks a queued run as running."""
        await self._execute(BEGIN, run=run_id, moment=now)

    async def take(self, run_id: UUID, lease_id: UUID, lease: timedelta, *, has_model: bool) -> Lease | None:
        """Takes the subject with the earliest event that the run has before it, among those that are free."""
        row = await self._first(TAKE, run=run_id, lease_id=lease_id, lease=lease, has_model=has_model)
        return Lease(run_id, EntityRef(row.subject_type, row.subject_id), lease_id) if row else None

    async def next_event(self, lease: Lease, *, has_model: bool) -> Event | None:
        """Takes up the subject's next event of the run, which counts as an attempt; ``None`` when there is none.

        An event that is RUNNING already was left behind by whoever had the subject before.
        """
        row = await self._first(NEXT_EVENT, run=lease.run_id, has_model=has_model, **_kept(lease))
        return event_from_row(row) if row else None

    async def release(self, lease: Lease) -> None:
        """Lets the subject go."""
        await self._execute(RELEASE, **_kept(lease))

    async def extend(self, lease_ids: Sequence[UUID], lease: timedelta) -> None:
        """Keeps the leases that were not lost for this long from now."""
        await self._execute(EXTEND, lease_ids=list(lease_ids), lease=lease)

    async def hold(self, lease: Lease, event: Event) -> frozenset[str]:
        """Makes sure that the event is this worker's until the session ends; write sessions only, first of all.

        Returns the keys of its candidates that were applied before.

        Raises:
            LeaseLostError: somebody else has the subject.
        """
        held = await self._first(HOLD, event=event.event_id, attempt=event.attempts, **_kept(lease))
        if held is None:
            raise LeaseLostError(f"event {event.event_id} was taken up by another worker")
        return frozenset(held.applied)

    async def settle(
        self, lease: Lease, event: Event, settled: Sequence[Settled], now: datetime, *, partial: bool = False
    ) -> None:
        """Marks the event done, keeps what became of its candidates, and lets its run tell so; last of all."""
        rows = [self._candidate_row(event, position, one, now) for position, one in enumerate(settled)]
        if rows:
            await self._context.statements.execute(_INSERT_CANDIDATES, rows)
        more = progress_of([one.outcome for one in settled])
        outcome = outcome_document(event.event_id, EventState.DONE, settled)
        await self._tell(DONE, lease.run_id, event, outcome, more, now, new_partial=partial)

    async def fail(self, lease: Lease, event: Event, setback: Setback, failure: Failure, now: datetime) -> None:
        """Marks the attempt failed, and lets the run tell so; last of all."""
        failed = {
            "new_state": setback.state.value,
            "new_retry_time": setback.retry_time,
            "new_reason": failure.reason,
            "new_message": failure.message,
        }
        outcome = outcome_document(event.event_id, setback.state, ())
        more = progress_of((), failed=True)
        await self._tell(FAILED, lease.run_id, event, outcome, more, now, **failed)

    async def put_back(self, lease: Lease, event: Event, now: datetime) -> None:
        """Lets the event wait again, as if it had not been taken up; after :meth:`hold`."""
        waiting = {"state": EventState.PENDING.value, "attempts": events.c.attempts - 1, "update_time": now}
        await self._execute(END.values(**waiting), ended=event.event_id)

    async def close(self, run_id: UUID, now: datetime, *, has_model: bool) -> bool:
        """Ends the run and tells its summary if nothing is left of it; returns whether it is over."""
        row = await self._first(OPEN, run=run_id)
        if row is None:
            return True
        await self._execute(ORPHANS, run=run_id)
        stage = ObserveStage(self._context)
        if (await self._execute(IN_HAND, run=run_id)).scalar_one() or await stage.in_hand(run_id):
            return False
        left = (await self._execute(LEFT, run=run_id, has_model=has_model)).one()
        state, reason, message = RunState(row.state), row.error_reason, row.error_message
        if state in UNFINISHED:
            if left.workable or not await stage.is_over(run_from_row(row), begun=row.observing):
                return False
            state = RunState.SUCCEEDED
            if left.unmodelled:
                state, reason = RunState.FAILED, NO_MODEL
                message = _NO_MODEL_MESSAGE.format(count=left.unmodelled)
        await self._execute(LEAVE, run=run_id)
        facts_left = await stage.leave(run_id)
        ended = (
            update(runs)
            .where(THIS_RUN)
            .values(
                state=state.value,
                error_reason=reason,
                error_message=message,
                # What others did is none of its work.
                total=runs.c.processed + left.workable + left.unmodelled,
                observe_total=runs.c.observe_processed + facts_left,
                start_time=func.coalesce(runs.c.start_time, now),
                end_time=func.coalesce(runs.c.end_time, now),
                sequence=runs.c.sequence + 1,
                told=True,
            )
            .returning(*runs.c)
        )
        row = (await self._execute(ended, run=run_id)).one()
        await self._message(run_id, row.sequence, MessageKind.SUMMARY, run_document(run_from_row(row)), now)
        self._context.changes.announce = True
        return True

    async def _tell(
        self,
        ended: Executable,
        run_id: UUID,
        event: Event,
        outcome: dict[str, Any],
        more: Progress,
        now: datetime,
        **values: object,
    ) -> None:
        """Ends the attempt, counts the event, which locks the run's row until the commit, and tells of it."""
        values |= {f"more_{name}": count for name, count in counts_of(more).items()}
        values |= {"moment": now, "pause": timedelta(seconds=PROGRESS_SECONDS), "outcome": outcome}
        row = await self._first(ended, run=run_id, event=event.event_id, **values)
        if row is None:
            return
        due = row.progress_time == now
        if due:
            run = run_from_row(row)
            progress = progress_document(run, eta(run.worked, run.start_time, now))
            await self._message(run_id, row.sequence, MessageKind.PROGRESS, progress, now)
        self._context.changes.announce = True

    async def _message(
        self, run_id: UUID, sequence: int, kind: MessageKind, payload: dict[str, Any], now: datetime
    ) -> None:
        values = message_values(self._context.project, run_id, sequence, kind, payload, now)
        await self._context.statements.execute(INSERT_MESSAGE, [values])

    def _candidate_row(self, event: Event, position: int, one: Settled, now: datetime) -> dict[str, Any]:
        return {
            "project_id": self._context.project,
            "event_id": event.event_id,
            "position": position,
            "candidate_key": one.key,
            "outcome": one.outcome.value,
            "reason": one.reason,
            "text": one.text[:MAX_WORDS],
            "fact_id": one.fact_id,
            "create_time": now,
        }

    async def _execute(self, statement: Executable, **parameters: object) -> Any:  # noqa: ANN401 - a result of rows
        return await self._context.statements.execute(statement, {"project": self._context.project, **parameters})

    async def _first(self, statement: Executable, **parameters: object) -> Row[Any] | None:
        row: Row[Any] | None = (await self._execute(statement, **parameters)).one_or_none()
        return row


def _kept(lease: Lease) -> dict[str, Any]:
    return {
        "of_type": lease.subject.entity_type,
        "of_id": lease.subject.entity_id,
        "lease_id": lease.lease_id,
    }

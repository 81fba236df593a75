"""Runs: starting, reading and cancelling them, and what they tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Insert,
    Integer,
    Row,
    Uuid,
    any_,
    bindparam,
    func,
    insert,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.domain.enums import EventState, RunStage, RunState
from concord_server.domain.errors import InvalidPageTokenError
from concord_server.domain.events import EventCandidate
from concord_server.domain.queries import Cursor, Page
from concord_server.domain.runs import UNFINISHED, Interruption, MessageKind, Run, RunMessage
from concord_server.ports.events import Settled
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.event_rows import Document, candidates_of
from concord_server.storage.event_tables import event_candidates, events, run_events, run_messages, runs
from concord_server.storage.events import within
from concord_server.storage.facts import PostgresFacts
from concord_server.storage.observation_tables import observation_versions
from concord_server.storage.observations import PostgresObservations
from concord_server.storage.run_rows import (
    Observed,
    facts_in,
    message_from_row,
    observations_in,
    outcome_document,
    run_document,
    run_from_row,
    run_values,
)
from concord_server.storage.statements import PROJECT, SessionContext

_RUN = bindparam("run", type_=Uuid)
_GET = select(runs).where(runs.c.project_id == PROJECT, runs.c.run_id == _RUN)
_MESSAGES = (
    select(run_messages)
    .where(
        run_messages.c.project_id == PROJECT,
        run_messages.c.run_id == _RUN,
        run_messages.c.sequence > bindparam("after", type_=BigInteger),
    )
    .order_by(run_messages.c.sequence)
    .limit(bindparam("size"))
)
_CANDIDATES = select(events.c.event_id, events.c.candidates).where(
    events.c.project_id == PROJECT, events.c.event_id == any_(bindparam("events", type_=ARRAY(Uuid)))
)
_WORDED = select(event_candidates.c.event_id, event_candidates.c.position, event_candidates.c.text).where(
    event_candidates.c.project_id == PROJECT,
    event_candidates.c.event_id == any_(bindparam("events", type_=ARRAY(Uuid))),
    event_candidates.c.text != "",
)
_REASONS = select(
    observation_versions.c.observation_id, observation_versions.c.version, observation_versions.c.reason
).where(
    observation_versions.c.project_id == PROJECT,
    observation_versions.c.observation_id == any_(bindparam("observations", type_=ARRAY(Uuid))),
    observation_versions.c.version == any_(bindparam("versions", type_=ARRAY(Integer))),
)
INSERT_MESSAGE = insert(run_messages)
"""Stores messages, one for each set of :func:`message_values`."""


def message_values(
    project: str, run_id: UUID, sequence: int, kind: MessageKind, payload: Document, now: datetime
) -> Document:
    """Returns the row of a message."""
    return {
        "project_id": project,
        "run_id": run_id,
        "sequence": sequence,
        "kind": kind.value,
        "payload": payload,
        "create_time": now,
    }


class PostgresRuns:
    """Implements :class:`~concord_server.ports.events.RunRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def add(self, run: Run, actor: str) -> Run:
        """Stores a new run with the events that wait within its scope, tells it, and returns it with their number."""
        await self._context.statements.execute(insert(runs).values(self._row(run, actor)))
        if RunStage.EXTRACT in run.scope.stages:
            await self._context.statements.execute(_take_events(self._context.project, run))
        counted = select(func.count()).where(
            run_events.c.project_id == self._context.project, run_events.c.run_id == run.run_id
        )
        total = (await self._context.statements.execute(counted)).scalar_one()
        row = (
            await self._context.statements.execute(self._update(run, total=total, sequence=1).returning(*runs.c))
        ).one()
        stored = run_from_row(row)
        await self._tell(stored, [(MessageKind.RUN, run_document(stored))])
        return stored

    async def add_planned(self, run: Run, actor: str, outcomes: Sequence[tuple[UUID, Sequence[Settled]]]) -> None:
        """Stores a dry run that is over, and everything that it tells."""
        told = [(MessageKind.RUN, run_document(run))]
        told += [
            (MessageKind.OUTCOME, outcome_document(e, EventState.PENDING, settled)) for e, settled in outcomes
        ]
        told.append((MessageKind.SUMMARY, run_document(run)))
        values = self._row(run, actor) | {"sequence": len(told), "told": True}
        await self._context.statements.execute(insert(runs).values(values))
        await self._tell(run, told)

    async def get(self, run_id: UUID) -> Run | None:
        """Returns the run."""
        row = await self._context.statements.first(_GET, {"project": self._context.project, "run": run_id})
        return run_from_row(row) if row else None

    async def list(self, states: Sequence[RunState], *, after: Cursor | None, size: int) -> Page[Run]:
        """Returns a page of runs, newest first.

        Raises:
            InvalidPageTokenError: ``after`` is not a position in this list.
        """
        conditions = [runs.c.project_id == self._context.project]
        if states:
            conditions.append(runs.c.state.in_([state.value for state in states]))
        counted = select(func.count()).select_from(runs).where(*conditions)
        total = (await self._context.statements.execute(counted)).scalar_one()
        query = select(runs).where(*conditions)
        if after is not None:
            last = tuple_(literal(_moment(after), TIMESTAMP), literal(after.last_id, Uuid()))
            query = query.where(tuple_(runs.c.create_time, runs.c.run_id) < last)
        ordered = query.order_by(runs.c.create_time.desc(), runs.c.run_id.desc()).limit(size + 1)
        rows = await self._context.statements.rows(ordered)
        items = [run_from_row(row) for row in rows[:size]]
        following = (
            Cursor(rows[size - 1].create_time.isoformat(), rows[size - 1].run_id) if len(rows) > size else None
        )
        return Page(items, following, total)

    async def cancel(self, run_id: UUID, now: datetime) -> Run | None:
        """Ends an unfinished run and returns it, ``None`` when it was over already. Its end is told by ``close``."""
        cancelled = (
            update(runs)
            .where(
                runs.c.project_id == self._context.project,
                runs.c.run_id == run_id,
                runs.c.state.in_([state.value for state in UNFINISHED]),
            )
            .values(state=RunState.CANCELLED.value, end_time=now)
            .returning(*runs.c)
        )
        row = await self._context.statements.first(cancelled)
        return run_from_row(row) if row else None

    async def interrupt(self, run_id: UUID, why: Interruption, now: datetime) -> None:
        """Ends a run that cannot go on, unless it is over already. Its end is told by ``close``."""
        interrupted = (
            update(runs)
            .where(
                runs.c.project_id == self._context.project,
                runs.c.run_id == run_id,
                runs.c.state.in_([state.value for state in UNFINISHED]),
            )
            .values(
                state=why.state.value,
                error_reason=why.error.reason,
                error_message=why.error.message,
                retry_time=why.retry_time,
                end_time=now,
            )
        )
        await self._context.statements.execute(interrupted)

    async def messages(self, run_id: UUID, after: int, limit: int) -> Sequence[RunMessage]:
        """Returns what the run told after a sequence, in order."""
        run = await self.get(run_id)
        if run is None:
            return []
        parameters = {"project": self._context.project, "run": run_id, "after": after, "size": limit}
        rows = await self._context.statements.rows(_MESSAGES, parameters)
        named = [UUID(row.payload["event_id"]) for row in rows if row.kind == MessageKind.OUTCOME.value]
        given: dict[UUID, Mapping[int, EventCandidate]] = {}
        if named:
            parameters = {"project": self._context.project, "events": named}
            found = await self._context.statements.rows(_CANDIDATES, parameters)
            given = {row.event_id: dict(enumerate(candidates_of(row.candidates))) for row in found}
            given |= _as_worded(await self._context.statements.rows(_WORDED, parameters))
        fact_ids = list({fact_id for row in rows for fact_id in facts_in(row)})
        facts = {fact.fact_id: fact for fact in await PostgresFacts(self._context).get_many(fact_ids)}
        observed = await self._observed([each for row in rows for each in observations_in(row)])
        return [message_from_row(row, run, given, facts, observed) for row in rows]

    async def _observed(self, named: Sequence[tuple[UUID, int]]) -> Observed:
        """Returns observations as they are now, and why those versions of them were written."""
        if not named:
            return Observed()
        ids = list({observation_id for observation_id, _ in named})
        found = await PostgresObservations(self._context).get_many(ids)
        versions = await self._context.statements.rows(
            _REASONS, {"project": self._context.project, "observations": ids, "versions": [v for _, v in named]}
        )
        reasons = {(row.observation_id, row.version): row.reason for row in versions}
        return Observed({each.observation_id: each for each in found}, reasons)

    async def is_told(self, run_id: UUID, after: int) -> bool:
        """Tells whether the run has told its summary, and nothing after a sequence."""
        row = await self._context.statements.first(_GET, {"project": self._context.project, "run": run_id})
        return row is not None and row.told and row.sequence <= after

    def _row(self, run: Run, actor: str) -> Document:
        return {"project_id": self._context.project, **run_values(run, actor)}

    def _update(self, run: Run, **values: Any) -> Any:  # noqa: ANN401 - an update, whose type says nothing
        same = (runs.c.project_id == self._context.project) & (runs.c.run_id == run.run_id)
        return update(runs).where(same).values(**values)

    async def _tell(self, run: Run, told: Sequence[tuple[MessageKind, Document]]) -> None:
        assert run.run_id is not None
        values = [
            message_values(self._context.project, run.run_id, sequence, kind, payload, run.create_time)
            for sequence, (kind, payload) in enumerate(told, start=1)
        ]
        await self._context.statements.execute(INSERT_MESSAGE, values)


def _take_events(project: str, run: Run) -> Insert:
    """Returns what puts the events that wait within a run's scope before it."""
    names = ("project_id", "run_id", "event_id", "subject_type", "subject_id", "occur_time", "has_candidates")
    chosen = select(
        events.c.project_id,
        literal(run.run_id, Uuid()),
        events.c.event_id,
        events.c.subject_type,
        events.c.subject_id,
        events.c.occur_time,
        func.jsonb_array_length(events.c.candidates) > 0,
    ).where(*within(project, run.scope))
    chosen = chosen.order_by(events.c.occur_time, events.c.event_id)
    if run.scope.max_events:
        chosen = chosen.limit(run.scope.max_events)
    return insert(run_events).from_select(names, chosen)


def _as_worded(rows: Sequence[Row[Any]]) -> dict[UUID, Mapping[int, EventCandidate]]:
    """Returns what a model took from events and no fact carries, by its position."""
    found: dict[UUID, dict[int, EventCandidate]] = {}
    for row in rows:
        found.setdefault(row.event_id, {})[row.position] = EventCandidate(text=row.text)
    return dict(found)


def _moment(after: Cursor) -> datetime:
    try:
        moment = datetime.fromisoformat(after.value)
    except ValueError:
        raise InvalidPageTokenError.of("page_token", "is not a position in this list") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

"""Events: appending and reading them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Executable,
    Text,
    Uuid,
    any_,
    bindparam,
    column,
    func,
    literal,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, insert

from concord_server.domain.enums import EventState
from concord_server.domain.errors import IdempotencyKeyReusedError, InvalidPageTokenError
from concord_server.domain.events import Appended, Event, EventFilter
from concord_server.domain.model import EntityRef
from concord_server.domain.queries import Cursor, FactOrder, Page
from concord_server.domain.runs import RunScope
from concord_server.ports.events import Extraction
from concord_server.storage.columns import JSON, TIMESTAMP
from concord_server.storage.event_rows import (
    event_from_row,
    event_values,
    extraction_document,
    extraction_from,
)
from concord_server.storage.event_tables import EventSearchStep, event_search, event_subjects, events
from concord_server.storage.statements import PROJECT, SessionContext

WAITING = (EventState.PENDING.value, EventState.RUNNING.value, EventState.FAILED.value)
"""States of events that are not settled."""

_GIVEN = (
    *("event_id", "subject_type", "subject_id", "kind", "text", "payload", "messages", "occur_time", "trust"),
    *("access_scope", "domain", "source", "tags", "idempotency_key", "digest", "candidates", "state", "attempts"),
    *("error_reason", "error_message", "create_time", "update_time"),
)
_ROWS: BindParameter[Any] = bindparam("rows", type_=JSON)


def _rows(name: str, names: Sequence[str], table: Any) -> Any:  # noqa: ANN401 - as SQLAlchemy types it
    """Returns the rows of a JSON array as a table, so that one statement takes any number of them."""
    columns = [column(each, table.c[each].type) for each in names]
    return func.jsonb_to_recordset(_ROWS).table_valued(*columns, name=name).render_derived(name, with_types=True)


def _append() -> Executable:
    given = _rows("given", _GIVEN, events)
    chosen = select(PROJECT, *(given.c[name] for name in _GIVEN))
    inserted = insert(events).from_select(["project_id", *_GIVEN], chosen)
    new = inserted.on_conflict_do_nothing().returning(events.c.event_id).cte("new")
    unsearched = select(PROJECT, new.c.event_id, literal(EventSearchStep.WORDS.value, Text()))
    return (
        insert(event_search)
        .from_select(["project_id", "event_id", "step"], unsearched)
        .returning(event_search.c.event_id)
    )


def _append_subjects() -> Executable:
    names = ("subject_type", "subject_id")
    given = _rows("given", names, event_subjects)
    chosen = select(PROJECT, given.c.subject_type, given.c.subject_id)
    return insert(event_subjects).from_select(["project_id", *names], chosen).on_conflict_do_nothing()


_APPEND = _append()
_APPEND_SUBJECTS = _append_subjects()
_BY_KEY = select(events.c.idempotency_key, events.c.event_id, events.c.digest).where(
    events.c.project_id == PROJECT, events.c.idempotency_key == any_(bindparam("keys", type_=ARRAY(Text)))
)
_GET = select(events).where(events.c.project_id == PROJECT, events.c.event_id == bindparam("event", type_=Uuid))

_EXTRACTION = select(events.c.extraction).where(
    events.c.project_id == PROJECT, events.c.event_id == bindparam("event", type_=Uuid)
)


class PostgresEvents:
    """Implements :class:`~concord_server.ports.events.EventRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def append(self, given: Sequence[tuple[Event, str]]) -> list[Appended]:
        """Stores events, each with the digest of its content, and returns what became of each, in order.

        Raises:
            IdempotencyKeyReusedError: a key stands for other content.
        """
        first = _first_of_each_key(given)
        # In the order of their keys, so that batches which share keys wait for each other instead of deadlocking.
        ordered = sorted(first, key=lambda pair: (pair[0].idempotency_key, pair[0].event_id))
        rows = [event_values(event, digest) for event, digest in ordered]
        inserted = await self._context.statements.execute(
            _APPEND, {"project": self._context.project, "rows": rows}
        )
        new = {row.event_id for row in inserted}
        subjects = sorted({(e.subject.entity_type, e.subject.entity_id) for e, _ in first if e.event_id in new})
        if subjects:
            named = [{"subject_type": entity_type, "subject_id": entity_id} for entity_type, entity_id in subjects]
            parameters = {"project": self._context.project, "rows": named}
            await self._context.statements.execute(_APPEND_SUBJECTS, parameters)
        known = await self._by_key([e.idempotency_key for e, _ in first if e.event_id not in new])
        known |= {e.idempotency_key: (e.event_id, digest) for e, digest in first if e.event_id in new}
        return [_appended(event, digest, known, new) for event, digest in given]

    async def _by_key(self, keys: Sequence[str]) -> dict[str, tuple[UUID, str]]:
        if not keys:
            return {}
        rows = await self._context.statements.rows(_BY_KEY, {"project": self._context.project, "keys": list(keys)})
        return {row.idempotency_key: (row.event_id, row.digest) for row in rows}

    async def get(self, event_id: UUID) -> Event | None:
        """Returns the event."""
        row = await self._context.statements.first(_GET, {"project": self._context.project, "event": event_id})
        return event_from_row(row) if row else None

    async def list(self, where: EventFilter, order: FactOrder, *, after: Cursor | None, size: int) -> Page[Event]:
        """Returns a page of events; the order is by ``create_time`` or ``occur_time``, then id.

        Raises:
            InvalidPageTokenError: ``after`` is not a position in this list.
        """
        conditions = _conditions(self._context.project, where)
        counted = select(func.count()).select_from(events).where(*conditions)
        total = (await self._context.statements.execute(counted)).scalar_one()
        here = (events.c[order.field], events.c.event_id)
        query = select(events).where(*conditions)
        if after is not None:
            last = tuple_(literal(_moment(after), TIMESTAMP), literal(after.last_id, Uuid()))
            query = query.where(tuple_(*here) < last if order.descending else tuple_(*here) > last)
        ordered = query.order_by(*(each.desc() if order.descending else each.asc() for each in here))
        rows = await self._context.statements.rows(ordered.limit(size + 1))
        items = [event_from_row(row) for row in rows[:size]]
        following = None
        if len(rows) > size:
            following = Cursor(getattr(items[-1], order.field).isoformat(), items[-1].event_id)
        return Page(items, following, total)

    async def retry(self, states: Sequence[EventState], subject: EntityRef | None, now: datetime) -> int:
        """Makes events in these states wait again, their attempts forgotten; returns how many."""
        conditions = _conditions(self._context.project, EventFilter(tuple(states), subject))
        requeued = (
            update(events)
            .where(*conditions)
            .values(state=EventState.PENDING.value, attempts=0, retry_time=None, update_time=now)
        )
        return (await self._context.statements.execute(requeued)).rowcount

    async def waiting(self, scope: RunScope, limit: int) -> Sequence[Event]:
        """Returns events that wait within a scope, in the order of their times and ids."""
        query = select(events).where(*within(self._context.project, scope))
        ordered = query.order_by(events.c.occur_time, events.c.event_id).limit(limit)
        return [event_from_row(row) for row in await self._context.statements.rows(ordered)]

    async def extraction(self, event_id: UUID) -> Extraction | None:
        """Returns what a model took from an event that is not done, if it is kept."""
        row = await self._context.statements.first(
            _EXTRACTION, {"project": self._context.project, "event": event_id}
        )
        return None if row is None or row.extraction is None else extraction_from(row.extraction)

    async def keep_extraction(self, event_id: UUID, extraction: Extraction) -> None:
        """Keeps what a model took from an event until it is done; what it cost is not kept."""
        kept = (
            update(events)
            .where(
                events.c.project_id == self._context.project,
                events.c.event_id == event_id,
                events.c.state != EventState.DONE.value,
                events.c.delete_time.is_(None),
            )
            .values(extraction=extraction_document(extraction))
        )
        await self._context.statements.execute(kept)


def within(project: str, scope: RunScope) -> list[ColumnElement[bool]]:
    """Returns the conditions that an event waits, or is being worked, within the scope of a run that starts now."""
    conditions = [
        events.c.project_id == project,
        # As the partial index says it, so that the planner finds it.
        events.c.state != EventState.DONE.value,
        events.c.state != EventState.DEAD.value,
        or_(events.c.state != EventState.FAILED.value, events.c.retry_time <= func.now()),
        events.c.delete_time.is_(None),
    ]
    if scope.subject is not None:
        conditions.append(events.c.subject_type == scope.subject.entity_type)
        conditions.append(events.c.subject_id == scope.subject.entity_id)
    if scope.domain:
        conditions.append(events.c.domain == scope.domain)
    return conditions


def _conditions(project: str, where: EventFilter) -> list[ColumnElement[bool]]:
    conditions = [events.c.project_id == project]
    if where.states:
        conditions.append(events.c.state.in_([state.value for state in where.states]))
    if where.subject is not None:
        conditions.append(events.c.subject_type == where.subject.entity_type)
        conditions.append(events.c.subject_id == where.subject.entity_id)
    if where.domain is not None:
        conditions.append(events.c.domain == where.domain)
    if where.access_scope is not None:
        conditions.append(events.c.access_scope == where.access_scope)
    return conditions


def _first_of_each_key(given: Sequence[tuple[Event, str]]) -> list[tuple[Event, str]]:
    """Returns the events without those whose key came before in the same batch."""
    seen: set[str] = set()
    first = []
    for event, digest in given:
        if event.idempotency_key and event.idempotency_key in seen:
            continue
        seen.add(event.idempotency_key)
        first.append((event, digest))
    return first


def _appended(event: Event, digest: str, known: dict[str, tuple[UUID, str]], new: set[UUID]) -> Appended:
    if event.event_id in new:
        return Appended(event.event_id, duplicate=False)
    event_id, stored = known[event.idempotency_key]
    if stored != digest:
        raise IdempotencyKeyReusedError(event.idempotency_key)
    return Appended(event_id, duplicate=True)


def _moment(after: Cursor) -> datetime:
    try:
        moment = datetime.fromisoformat(after.value)
    except ValueError:
        raise InvalidPageTokenError.of("page_token", "belongs to another order") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

"""Events by meaning and by words, and how they become findable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Executable,
    Integer,
    Interval,
    Text,
    Uuid,
    any_,
    bindparam,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.domain.events import Event, EventFilter
from concord_server.domain.search import SearchHit
from concord_server.ports.embedder import Vector
from concord_server.storage.columns import EMBEDDING
from concord_server.storage.event_rows import event_from_row
from concord_server.storage.event_tables import EventSearchStep, event_search, events
from concord_server.storage.hybrid import Corpus, ranked, words_of
from concord_server.storage.statements import PROJECT, SessionContext

WAITS = event_search.c.step != EventSearchStep.DONE.value
"""As the partial index says it, so that the planner finds it."""

_OF_PROJECT = event_search.c.project_id == PROJECT
_THESE: ColumnElement[Any] = any_(bindparam("events", type_=ARRAY(Uuid)))


@dataclass(frozen=True, slots=True)
class _Shape:
    """Which conditions a filter has, whatever their values."""

    states: bool
    domain: bool
    access_scope: bool


class PostgresEventSearch:
    """Implements :class:`~concord_server.ports.event_search.EventSearchRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def hits(
        self, where: EventFilter, *, vector: Vector | None, words: Sequence[str], depth: int
    ) -> list[SearchHit]:
        """Returns the events nearest to a vector and those that match words best, of those that pass the filter."""
        assert where.subject is not None
        shape = _Shape(bool(where.states), where.domain is not None, where.access_scope is not None)
        parameters = {
            "project": self._context.project,
            "subject_type": where.subject.entity_type,
            "subject_id": where.subject.entity_id,
            "states": [state.value for state in where.states],
            "domain": where.domain,
            "access_scope": where.access_scope,
        }
        statements = self._context.statements
        return await ranked(statements, _corpus(shape), parameters, vector=vector, words=words, depth=depth)

    async def found(self, event_ids: Sequence[UUID]) -> list[Event]:
        """Returns the events in the order asked for; those that are erased by now are left out."""
        if not event_ids:
            return []
        rows = await self._context.statements.rows(
            _FOUND, {"project": self._context.project, "events": list(event_ids)}
        )
        found = {row.event_id: event_from_row(row) for row in rows}
        return [found[event_id] for event_id in event_ids if event_id in found]

    async def take(self, limit: int, lease: timedelta, *, unread: bool = False) -> list[Event]:
        """Takes events that cannot be found yet, oldest first; nobody else gets them while the lease runs."""
        parameters = {"project": self._context.project, "limit": limit, "lease": lease}
        rows = await self._context.statements.rows(_TAKE_UNREAD if unread else _TAKE, parameters)
        return [event_from_row(row) for row in rows]

    async def index(self, texts: Mapping[UUID, str], vectors: Mapping[UUID, Vector]) -> None:
        """Stores the words of events' texts, with their embeddings; one without an embedding goes on waiting."""
        parameters = [
            {
                "project": self._context.project,
                "event": event_id,
                "text": text,
                "vector": vectors.get(event_id),
                "next": (
                    EventSearchStep.EMBEDDING if text and event_id not in vectors else EventSearchStep.DONE
                ).value,
            }
            for event_id, text in texts.items()
        ]
        await self._context.statements.execute(_INDEX, parameters)


@lru_cache
def _corpus(shape: _Shape) -> Corpus:
    conditions = [
        events.c.project_id == PROJECT,
        events.c.subject_type == bindparam("subject_type", type_=Text),
        events.c.subject_id == bindparam("subject_id", type_=Text),
        events.c.delete_time.is_(None),
    ]
    if shape.states:
        conditions.append(events.c.state == any_(bindparam("states", type_=ARRAY(Text))))
    if shape.domain:
        conditions.append(events.c.domain == bindparam("domain", type_=Text))
    if shape.access_scope:
        conditions.append(events.c.access_scope == bindparam("access_scope", type_=Text))
    return Corpus(event_search, events, "event_id", tuple(conditions))


def _same_event() -> ColumnElement[bool]:
    return (event_search.c.project_id == events.c.project_id) & (event_search.c.event_id == events.c.event_id)


def _take(step: EventSearchStep | None = None) -> Executable:
    """Returns the query that takes events at a step, or at any."""
    free = or_(event_search.c.taken_until.is_(None), event_search.c.taken_until < func.clock_timestamp())
    waiting = (
        select(event_search.c.event_id)
        .where(_OF_PROJECT, WAITS, *([event_search.c.step == step.value] if step else []), free)
        .order_by(event_search.c.step, event_search.c.event_id)
        .limit(bindparam("limit", type_=Integer))
        .with_for_update(skip_locked=True)
        .cte("waiting")
    )
    taken = (
        update(event_search)
        .where(_OF_PROJECT, event_search.c.event_id == waiting.c.event_id)
        .values(taken_until=func.clock_timestamp() + bindparam("lease", type_=Interval))
        .returning(event_search.c.event_id)
        .cte("taken")
    )
    return (
        select(events)
        .join(taken, taken.c.event_id == events.c.event_id)
        .where(events.c.project_id == PROJECT)
        .order_by(events.c.event_id)
    )


_FOUND = select(events).where(
    events.c.project_id == PROJECT, events.c.event_id == _THESE, events.c.delete_time.is_(None)
)
_TAKE = _take()
_TAKE_UNREAD = _take(EventSearchStep.WORDS)
# In one go: a row that is written again is entered into the index of words again.
_INDEX = (
    update(event_search)
    .where(_OF_PROJECT, WAITS, event_search.c.event_id == bindparam("event", type_=Uuid))
    .values(
        words=words_of(bindparam("text", type_=Text)),
        embedding=bindparam("vector", type_=EMBEDDING),
        step=bindparam("next", type_=Text),
    )
)

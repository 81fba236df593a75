"""Background work: what is due, and who does it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Executable,
    Integer,
    Row,
    Text,
    Uuid,
    and_,
    bindparam,
    case,
    cast,
    false,
    func,
    or_,
    select,
    true,
    tuple_,
)
from sqlalchemy.ext.asyncio import AsyncEngine

from concord_server.domain.enums import DecisionBasis, FactStatus
from concord_server.ports.agenda import DueSlot, UnembeddedFact
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.errors import translated_errors
from concord_server.storage.event_search import WAITS
from concord_server.storage.event_tables import event_search
from concord_server.storage.fact_tables import fact_search, facts
from concord_server.storage.partitions import partition_from_row
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import decisions

_PARTITION = ("access_scope", "domain", "type", "owner_type", "owner_id")
_NOW: BindParameter[datetime] = bindparam("now", type_=TIMESTAMP)
_UPKEEP = UUID(int=0)
"""Stands for the upkeep of a project, where other pieces of work have ids."""

_SCHEDULED = and_(facts.c.status == FactStatus.PENDING.value, facts.c.conflict_id.is_(None))


class PostgresAgenda:
    """Implements :class:`~concord_server.ports.agenda.Agenda`, and the same for events that are to be findable."""

    def __init__(self, engine: AsyncEngine) -> None:
        """Takes an engine of :func:`~concord_server.storage.engine.create_engine`."""
        self._reading = engine.execution_options(isolation_level="AUTOCOMMIT")

    async def due_slots(self, now: datetime, *, after: DueSlot | None, limit: int) -> list[DueSlot]:
        """Returns timelines with work that is due, by project and id.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        last = None if after is None else after.slot_id
        parameters = {"now": now, "rows": limit, "project": after.project if after else "", "last": last}
        return [
            DueSlot(row.project_id, row.slot_id, partition_from_row(row))
            for row in await self._rows(_DUE, parameters)
        ]

    async def next_due(self, now: datetime) -> datetime | None:
        """Returns when the next scheduled fact after ``now`` is due, ``None`` without one.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        [row] = await self._rows(_NEXT_DUE, {"now": now})
        due: datetime | None = row.due
        return due

    async def unembedded(self, *, after: UnembeddedFact | None, limit: int) -> list[UnembeddedFact]:
        """Returns facts that wait for their embedding, by project and creation.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        last = None if after is None else after.fact_id
        parameters = {"rows": limit, "project": after.project if after else "", "last": last}
        rows = await self._rows(_UNEMBEDDED, parameters)
        return [
            UnembeddedFact(row.project_id, row.fact_id, partition_from_row(row), row.text, row.undecided)
            for row in rows
        ]

    async def project_with_unsearchable_events(self, *, after: str) -> str | None:
        """Returns the first project after ``after`` with events that cannot be found yet, ``None`` without one.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        rows = await self._rows(_UNSEARCHABLE, {"project": after})
        return rows[0].project_id if rows else None

    async def _rows(self, query: Executable, parameters: dict[str, Any]) -> Sequence[Row[Any]]:
        with translated_errors():
            async with self._reading.connect() as connection:
                return (await connection.execute(query, parameters)).all()


class PostgresWork:
    """Implements :class:`~concord_server.ports.agenda.WorkRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def take_slot(self, slot_id: UUID, now: datetime) -> bool:
        """Takes a timeline until the session ends; false when nothing on it is due, or another has it."""
        parameters = {"project": self._context.project, "item": slot_id, "now": now}
        return bool((await self._context.statements.execute(_TAKE_SLOT, parameters)).scalar_one())

    async def take_upkeep(self) -> bool:
        """Takes the upkeep of the project until the session ends; false when another has it."""
        parameters = {"project": self._context.project, "item": _UPKEEP}
        return bool((await self._context.statements.execute(_TAKE_UPKEEP, parameters)).scalar_one())

    async def take_fact(self, fact_id: UUID) -> bool:
        """Takes a fact until the session ends; false when it has its embedding, or another has it."""
        parameters = {"project": self._context.project, "item": fact_id}
        return bool((await self._context.statements.execute(_TAKE_FACT, parameters)).scalar_one())


def _due() -> Executable:
    fields = (facts.c.project_id, facts.c.slot_id, *(facts.c[name] for name in _PARTITION))
    last = bindparam("last", type_=Uuid)
    further = or_(last.is_(None), tuple_(facts.c.project_id, facts.c.slot_id) > tuple_(PROJECT, last))
    return (
        select(*fields)
        .where(_SCHEDULED, facts.c.valid_from <= _NOW, further)
        .distinct()
        .order_by(facts.c.project_id, facts.c.slot_id)
        .limit(bindparam("rows", type_=Integer))
    )


def _unembedded() -> Executable:
    last = bindparam("last", type_=Uuid)
    # Ids are in the order of creation.
    further = or_(last.is_(None), tuple_(fact_search.c.project_id, fact_search.c.fact_id) > tuple_(PROJECT, last))
    undecided = (
        select(decisions.c.decision_id)
        .where(
            decisions.c.project_id == facts.c.project_id,
            decisions.c.fact_id == facts.c.fact_id,
            decisions.c.basis == DecisionBasis.EMBEDDER_UNAVAILABLE.value,
        )
        .correlate(facts)
        .exists()
    )
    fields = (facts.c.project_id, facts.c.fact_id, facts.c.text, *(facts.c[name] for name in _PARTITION))
    return (
        select(*fields, undecided.label("undecided"))
        .join_from(fact_search, facts, _same_fact())
        .where(fact_search.c.embedding.is_(None), further)
        .order_by(fact_search.c.project_id, fact_search.c.fact_id)
        .limit(bindparam("rows", type_=Integer))
    )


def _same_fact() -> ColumnElement[bool]:
    return (fact_search.c.project_id == facts.c.project_id) & (fact_search.c.fact_id == facts.c.fact_id)


def _take(is_waiting: ColumnElement[bool]) -> Executable:
    """Returns the query that takes a piece of work with a lock of its own, held until the transaction ends.

    A lock on its row would be waited for by writers that hold the partition, and could wait for them in turn.
    """
    name = func.concat(PROJECT, "\x1f", cast(bindparam("item", type_=Uuid), Text))
    taken = func.pg_try_advisory_xact_lock(func.hashtextextended(name, 0))
    return select(case((is_waiting, taken), else_=false()))


def _slot_is_due() -> ColumnElement[bool]:
    on_slot = (facts.c.project_id == PROJECT) & (facts.c.slot_id == bindparam("item", type_=Uuid))
    return select(facts.c.fact_id).where(on_slot, _SCHEDULED, facts.c.valid_from <= _NOW).exists()


def _fact_is_unembedded() -> ColumnElement[bool]:
    this = (fact_search.c.project_id == PROJECT) & (fact_search.c.fact_id == bindparam("item", type_=Uuid))
    return select(fact_search.c.fact_id).where(this, fact_search.c.embedding.is_(None)).exists()


_DUE = _due()
_NEXT_DUE = select(func.min(facts.c.valid_from).label("due")).where(_SCHEDULED, facts.c.valid_from > _NOW)
_UNEMBEDDED = _unembedded()
_UNSEARCHABLE = (
    select(event_search.c.project_id)
    .where(WAITS, event_search.c.project_id > PROJECT)
    .order_by(event_search.c.project_id)
    .limit(1)
)
_TAKE_SLOT = _take(_slot_is_due())
_TAKE_UPKEEP = _take(true())
_TAKE_FACT = _take(_fact_is_unembedded())

"""Entities: which there are, which of them are one, and moving what belongs to one to another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Executable,
    Integer,
    Text,
    bindparam,
    column,
    delete,
    func,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, insert

from concord_server.domain.entities import EntityOrder, EntitySummary
from concord_server.domain.enums import FactStatus
from concord_server.domain.errors import InvalidPageTokenError
from concord_server.domain.model import EntityRef, Fact, Partition
from concord_server.domain.queries import Cursor, Page
from concord_server.domain.values import subject_key
from concord_server.ports.entities import EntityKey, MergedSlot
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.fact_rows import fact_columns, fact_from_row
from concord_server.storage.fact_tables import fact_search, fact_subjects, facts
from concord_server.storage.partitions import partition_from_row, partition_id_of
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import conflicts, entity_aliases, partitions, slot_assertions, slots

_NO_ID = UUID(int=0)
_LOCK: ColumnElement[int] = bindparam("lock", type_=BigInteger)
_HOLD = select(func.pg_advisory_xact_lock_shared(_LOCK))
_HOLD_ALL = select(func.pg_advisory_xact_lock(_LOCK))


class PostgresEntities:
    """Implements :class:`~concord_server.ports.entities.EntityRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def resolve(self, entities: Collection[EntityKey]) -> Mapping[EntityKey, str]:
        """Returns, for each entity that was merged into another, the id of that one."""
        if not entities:
            return {}
        each = sorted(set(entities))
        parameters = {
            "project": self._context.project,
            "types": [entity_type for entity_type, _ in each],
            "ids": [entity_id for _, entity_id in each],
        }
        rows = await self._context.statements.rows(_RESOLVE, parameters)
        return {(row.entity_type, row.entity_id): row.into_id for row in rows}

    async def hold(self, entities: Collection[EntityKey]) -> Mapping[EntityKey, str]:
        """Does as :meth:`resolve`, and keeps entities from being merged until the session ends."""
        if not entities:
            return {}
        await self._context.statements.execute(_HOLD, {"lock": _merge_lock(self._context.project)})
        return await self.resolve(entities)

    async def hold_all(self) -> None:
        """Keeps every other session from writing about entities until this one ends."""
        await self._context.statements.execute(_HOLD_ALL, {"lock": _merge_lock(self._context.project)})

    async def list(
        self, entity_type: str, order: EntityOrder, *, after: Cursor | None, size: int
    ) -> Page[EntitySummary]:
        """Returns a page of the entities of a type, of all types where it is empty.

        Raises:
            InvalidPageTokenError: ``after`` is not a position in this list.
        """
        known = _summaries(self._context.project, entity_type).cte("known")
        total = (await self._context.statements.execute(select(func.count()).select_from(known))).scalar_one()
        query = select(known)
        name = (known.c.entity_type, known.c.entity_id)
        if order is EntityOrder.BY_ID:
            position: tuple[ColumnElement[Any], ...] = (known.c.entity_id, known.c.entity_type)
        else:
            ranked = _epoch(known.c.last_time) if order is EntityOrder.NEWEST else known.c.fact_count
            position = (-ranked, *name)
        if after is not None:
            query = query.where(tuple_(*position) > tuple_(*_last(after, order)))
        rows = await self._context.statements.rows(query.order_by(*position).limit(size + 1))
        items = [EntitySummary(r.entity_type, r.entity_id, r.fact_count, r.last_time) for r in rows[:size]]
        return Page(items, _cursor(items[-1], order) if len(rows) > size else None, total)

    def partition_id(self, partition: Partition) -> UUID:
        """Returns the id that a partition has, also before its first use."""
        return partition_id_of(partition)

    async def partitions_of(self, entity: EntityRef) -> Sequence[Partition]:
        """Returns the partitions with a fact that is owned by or linked to this very id."""
        query = select(partitions).where(
            partitions.c.project_id == self._context.project,
            partitions.c.partition_id.in_(
                select(facts.c.partition_id).where(*_about_this(self._context.project, entity))
            ),
        )
        return [partition_from_row(row) for row in await self._context.statements.rows(query)]

    async def facts_of(self, entity: EntityRef) -> Sequence[Fact]:
        """Returns the facts owned by or linked to this very id, erased ones left out, by id."""
        query = (
            select(*fact_columns())
            .where(*_about_this(self._context.project, entity), facts.c.status != FactStatus.DELETED.value)
            .order_by(facts.c.fact_id)
        )
        return [fact_from_row(row) for row in await self._context.statements.rows(query)]

    async def add_alias(self, entity: EntityRef, into_id: str, now: datetime) -> None:
        """Makes an id, and all that were merged into it, resolve to another."""
        of_entity = (
            entity_aliases.c.project_id == self._context.project,
            entity_aliases.c.entity_type == entity.entity_type,
        )
        await self._context.statements.execute(
            update(entity_aliases)
            .where(*of_entity, entity_aliases.c.into_id == entity.entity_id)
            .values(into_id=into_id)
        )
        values = {
            "project_id": self._context.project,
            "entity_type": entity.entity_type,
            "entity_id": entity.entity_id,
            "into_id": into_id,
            "create_time": now,
        }
        await self._context.statements.execute(insert(entity_aliases).values(values))

    async def move_slot(self, slot: MergedSlot) -> None:
        """Moves a slot or line, with its assertions and conflicts."""
        if slot.slot_key is not None:
            subject = slot.subject or ""
            await self._context.statements.execute(
                update(slots)
                .where(slots.c.project_id == self._context.project, slots.c.slot_id == slot.slot_id)
                .values(
                    partition_id=slot.partition_id,
                    slot_key=slot.slot_key,
                    subject=subject,
                    subject_key=subject_key(subject),
                )
            )
        for table in (slot_assertions, conflicts):
            await self._context.statements.execute(
                update(table)
                .where(table.c.project_id == self._context.project, table.c.slot_id == slot.slot_id)
                .values(partition_id=slot.partition_id)
            )

    async def drop_slot(self, slot_id: UUID) -> None:
        """Forgets a slot whose facts are on another one now."""
        await self._context.statements.execute(
            delete(slots).where(slots.c.project_id == self._context.project, slots.c.slot_id == slot_id)
        )

    async def move_search(self, fact_ids: Sequence[UUID], partition_id: UUID) -> None:
        """Lets facts be found in another partition."""
        await self._context.statements.execute(
            update(fact_search)
            .where(fact_search.c.project_id == self._context.project, fact_search.c.fact_id.in_(fact_ids))
            .values(partition_id=partition_id)
        )

    async def align(self, partition_ids: Sequence[UUID], moment: datetime) -> None:
        """Lets nothing more be recorded in these locked partitions before ``moment``."""
        await self._context.statements.execute(
            update(partitions)
            .where(partitions.c.project_id == self._context.project, partitions.c.partition_id.in_(partition_ids))
            .values(recorded_time=func.greatest(partitions.c.recorded_time, literal(moment, TIMESTAMP)))
        )


def _resolve() -> Executable:
    asked = (
        func.unnest(bindparam("types", type_=ARRAY(Text)), bindparam("ids", type_=ARRAY(Text)))
        .table_valued(column("entity_type", Text), column("entity_id", Text), name="asked")
        .render_derived()
    )
    same = (entity_aliases.c.entity_type == asked.c.entity_type) & (
        entity_aliases.c.entity_id == asked.c.entity_id
    )
    return (
        select(asked.c.entity_type, asked.c.entity_id, entity_aliases.c.into_id)
        .select_from(asked.join(entity_aliases, same))
        .where(entity_aliases.c.project_id == PROJECT)
    )


def _about_this(project: str, entity: EntityRef) -> list[ColumnElement[bool]]:
    """Returns the conditions that a row of ``facts`` is owned by or linked to this very id."""
    linked = select(fact_subjects.c.fact_id).where(
        fact_subjects.c.project_id == project,
        fact_subjects.c.entity_type == entity.entity_type,
        fact_subjects.c.entity_id == entity.entity_id,
    )
    own = facts.alias("own")
    owned = select(own.c.fact_id).where(
        own.c.project_id == project,
        own.c.owner_type == entity.entity_type,
        own.c.owner_id == entity.entity_id,
        own.c.owner_type != "",
    )
    return [facts.c.project_id == project, facts.c.fact_id.in_(linked.union(owned))]


def _summaries(project: str, entity_type: str) -> Any:  # noqa: ANN401 - a select, whose type says nothing
    same = (fact_subjects.c.project_id == facts.c.project_id) & (fact_subjects.c.fact_id == facts.c.fact_id)
    linked = (
        select(fact_subjects.c.entity_type, fact_subjects.c.entity_id, facts.c.fact_id, facts.c.update_time)
        .select_from(fact_subjects.join(facts, same))
        .where(fact_subjects.c.project_id == project, facts.c.status != FactStatus.DELETED.value)
    )
    owned = select(
        facts.c.owner_type.label("entity_type"),
        facts.c.owner_id.label("entity_id"),
        facts.c.fact_id,
        facts.c.update_time,
    ).where(facts.c.project_id == project, facts.c.status != FactStatus.DELETED.value, facts.c.owner_type != "")
    if entity_type:
        linked = linked.where(fact_subjects.c.entity_type == entity_type)
        owned = owned.where(facts.c.owner_type == entity_type)
    each = linked.union(owned).subquery("each")
    return select(
        each.c.entity_type,
        each.c.entity_id,
        func.count().cast(Integer).label("fact_count"),
        func.max(each.c.update_time).label("last_time"),
    ).group_by(each.c.entity_type, each.c.entity_id)


def _epoch(time: ColumnElement[datetime]) -> ColumnElement[int]:
    """Returns a time in microseconds, exactly, so that it can be ordered backwards in a tuple."""
    return (func.extract("epoch", time) * 1_000_000).cast(BigInteger)


def _cursor(last: EntitySummary, order: EntityOrder) -> Cursor:
    microseconds = round(last.last_time.timestamp() * 1_000_000)
    ranked = {EntityOrder.NEWEST: microseconds, EntityOrder.MOST_FACTS: last.fact_count, EntityOrder.BY_ID: 0}
    return Cursor(json.dumps([ranked[order], last.entity_type, last.entity_id]), _NO_ID)


def _last(after: Cursor, order: EntityOrder) -> list[ColumnElement[Any]]:
    try:
        ranked, entity_type, entity_id = json.loads(after.value)
        if order is EntityOrder.BY_ID:
            return [literal(entity_id, Text()), literal(entity_type, Text())]
        return [literal(-int(ranked), BigInteger()), literal(entity_type, Text()), literal(entity_id, Text())]
    except (ValueError, TypeError):
        raise InvalidPageTokenError.of("page_token", "belongs to another list") from None


def _merge_lock(project: str) -> int:
    """Returns the number of the lock that keeps a project's entities as they are."""
    digest = hashlib.sha256(f"entities of {project}".encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


_RESOLVE = _resolve()

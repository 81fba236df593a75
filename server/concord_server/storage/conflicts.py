"""Conflicts and who is in them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, and_, delete, func, or_, select, true, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from concord_server.domain.enums import ConflictState, FactStatus, FactType
from concord_server.domain.errors import InvalidPageTokenError
from concord_server.domain.model import Conflict, Fact, Partition
from concord_server.domain.queries import ConflictFilter, ConflictSummary, Cursor, Page
from concord_server.storage.fact_queries import about, entity_parameters
from concord_server.storage.fact_rows import fact_columns, fact_from_row
from concord_server.storage.fact_tables import facts
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import conflict_members, conflicts, partitions


class PostgresConflicts:
    """Implements :class:`~concord_server.ports.ledger.ConflictRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def get(self, conflict_id: UUID) -> Conflict | None:
        """Returns the conflict with its facts, the incumbent first; erased facts are left out."""
        row = await self._context.statements.first(
            select(conflicts).where(
                conflicts.c.project_id == self._context.project, conflicts.c.conflict_id == conflict_id
            )
        )
        if row is None:
            return None
        members = await self._members([conflict_id])
        return _conflict(row, members.get(conflict_id, ()))

    async def of_conflict(self, conflict_id: UUID) -> Partition | None:
        """Returns the partition that the conflict is in."""
        same = (partitions.c.project_id == conflicts.c.project_id) & (
            partitions.c.partition_id == conflicts.c.partition_id
        )
        row = await self._context.statements.first(
            select(partitions)
            .join(conflicts, same)
            .where(conflicts.c.project_id == self._context.project, conflicts.c.conflict_id == conflict_id)
        )
        if row is None:
            return None
        return Partition(row.access_scope, row.domain, FactType(row.type), row.owner_type, row.owner_id)

    async def open(self, conflict_id: UUID, slot_id: UUID, partition_id: UUID, reason: str, now: datetime) -> None:
        """Stores an open conflict without members.

        Raises:
            ConcurrentUpdateError: the slot has an open conflict already.
        """
        await self._context.statements.execute(
            insert(conflicts).values(
                project_id=self._context.project,
                conflict_id=conflict_id,
                slot_id=slot_id,
                partition_id=partition_id,
                state=ConflictState.OPEN.value,
                reason=reason,
                create_time=now,
                resolution_note="",
                version=1,
            )
        )

    async def set_members(
        self, conflict_id: UUID, fact_ids: Sequence[UUID], incumbent_id: UUID | None, now: datetime
    ) -> None:
        """Makes exactly these facts current members; ones that leave keep their row with the time they left."""
        members = conflict_members.c
        leaving = and_(
            members.project_id == self._context.project,
            members.conflict_id == conflict_id,
            members.left_time.is_(None),
            members.fact_id.not_in(fact_ids),
        )
        # Who joined in this very moment never was a member.
        undone = delete(conflict_members).where(leaving, members.joined_time >= now)
        left = update(conflict_members).where(leaving, members.joined_time < now).values(left_time=now)
        changed = 0
        for statement in (undone, left):
            changed += (await self._context.statements.execute(statement)).rowcount
        if fact_ids:
            changed += await self._join(conflict_id, fact_ids, incumbent_id, now)
        if changed:
            await self._context.statements.execute(
                update(conflicts)
                .where(conflicts.c.project_id == self._context.project, conflicts.c.conflict_id == conflict_id)
                .values(version=conflicts.c.version + 1)
            )

    async def resolve(self, conflict_id: UUID, *, kept: UUID | None, note: str, now: datetime) -> None:
        """Marks the conflict resolved; its facts stay readable as its members."""
        await self._context.statements.execute(
            update(conflicts)
            .where(conflicts.c.project_id == self._context.project, conflicts.c.conflict_id == conflict_id)
            .values(
                state=ConflictState.RESOLVED.value,
                resolve_time=now,
                kept_fact_id=kept,
                resolution_note=note,
                version=conflicts.c.version + 1,
            )
        )

    async def list(
        self, where: ConflictFilter, *, after: Cursor | None, size: int, oldest_first: bool = False
    ) -> tuple[Page[Conflict], ConflictSummary]:
        """Returns a page of conflicts, with the summary over the whole filter but for its state.

        Raises:
            InvalidPageTokenError: ``after`` is not a position in this list.
        """
        conditions = self._conditions(where)
        is_open = conflicts.c.state == ConflictState.OPEN.value
        in_state = true() if where.state is None else conflicts.c.state == where.state.value
        counted = select(
            func.count().filter(in_state).label("total"),
            func.count().filter(is_open).label("open_count"),
            func.min(conflicts.c.create_time).filter(is_open).label("oldest_open_time"),
        ).where(*conditions, or_(in_state, is_open))
        parameters = {"project": self._context.project}
        if where.entity is not None:
            parameters |= entity_parameters("entity", where.entity)
        summary = (await self._context.statements.execute(counted, parameters)).one()
        position = tuple_(conflicts.c.create_time, conflicts.c.conflict_id)
        query = select(conflicts).where(*conditions, in_state)
        if after is not None:
            last = tuple_(_time_of(after), after.last_id)
            query = query.where(position > last if oldest_first else position < last)
        order = (conflicts.c.create_time, conflicts.c.conflict_id)
        query = query.order_by(*(order if oldest_first else (column.desc() for column in order))).limit(size + 1)
        rows = await self._context.statements.rows(query, parameters)
        members = await self._members([row.conflict_id for row in rows[:size]])
        items = [_conflict(row, members.get(row.conflict_id, ())) for row in rows[:size]]
        following = None
        if len(rows) > size:
            following = Cursor(items[-1].create_time.isoformat(), items[-1].conflict_id)
        page = Page(items, following, summary.total)
        return page, ConflictSummary(summary.open_count, summary.oldest_open_time)

    async def _join(
        self, conflict_id: UUID, fact_ids: Sequence[UUID], incumbent_id: UUID | None, now: datetime
    ) -> int:
        """Makes facts members that are not, and marks the incumbent; returns how many rows changed."""
        rows = [
            {
                "project_id": self._context.project,
                "conflict_id": conflict_id,
                "fact_id": fact_id,
                "joined_time": now,
                "is_incumbent": fact_id == incumbent_id,
            }
            for fact_id in dict.fromkeys(fact_ids)
        ]
        statement = insert(conflict_members).values(rows)
        joining = statement.on_conflict_do_update(
            index_elements=["project_id", "conflict_id", "fact_id"],
            index_where=conflict_members.c.left_time.is_(None),
            set_={"is_incumbent": statement.excluded.is_incumbent},
            where=conflict_members.c.is_incumbent != statement.excluded.is_incumbent,
        ).returning(conflict_members.c.fact_id)
        return len(await self._context.statements.rows(joining))

    async def _members(self, conflict_ids: Sequence[UUID]) -> dict[UUID, tuple[Fact, ...]]:
        """Returns the current facts of each conflict, erased ones left out."""
        if not conflict_ids:
            return {}
        members = conflict_members.c
        same = (members.project_id == facts.c.project_id) & (members.fact_id == facts.c.fact_id)
        query = (
            select(members.conflict_id.label("member_of"), *fact_columns())
            .select_from(conflict_members.join(facts, same))
            .where(
                members.project_id == self._context.project,
                members.conflict_id.in_(conflict_ids),
                members.left_time.is_(None),
                facts.c.status != FactStatus.DELETED.value,
            )
            .order_by(members.is_incumbent.desc(), facts.c.create_time, facts.c.fact_id)
        )
        found: dict[UUID, tuple[Fact, ...]] = {}
        for row in await self._context.statements.rows(query):
            found[row.member_of] = (*found.get(row.member_of, ()), fact_from_row(row))
        return found

    def _conditions(self, where: ConflictFilter) -> Sequence[ColumnElement[bool]]:
        """Returns the conditions of a filter, its state aside."""
        project = self._context.project
        conditions = [conflicts.c.project_id == project]
        within: list[ColumnElement[bool]] = []
        if where.domain:
            within.append(partitions.c.domain == where.domain)
        if where.access_scope is not None:
            within.append(partitions.c.access_scope == where.access_scope)
        if within:
            same = (partitions.c.project_id == project) & (partitions.c.partition_id == conflicts.c.partition_id)
            partition = select(partitions.c.partition_id).where(same, *within).correlate(conflicts)
            conditions.append(partition.exists())
        if where.entity is not None:
            conditions.append(_about())
        return conditions


def _about() -> ColumnElement[bool]:
    """Returns the condition that a current member is owned by or linked to the entity of the parameters."""
    members = conflict_members.c
    member = (
        select(members.fact_id)
        .join(facts, (members.project_id == facts.c.project_id) & (members.fact_id == facts.c.fact_id))
        .where(
            members.project_id == PROJECT,
            members.conflict_id == conflicts.c.conflict_id,
            members.left_time.is_(None),
            about("entity"),
        )
        .correlate(conflicts)
    )
    return member.exists()


def _time_of(cursor: Cursor) -> datetime:
    try:
        return datetime.fromisoformat(cursor.value)
    except ValueError:
        raise InvalidPageTokenError.of("page_token", "belongs to another list") from None


def _conflict(row: Row[Any], members: Sequence[Fact]) -> Conflict:
    return Conflict(
        conflict_id=row.conflict_id,
        slot_id=row.slot_id,
        state=ConflictState(row.state),
        facts=tuple(members),
        reason=row.reason,
        create_time=row.create_time,
        resolve_time=row.resolve_time,
        kept_fact_id=row.kept_fact_id,
        resolution_note=row.resolution_note,
        version=row.version,
    )

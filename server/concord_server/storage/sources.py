"""Sources across facts."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Executable, Text, Uuid, any_, bindparam, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.domain.model import Partition
from concord_server.ports.sources import SourceName, SourceUse
from concord_server.storage.fact_tables import evidence, facts, sources
from concord_server.storage.partitions import partition_from_row
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import slot_assertions


class PostgresSources:
    """Implements :class:`~concord_server.ports.sources.SourceRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def partitions(self, source: SourceName) -> dict[UUID, Partition]:
        """Returns the partitions with facts that rest on the source, by id."""
        rows = await self._context.statements.rows(_PARTITIONS, self._named(source))
        return {row.partition_id: partition_from_row(row) for row in rows}

    async def uses(self, source: SourceName, partition_id: UUID) -> list[SourceUse]:
        """Returns where the source is used within a partition, by slot and fact."""
        parameters = self._named(source) | {"partition": partition_id}
        rows = await self._context.statements.rows(_USES, parameters)
        return [SourceUse(row.source_id, row.fact_id, row.slot_id) for row in rows]

    async def remove(self, source_ids: Sequence[UUID]) -> None:
        """Removes sources with their evidence; what was stated by them no longer names a source."""
        parameters = {"project": self._context.project, "sources": list(source_ids)}
        for statement in _REMOVE:
            await self._context.statements.execute(statement, parameters)

    def _named(self, source: SourceName) -> dict[str, object]:
        return {"project": self._context.project, "external_id": source.external_id, "url": source.url}


def _is_named() -> ColumnElement[bool]:
    """Returns the condition that a source has the name given; empty ones name nothing."""
    return or_(_is("external_id"), _is("url"))


def _is(name: str) -> ColumnElement[bool]:
    """Returns the condition that a column is the parameter of its name, found through the index of digests."""
    stored, given = sources.c[name], bindparam(name, type_=Text)
    return (stored != "") & (func.md5(stored) == func.md5(given)) & (stored == given)


def _of_fact() -> ColumnElement[bool]:
    return (facts.c.project_id == sources.c.project_id) & (facts.c.fact_id == sources.c.fact_id)


def _partitions() -> Executable:
    fields = ("partition_id", "access_scope", "domain", "type", "owner_type", "owner_id")
    return (
        select(*(facts.c[name] for name in fields))
        .join_from(sources, facts, _of_fact())
        .where(sources.c.project_id == PROJECT, _is_named())
        .distinct()
    )


def _uses() -> Executable:
    return (
        select(sources.c.source_id, sources.c.fact_id, facts.c.slot_id)
        .join_from(sources, facts, _of_fact())
        .where(sources.c.project_id == PROJECT, facts.c.partition_id == bindparam("partition"), _is_named())
        .order_by(facts.c.slot_id, facts.c.fact_id, sources.c.source_id)
    )


def _remove() -> tuple[Executable, ...]:
    given = any_(bindparam("sources", type_=ARRAY(Uuid)))
    return (
        update(slot_assertions)
        .where(slot_assertions.c.project_id == PROJECT, slot_assertions.c.source_id == given)
        .values(source_id=None),
        delete(evidence).where(evidence.c.project_id == PROJECT, evidence.c.source_id == given),
        delete(sources).where(sources.c.project_id == PROJECT, sources.c.source_id == given),
    )


_PARTITIONS = _partitions()
_USES = _uses()
_REMOVE = _remove()

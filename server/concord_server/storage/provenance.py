"""Sources, evidence and the family graph: what facts rest on and come from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import BindParameter, Executable, Text, Uuid, bindparam, column, func, select
from sqlalchemy.dialects.postgresql import ARRAY, insert

from concord_server.domain.enums import EvolutionType
from concord_server.domain.model import Evidence, Source
from concord_server.ports.ledger import SourceStatistics
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.fact_rows import (
    evidence_content_digest,
    evidence_from_row,
    source_from_row,
    source_identity_digest,
)
from concord_server.storage.fact_tables import evidence, evolution_edges, sources
from concord_server.storage.statements import PROJECT, SessionContext


async def upsert_source(context: SessionContext, source: Source) -> Source:
    """Stores a source under its identity; the one that is there already keeps its id and create time."""
    values = {
        "project_id": context.project,
        "source_id": source.source_id,
        "fact_id": source.fact_id,
        "identity_digest": source_identity_digest(source),
        "source_type": source.source_type,
        "url": source.url,
        "title": source.title,
        "external_id": source.external_id,
        "credibility": source.credibility,
        "extract_time": source.extract_time,
        "trust": source.trust.name,
        "metadata": dict(source.metadata),
        "create_time": source.create_time,
    }
    return source_from_row((await context.statements.execute(_UPSERT_SOURCE, values)).one())


async def add_evidence(context: SessionContext, items: Sequence[Evidence]) -> None:
    """Stores pieces of evidence; an identical piece of the same fact is stored once."""
    if not items:
        return
    values = [
        {
            "project_id": context.project,
            "evidence_id": item.evidence_id,
            "fact_id": item.fact_id,
            "source_id": item.source_id,
            "content_digest": evidence_content_digest(item),
            "stance": item.stance.value,
            "quote": item.quote,
            "locator": item.locator,
            "source_kind": item.source_kind,
            "source_ref": item.source_ref,
            "confidence": item.confidence,
            "extraction_method": item.extraction_method,
            "create_time": item.create_time,
        }
        for item in items
    ]
    await context.statements.execute(_INSERT_EVIDENCE, values)


async def sources_of(context: SessionContext, fact_id: UUID) -> list[Source]:
    """Returns the fact's sources, oldest first."""
    parameters = {"project": context.project, "fact": fact_id}
    return [source_from_row(row) for row in await context.statements.rows(_SOURCES, parameters)]


async def evidence_of(context: SessionContext, fact_id: UUID) -> list[Evidence]:
    """Returns the fact's evidence, oldest first."""
    parameters = {"project": context.project, "fact": fact_id}
    return [evidence_from_row(row) for row in await context.statements.rows(_EVIDENCE, parameters)]


async def source_statistics(context: SessionContext, fact_id: UUID) -> SourceStatistics:
    """Returns what confidence needs of the fact's sources."""
    rows = await context.statements.rows(_SOURCES, {"project": context.project, "fact": fact_id})
    return SourceStatistics(
        credibilities=tuple(row.credibility for row in rows),
        newest_time=max((row.extract_time for row in rows), default=None),
    )


async def add_edges(
    context: SessionContext,
    child_id: UUID,
    parents: Sequence[UUID],
    evolution_type: EvolutionType,
    now: datetime,
) -> None:
    """Adds edges from ``parents``, in this order and after existing ones; existing edges stay."""
    if not parents:
        return
    parameters = {
        "project": context.project,
        "child": child_id,
        "parents": list(parents),
        "evolution_type": evolution_type.value,
        "now": now,
    }
    await context.statements.execute(_ADD_EDGES, parameters)


async def is_ancestor(context: SessionContext, ancestor_id: UUID, fact_id: UUID) -> bool:
    """Tells whether ``ancestor_id`` is ``fact_id`` or above it; ends also where the graph has a cycle."""
    parameters = {"project": context.project, "ancestor": ancestor_id, "fact": fact_id}
    return bool((await context.statements.execute(_IS_ANCESTOR, parameters)).scalar())


def _upsert_source() -> Executable:
    inserted = insert(sources)
    renewed = ("source_type", "url", "title", "external_id", "credibility", "extract_time", "trust", "metadata")
    return inserted.on_conflict_do_update(
        index_elements=["project_id", "fact_id", "identity_digest"],
        set_={name: inserted.excluded[name] for name in renewed},
    ).returning(sources)


def _add_edges() -> Executable:
    child: BindParameter[UUID] = bindparam("child", type_=Uuid)
    last = select(func.coalesce(func.max(evolution_edges.c.position), 0)).where(
        evolution_edges.c.project_id == PROJECT, evolution_edges.c.child_id == child
    )
    parents = (
        func.unnest(bindparam("parents", type_=ARRAY(Uuid)))
        .table_valued(column("parent_id", Uuid), with_ordinality="position", name="parents")
        .render_derived()
    )
    rows = select(
        PROJECT,
        child,
        parents.c.parent_id,
        bindparam("evolution_type", type_=Text),
        last.scalar_subquery() + parents.c.position,
        bindparam("now", type_=TIMESTAMP),
    )
    columns = ["project_id", "child_id", "parent_id", "type", "position", "create_time"]
    return insert(evolution_edges).from_select(columns, rows).on_conflict_do_nothing()


def _is_ancestor() -> Executable:
    start = select(bindparam("fact", type_=Uuid).label("fact_id")).cte("above", recursive=True)
    # UNION drops what was met before, which is what ends it on a cycle.
    above = start.union(
        select(evolution_edges.c.parent_id)
        .join(start, evolution_edges.c.child_id == start.c.fact_id)
        .where(evolution_edges.c.project_id == PROJECT)
    )
    return select(select(above).where(above.c.fact_id == bindparam("ancestor")).exists())


_UPSERT_SOURCE = _upsert_source()
_INSERT_EVIDENCE = insert(evidence).on_conflict_do_nothing(
    index_elements=["project_id", "fact_id", "content_digest"]
)
_SOURCES = (
    select(sources)
    .where(sources.c.project_id == PROJECT, sources.c.fact_id == bindparam("fact"))
    .order_by(sources.c.create_time, sources.c.source_id)
)
_EVIDENCE = (
    select(evidence)
    .where(evidence.c.project_id == PROJECT, evidence.c.fact_id == bindparam("fact"))
    .order_by(evidence.c.create_time, evidence.c.evidence_id)
)
_ADD_EDGES = _add_edges()
_IS_ANCESTOR = _is_ancestor()

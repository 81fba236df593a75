"""Sources, evidence and the family graph: what facts rest on and come from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Uuid, bindparam, column, func, literal, select
from sqlalchemy.dialects.postgresql import ARRAY, insert

from concord_server.domain.enums import EvolutionType
from concord_server.domain.model import Evidence, Source
from concord_server.ports.ledger import SourceStatistics
from concord_server.storage.fact_rows import (
    evidence_content_digest,
    evidence_from_row,
    source_from_row,
    source_identity_digest,
)
from concord_server.storage.fact_tables import evidence, evolution_edges, sources
from concord_server.storage.statements import SessionContext


async def upsert_source(context: SessionContext, source: Source) -> Source:
    """Stores a source under its identity; the one that is there already keeps its id and create time."""
    statement = insert(sources).values(
        project_id=context.project,
        source_id=source.source_id,
        fact_id=source.fact_id,
        identity_digest=source_identity_digest(source),
        source_type=source.source_type,
        url=source.url,
        title=source.title,
        external_id=source.external_id,
        credibility=source.credibility,
        extract_time=source.extract_time,
        trust=source.trust.name,
        metadata=dict(source.metadata),
        create_time=source.create_time,
    )
    renewed = ("source_type", "url", "title", "external_id", "credibility", "extract_time", "trust", "metadata")
    stored = statement.on_conflict_do_update(
        index_elements=["project_id", "fact_id", "identity_digest"],
        set_={name: statement.excluded[name] for name in renewed},
    ).returning(sources)
    return source_from_row((await context.statements.execute(stored)).one())


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
    statement = insert(evidence).on_conflict_do_nothing(index_elements=["project_id", "fact_id", "content_digest"])
    await context.statements.execute(statement, values)


async def sources_of(context: SessionContext, fact_id: UUID) -> list[Source]:
    """Returns the fact's sources, oldest first."""
    query = (
        select(sources)
        .where(sources.c.project_id == context.project, sources.c.fact_id == fact_id)
        .order_by(sources.c.create_time, sources.c.source_id)
    )
    return [source_from_row(row) for row in await context.statements.rows(query)]


async def evidence_of(context: SessionContext, fact_id: UUID) -> list[Evidence]:
    """Returns the fact's evidence, oldest first."""
    query = (
        select(evidence)
        .where(evidence.c.project_id == context.project, evidence.c.fact_id == fact_id)
        .order_by(evidence.c.create_time, evidence.c.evidence_id)
    )
    return [evidence_from_row(row) for row in await context.statements.rows(query)]


async def source_statistics(context: SessionContext, fact_id: UUID) -> SourceStatistics:
    """Returns what confidence needs of the fact's sources."""
    query = (
        select(sources.c.credibility, sources.c.extract_time)
        .where(sources.c.project_id == context.project, sources.c.fact_id == fact_id)
        .order_by(sources.c.create_time, sources.c.source_id)
    )
    rows = await context.statements.rows(query)
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
    last = (
        select(func.coalesce(func.max(evolution_edges.c.position), 0))
        .where(evolution_edges.c.project_id == context.project, evolution_edges.c.child_id == child_id)
        .scalar_subquery()
    )
    items = (
        func.unnest(bindparam("parents", list(parents), type_=ARRAY(Uuid)))
        .table_valued(column("parent_id", Uuid), with_ordinality="position", name="items")
        .render_derived()
    )
    columns = ["project_id", "child_id", "parent_id", "type", "position", "create_time"]
    rows = select(
        literal(context.project),
        literal(child_id, Uuid),
        items.c.parent_id,
        literal(evolution_type.value),
        last + items.c.position,
        literal(now),
    )
    await context.statements.execute(insert(evolution_edges).from_select(columns, rows).on_conflict_do_nothing())


async def is_ancestor(context: SessionContext, ancestor_id: UUID, fact_id: UUID) -> bool:
    """Tells whether ``ancestor_id`` is ``fact_id`` or above it; ends also where the graph has a cycle."""
    above = select(literal(fact_id, Uuid).label("fact_id")).cte("above", recursive=True)
    above = above.union(
        select(evolution_edges.c.parent_id)
        .join(above, evolution_edges.c.child_id == above.c.fact_id)
        .where(evolution_edges.c.project_id == context.project)
    )
    query = select(select(above).where(above.c.fact_id == ancestor_id).exists())
    return bool((await context.statements.execute(query)).scalar())

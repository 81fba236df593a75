"""Facts near a vector, within one partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    FromClause,
    Select,
    Subquery,
    bindparam,
    func,
    literal,
    or_,
    select,
    true,
)

from concord_server.ports.embedder import Vector
from concord_server.ports.ledger import ChangeProbe, SimilarFact
from concord_server.storage.columns import EMBEDDING
from concord_server.storage.fact_rows import fact_columns, fact_from_row
from concord_server.storage.fact_tables import fact_search, facts
from concord_server.storage.statements import SessionContext

EXACT_SCAN_LIMIT = 10_000
"""Partitions up to this many vectors are scanned whole, which is exact.

The index spans all partitions. Under a filter it finds what is near the vector anywhere, and then drops what
belongs elsewhere: the smaller the partition's share, the more it misses and the longer it takes.
"""

_OVERFETCH = 4
"""How many times more rows than asked for are taken from the index, to put them in order exactly."""

_large: set[tuple[str, UUID]] = set()
"""Partitions that were found to be larger; they do not shrink."""


async def similar_facts(
    context: SessionContext, partition_id: UUID, vector: Vector, *, min_similarity: float, limit: int
) -> list[SimilarFact]:
    """Returns the nearest facts of the partition, erased ones left out, by similarity, newest, id."""
    partition = (context.project, partition_id)
    if partition not in _large:
        rows = await context.statements.rows(_exact(*partition, vector, min_similarity, limit))
        if rows[0].size <= EXACT_SCAN_LIMIT:
            return [SimilarFact(fact_from_row(row), row.similarity) for row in rows if row.fact_id is not None]
        _large.add(partition)
    rows = await context.statements.rows(_by_index(*partition, vector, min_similarity, limit))
    return [SimilarFact(fact_from_row(row), row.similarity) for row in rows]


async def similarities(context: SessionContext, fact_ids: Sequence[UUID], vector: Vector) -> dict[UUID, float]:
    """Returns the cosine of each fact that has an embedding with ``vector``."""
    if not fact_ids:
        return {}
    query = select(fact_search.c.fact_id, _similarity(vector).label("similarity")).where(
        fact_search.c.project_id == context.project,
        fact_search.c.fact_id.in_(fact_ids),
        fact_search.c.embedding.is_not(None),
    )
    return {row.fact_id: row.similarity for row in await context.statements.rows(query)}


async def changed_since(context: SessionContext, partition_id: UUID, revision: int, probe: ChangeProbe) -> bool:
    """Tells whether a fact that the probe would meet changed after ``revision``."""
    meets: list[ColumnElement[bool]] = [facts.c.text_digest == probe.text_digest]
    if probe.slot_ids:
        meets.append(facts.c.slot_id.in_(sorted(probe.slot_ids)))
    changed = select(literal(1)).where(
        facts.c.project_id == context.project,
        facts.c.partition_id == partition_id,
        facts.c.partition_revision > revision,
    )
    if probe.vector is not None:
        same = (fact_search.c.project_id == facts.c.project_id) & (fact_search.c.fact_id == facts.c.fact_id)
        changed = changed.outerjoin_from(facts, fact_search, same)
        meets.append(_similarity(probe.vector) >= probe.min_similarity)
    found = await context.statements.execute(select(changed.where(or_(*meets)).exists()))
    return bool(found.scalar())


def _similarity(vector: Vector) -> ColumnElement[float]:
    """Returns the cosine of a row's embedding with ``vector``; rounding must not carry it beyond [-1, 1]."""
    distance: ColumnElement[float] = fact_search.c.embedding.op("<=>", return_type=Double())(_vector(vector))
    return func.greatest(func.least(1 - distance, 1.0), -1.0, type_=Double())


def _vector(vector: Vector) -> ColumnElement[Any]:
    return bindparam("vector", vector, type_=EMBEDDING)


def _of_partition(project: str, partition_id: UUID, vector: Vector) -> Select[Any]:
    return select(fact_search.c.fact_id, fact_search.c.create_time, _similarity(vector).label("similarity")).where(
        fact_search.c.project_id == project,
        fact_search.c.partition_id == partition_id,
        fact_search.c.embedding.is_not(None),
    )


def _exact(project: str, partition_id: UUID, vector: Vector, min_similarity: float, limit: int) -> Select[Any]:
    """Returns the query over every vector of the partition; it has at least one row, with the number scanned."""
    scanned = (
        _of_partition(project, partition_id, vector)
        .limit(EXACT_SCAN_LIMIT + 1)
        .cte("scanned")
        .prefix_with("MATERIALIZED")
    )
    size = select(func.count().label("size")).select_from(scanned).subquery("counted")
    nearest = _nearest(scanned, min_similarity, limit)
    return (
        select(size.c.size, nearest.c.similarity, *fact_columns())
        .select_from(size)
        .outerjoin(nearest, true())
        .outerjoin(facts, _is_fact(project, nearest))
        .order_by(*_by_nearness(nearest))
    )


def _by_index(project: str, partition_id: UUID, vector: Vector, min_similarity: float, limit: int) -> Select[Any]:
    """Returns the query that walks the index, which gives rows in nearly the right order."""
    found = (
        _of_partition(project, partition_id, vector)
        .order_by(fact_search.c.embedding.op("<=>")(_vector(vector)))
        .limit(limit * _OVERFETCH)
        .cte("found")
        .prefix_with("MATERIALIZED")
    )
    nearest = _nearest(found, min_similarity, limit)
    return (
        select(nearest.c.similarity, *fact_columns())
        .select_from(nearest)
        .join(facts, _is_fact(project, nearest))
        .order_by(*_by_nearness(nearest))
    )


def _nearest(of: CTE, min_similarity: float, limit: int) -> Subquery:
    return (
        select(of)
        .where(of.c.similarity >= min_similarity)
        .order_by(*_by_nearness(of))
        .limit(limit)
        .subquery("nearest")
    )


def _by_nearness(of: FromClause) -> list[ColumnElement[Any]]:
    return [of.c.similarity.desc(), of.c.create_time.desc(), of.c.fact_id]


def _is_fact(project: str, nearest: FromClause) -> ColumnElement[bool]:
    return (facts.c.project_id == project) & (facts.c.fact_id == nearest.c.fact_id)

"""Facts near a vector, within one partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    BindParameter,
    ColumnElement,
    Double,
    Executable,
    FromClause,
    Integer,
    Select,
    Subquery,
    Uuid,
    any_,
    bindparam,
    func,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.ports.embedder import Vector
from concord_server.ports.ledger import ChangeProbe, SimilarFact
from concord_server.storage.columns import EMBEDDING
from concord_server.storage.fact_rows import fact_columns, fact_from_row
from concord_server.storage.fact_tables import fact_search, facts
from concord_server.storage.statements import PROJECT, SessionContext

EXACT_SCAN_LIMIT = 5_000
"""Partitions up to this many vectors are scanned whole, which is exact.

The index spans all partitions. Under a filter it finds what is near the vector anywhere, and then drops what
belongs elsewhere: the smaller the partition's share, the more it misses and the longer it takes.
"""

_PARTITION: BindParameter[UUID] = bindparam("partition", type_=Uuid)
_VECTOR: BindParameter[Vector] = bindparam("vector", type_=EMBEDDING)
_MIN_SIMILARITY: BindParameter[float] = bindparam("min_similarity", type_=Double)
_LIMIT: BindParameter[int] = bindparam("limit", type_=Integer)

_OVERFETCH = 4
"""How many times more rows than asked for are taken from the index, to put them in order exactly."""

_large: set[tuple[str, UUID]] = set()
"""Partitions that were found to be larger; they do not shrink."""


async def similar_facts(
    context: SessionContext, partition_id: UUID, vector: Vector, *, min_similarity: float, limit: int
) -> list[SimilarFact]:
    """Returns the nearest facts of the partition, erased ones left out, by similarity, newest, id."""
    parameters = {
        "project": context.project,
        "partition": partition_id,
        "vector": vector,
        "min_similarity": min_similarity,
        "limit": limit,
        "scan_limit": EXACT_SCAN_LIMIT + 1,
    }
    partition = (context.project, partition_id)
    if partition not in _large:
        rows = await context.statements.rows(_EXACT, parameters)
        if rows[0].size <= EXACT_SCAN_LIMIT:
            return [SimilarFact(fact_from_row(row), row.similarity) for row in rows if row.fact_id is not None]
        _large.add(partition)
    rows = await context.statements.rows(_BY_INDEX, parameters)
    return [SimilarFact(fact_from_row(row), row.similarity) for row in rows]


async def similarities(context: SessionContext, fact_ids: Sequence[UUID], vector: Vector) -> dict[UUID, float]:
    """Returns the cosine of each fact that has an embedding with ``vector``."""
    if not fact_ids:
        return {}
    parameters = {"project": context.project, "facts": list(fact_ids), "vector": vector}
    rows = await context.statements.rows(_SIMILARITIES, parameters)
    return {row.fact_id: row.similarity for row in rows}


async def changed_since(context: SessionContext, partition_id: UUID, revision: int, probe: ChangeProbe) -> bool:
    """Tells whether a fact that the probe would meet changed after ``revision``."""
    parameters = {
        "project": context.project,
        "partition": partition_id,
        "revision": revision,
        "digest": probe.text_digest,
        "slots": sorted(probe.slot_ids),
        "vector": probe.vector,
        "min_similarity": probe.min_similarity,
    }
    return bool((await context.statements.execute(_CHANGED_SINCE, parameters)).scalar())


def _cosine() -> ColumnElement[float]:
    """Returns the cosine of a row's embedding with the vector, null where either is missing."""
    distance: ColumnElement[float] = fact_search.c.embedding.op("<=>", return_type=Double())(_VECTOR)
    return 1 - distance


def _similarity() -> ColumnElement[float]:
    """Returns the cosine of a row that has an embedding; rounding must not carry it beyond [-1, 1]."""
    return func.greatest(func.least(_cosine(), 1.0), -1.0, type_=Double())


def _changed_since() -> Executable:
    same = (fact_search.c.project_id == facts.c.project_id) & (fact_search.c.fact_id == facts.c.fact_id)
    met = or_(
        facts.c.text_digest == bindparam("digest"),
        facts.c.slot_id == any_(bindparam("slots", type_=ARRAY(Uuid))),
        _cosine() >= _MIN_SIMILARITY,
    )
    changed = (
        select(facts.c.fact_id)
        .outerjoin_from(facts, fact_search, same)
        .where(
            facts.c.project_id == PROJECT,
            facts.c.partition_id == _PARTITION,
            facts.c.partition_revision > bindparam("revision"),
            met,
        )
    )
    return select(changed.exists())


def _of_partition() -> Select[Any]:
    return select(fact_search.c.fact_id, fact_search.c.create_time, _similarity().label("similarity")).where(
        fact_search.c.project_id == PROJECT,
        fact_search.c.partition_id == _PARTITION,
        fact_search.c.embedding.is_not(None),
    )


def _exact() -> Executable:
    """Returns the query over every vector of a partition; it has one row at least, with the number scanned."""
    scanned = _of_partition().limit(bindparam("scan_limit")).cte("scanned").prefix_with("MATERIALIZED")
    size = select(func.count().label("size")).select_from(scanned).subquery("counted")
    nearest = _nearest(scanned)
    return (
        select(size.c.size, nearest.c.similarity, *fact_columns())
        .select_from(size)
        .outerjoin(nearest, true())
        .outerjoin(facts, _is_fact(nearest))
        .order_by(*_by_nearness(nearest))
    )


def _by_index() -> Executable:
    """Returns the query that walks the index, which gives rows in nearly the right order."""
    found = (
        _of_partition()
        .order_by(fact_search.c.embedding.op("<=>")(_VECTOR))
        .limit(_LIMIT * _OVERFETCH)
        .cte("found")
        .prefix_with("MATERIALIZED")
    )
    nearest = _nearest(found)
    return (
        select(nearest.c.similarity, *fact_columns())
        .select_from(nearest)
        .join(facts, _is_fact(nearest))
        .order_by(*_by_nearness(nearest))
    )


def _nearest(of: CTE) -> Subquery:
    near = select(of).where(of.c.similarity >= _MIN_SIMILARITY).order_by(*_by_nearness(of))
    return near.limit(_LIMIT).subquery("nearest")


def _by_nearness(of: FromClause) -> list[ColumnElement[Any]]:
    return [of.c.similarity.desc(), of.c.create_time.desc(), of.c.fact_id]


def _is_fact(nearest: FromClause) -> ColumnElement[bool]:
    return (facts.c.project_id == PROJECT) & (facts.c.fact_id == nearest.c.fact_id)


_EXACT = _exact()
_BY_INDEX = _by_index()
_SIMILARITIES = select(fact_search.c.fact_id, _similarity().label("similarity")).where(
    fact_search.c.project_id == PROJECT,
    fact_search.c.fact_id == any_(bindparam("facts", type_=ARRAY(Uuid))),
    fact_search.c.embedding.is_not(None),
)
_CHANGED_SINCE = _changed_since()

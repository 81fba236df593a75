"""Facts by meaning and by words, inside a filter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Double,
    Executable,
    Integer,
    Select,
    Text,
    Uuid,
    any_,
    bindparam,
    case,
    cast,
    column,
    func,
    literal,
    null,
    select,
    true,
    union_all,
)
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import ARRAY, TSQUERY

from concord_server.domain.enums import FactStatus
from concord_server.domain.model import Fact
from concord_server.domain.queries import CurrentRead, FactFilter
from concord_server.domain.search import SearchHit
from concord_server.ports.embedder import Vector
from concord_server.storage.columns import EMBEDDING, TIMESTAMP
from concord_server.storage.fact_queries import Shape, conditions_of, parameters_of, shape_of
from concord_server.storage.fact_rows import fact_columns, fact_from_row, version_columns
from concord_server.storage.fact_saving import words_of
from concord_server.storage.fact_tables import fact_search, fact_versions, facts
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import slots

EXACT_SEARCH_LIMIT = 5_000
"""Filters that up to this many facts pass are searched whole, which is exact."""

WALK_WIDTH = 600
"""How many candidates the walk through the vector index keeps: among 200,000 facts, 100 finds 4 of 5 of the nearest."""

FREQUENT_WORD = 500
"""A word that more facts than this have says little: in large searches such words count only together."""

MAX_WORDS = 64
"""Words of a query beyond this are not looked for."""

MAX_RARE_WORDS = 16
"""How many of the rarer words of a query are looked for in large searches."""

_OVERFETCH = 2
"""How many times more rows than asked for are taken from the index, to put them in order exactly."""

_VECTOR: ColumnElement[Any] = bindparam("vector", type_=EMBEDDING)
_WORDS: ColumnElement[Any] = cast(bindparam("words", type_=Text), TSQUERY)
_DEPTH: ColumnElement[Any] = bindparam("depth", type_=Integer)
_SCAN_LIMIT: ColumnElement[Any] = bindparam("scan_limit", type_=Integer)


class PostgresSearch:
    """Implements :class:`~concord_server.ports.search.SearchRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def words(self, query: str) -> list[str]:
        """Returns the words of a query as they are looked for; English words without a meaning are left out."""
        rows = await self._context.statements.rows(_LEXEMES, {"query": query})
        meaning = [row.lexeme for row in rows if row.means_something]
        return (meaning or [row.lexeme for row in rows])[:MAX_WORDS]

    async def hits(
        self,
        where: FactFilter,
        current: CurrentRead | None,
        *,
        vector: Vector | None,
        words: Sequence[str],
        depth: int,
    ) -> list[SearchHit]:
        """Returns the facts nearest to a vector and those that match words best, of those that pass the filter."""
        shape = shape_of(where, current)
        parameters = parameters_of(self._context.project, where, current)
        parameters |= {"vector": vector, "words": any_of(words), "depth": depth, "scan_limit": EXACT_SEARCH_LIMIT}
        exact = _exact(shape, by_vector=vector is not None, bounded=True)
        rows = await self._context.statements.rows(exact, parameters)
        if rows[0].size <= EXACT_SEARCH_LIMIT:
            return [_hit(row) for row in rows if row.fact_id is not None]
        return await self._large(shape, parameters, words)

    async def recorded(self, fact_ids: Sequence[UUID], known_at: datetime | None) -> list[Fact]:
        """Returns the facts in the order asked for, as they are or were recorded then; not those erased by now."""
        if not fact_ids:
            return []
        parameters = {"project": self._context.project, "facts": list(fact_ids), "known_at": known_at}
        statement = _FACTS if known_at is None else _VERSIONS
        rows = await self._context.statements.rows(statement, parameters)
        found = {row.fact_id: fact_from_row(row) for row in rows}
        return [found[fact_id] for fact_id in fact_ids if fact_id in found]

    async def of_slots(self, slot_keys: Sequence[str], where: FactFilter) -> list[Fact]:
        """Returns the facts on slots of these keys, in every partition that passes the filter, by id."""
        parameters = parameters_of(self._context.project, where) | {"slot_keys": list(slot_keys)}
        rows = await self._context.statements.rows(_on_slots(shape_of(where)), parameters)
        return [fact_from_row(row) for row in rows]

    async def _large(self, shape: Shape, parameters: dict[str, Any], words: Sequence[str]) -> list[SearchHit]:
        """Searches by the indexes; what they miss because the filter leaves too little near is found exactly."""
        found: list[SearchHit] = []
        by_vector = parameters["vector"] is not None
        if by_vector:
            rows = await self._context.statements.rows(_nearest(shape), parameters)
            if len(rows) < parameters["depth"]:
                every = _exact(shape, by_vector=True, bounded=False)
                rows = await self._context.statements.rows(every, parameters | {"words": None})
            found += [_hit(row) for row in rows if row.fact_id is not None]
        telling = await self._telling(words)
        if telling is not None:
            worded = _worded(shape, by_vector=by_vector)
            found += [
                _hit(row) for row in await self._context.statements.rows(worded, parameters | {"words": telling})
            ]
        return found

    async def _telling(self, words: Sequence[str]) -> str | None:
        """Returns what to look for in a large search: any of the rarer words, or all words together."""
        if not words:
            return None
        quoted = [_quoted(word) for word in words]
        parameters = {"project": self._context.project, "each": quoted, "frequent": FREQUENT_WORD + 1}
        rows = await self._context.statements.rows(_FREQUENCIES, parameters)
        rare = [row.word for row in rows if row.frequency <= FREQUENT_WORD][:MAX_RARE_WORDS]
        together = " & ".join(quoted)
        return " | ".join([*rare, f"({together})"])


def any_of(words: Sequence[str]) -> str | None:
    """Returns the text search query that any of these words matches, ``None`` without words."""
    return " | ".join(_quoted(word) for word in words) or None


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _hit(row: Any) -> SearchHit:  # noqa: ANN401 - a row of one of the queries here
    return SearchHit(row.fact_id, row.similarity, row.text_rank)


def _similarity(*, by_vector: bool) -> ColumnElement[Any]:
    """Returns the cosine of a row with the vector; rounding must not carry it beyond [-1, 1]."""
    if not by_vector:
        return cast(null(), Double())
    distance: ColumnElement[float] = fact_search.c.embedding.op("<=>", return_type=Double())(_VECTOR)
    # GREATEST and LEAST pass over nulls, and a fact without a vector is near nothing.
    return case((fact_search.c.embedding.is_not(None), func.greatest(func.least(1 - distance, 1.0), -1.0)))


def _text_rank() -> ColumnElement[Any]:
    """Returns how well a row's words match, 0 when none does; longer texts count for less."""
    matches = fact_search.c.words.op("@@")(_WORDS)
    return case(
        (matches, cast(func.ts_rank(fact_search.c.words, _WORDS, 1), Double())), else_=literal(0.0, Double())
    )


@lru_cache(maxsize=256)
def _exact(shape: Shape, *, by_vector: bool, bounded: bool) -> Executable:
    """Returns the query that scores everything that passes the filter; if bounded, unless that is too much.

    It has one row at least, with the number of facts that pass.
    """
    passing = select(shape.table.c.fact_id).where(*conditions_of(shape))
    if bounded:
        passing = passing.limit(_SCAN_LIMIT + 1)
    matched = passing.cte("matched").prefix_with("MATERIALIZED")
    size = select(func.count()).select_from(matched).scalar_subquery()
    scores = (
        select(
            fact_search.c.fact_id,
            _similarity(by_vector=by_vector).label("similarity"),
            _text_rank().label("text_rank"),
        )
        .join(matched, matched.c.fact_id == fact_search.c.fact_id)
        .where(fact_search.c.project_id == PROJECT)
    )
    if bounded:
        scores = scores.where(size <= _SCAN_LIMIT)
    scored = scores.cte("scored").prefix_with("MATERIALIZED")
    near = (
        select(scored)
        .where(scored.c.similarity.is_not(None))
        .order_by(scored.c.similarity.desc(), scored.c.fact_id)
        .limit(_DEPTH)
    )
    worded = (
        select(scored)
        .where(scored.c.text_rank > 0)
        .order_by(scored.c.text_rank.desc(), scored.c.similarity.desc().nulls_last(), scored.c.fact_id)
        .limit(_DEPTH)
    )
    found = union_all(near, worded).subquery("found")
    counted = select(size.label("size")).subquery("counted")
    return select(counted.c.size, *found.c).select_from(counted.outerjoin(found, true()))


def _passing(shape: Shape, *columns: ColumnElement[Any]) -> Select[Any]:
    table = shape.table
    same = (fact_search.c.project_id == table.c.project_id) & (fact_search.c.fact_id == table.c.fact_id)
    return (
        select(fact_search.c.fact_id, *columns)
        .select_from(fact_search.join(table, same))
        .where(fact_search.c.project_id == PROJECT, *conditions_of(shape))
    )


@lru_cache(maxsize=256)
def _nearest(shape: Shape) -> Executable:
    """Returns the query that walks the vector index, which gives rows in nearly the right order.

    It sets how wide the walk is for itself alone: a setting that is local ends with the transaction, which outside
    of one is the statement, and the condition on it is decided before the index is opened.
    """
    similarity = _similarity(by_vector=True).label("similarity")
    width = func.set_config("hnsw.ef_search", str(WALK_WIDTH), true())
    return (
        _passing(shape, similarity, literal(0.0, Double()).label("text_rank"))
        .where(fact_search.c.embedding.is_not(None), select(width).scalar_subquery().is_not(None))
        .order_by(fact_search.c.embedding.op("<=>")(_VECTOR))
        .limit(_DEPTH * _OVERFETCH)
    )


@lru_cache(maxsize=256)
def _worded(shape: Shape, *, by_vector: bool) -> Executable:
    similarity = _similarity(by_vector=by_vector).label("similarity")
    rank = _text_rank().label("text_rank")
    return (
        _passing(shape, similarity, rank)
        .where(fact_search.c.words.op("@@")(_WORDS))
        .order_by(rank.desc(), similarity.desc().nulls_last(), fact_search.c.fact_id)
        .limit(_DEPTH)
    )


@lru_cache(maxsize=256)
def _on_slots(shape: Shape) -> Executable:
    on_slot = select(slots.c.slot_id).where(
        slots.c.project_id == PROJECT, slots.c.slot_key == any_(bindparam("slot_keys", type_=ARRAY(Text)))
    )
    return (
        select(*shape.columns).where(*conditions_of(shape), facts.c.slot_id.in_(on_slot)).order_by(facts.c.fact_id)
    )


def _lexemes() -> Executable:
    found = func.unnest(words_of(bindparam("query", type_=Text))).table_valued(
        column("lexeme", Text), column("positions", ARRAY(Integer)), column("weights", ARRAY(Text)), name="found"
    )
    stem = func.ts_lexize(sql("'english_stem'"), found.c.lexeme)
    meaning = func.coalesce(func.cardinality(stem) > 0, true())
    return select(found.c.lexeme, meaning.label("means_something")).order_by(
        func.coalesce(found.c.positions[1], 0), found.c.lexeme
    )


def _frequencies() -> Executable:
    """Returns the query that counts the facts with each word, up to a bound, rarest first."""
    each = (
        func.unnest(bindparam("each", type_=ARRAY(Text)))
        .table_valued(column("word", Text), with_ordinality="position", name="each")
        .render_derived()
    )
    having = (
        select(literal(1).label("one"))
        .where(fact_search.c.project_id == PROJECT, fact_search.c.words.op("@@")(cast(each.c.word, TSQUERY)))
        .correlate(each)
        .limit(bindparam("frequent", type_=Integer))
        .lateral("having_it")
    )
    frequency = func.count(having.c.one).label("frequency")
    return (
        select(each.c.word, frequency)
        .select_from(each.outerjoin(having, true()))
        .group_by(each.c.word, each.c.position)
        .order_by(frequency, each.c.position)
    )


def _versions() -> Executable:
    versions, moment = fact_versions.c, bindparam("known_at", type_=TIMESTAMP)
    return select(*version_columns()).where(
        versions.project_id == PROJECT,
        versions.fact_id == any_(bindparam("facts", type_=ARRAY(Uuid))),
        versions.recorded_from <= moment,
        versions.recorded_to.is_(None) | (versions.recorded_to > moment),
        versions.text != "",
    )


_LEXEMES = _lexemes()
_FREQUENCIES = _frequencies()
_FACTS = select(*fact_columns()).where(
    facts.c.project_id == PROJECT,
    facts.c.fact_id == any_(bindparam("facts", type_=ARRAY(Uuid))),
    facts.c.status != FactStatus.DELETED.value,
)
_VERSIONS = _versions()

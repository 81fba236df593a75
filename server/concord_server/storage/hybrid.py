"""Two rankings over one filter, by nearness to a vector and by words: what facts and events are searched with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Double,
    Executable,
    Integer,
    Select,
    Table,
    Text,
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
from sqlalchemy.dialects.postgresql import ARRAY, TSQUERY

from concord_server.domain.search import SearchHit
from concord_server.ports.embedder import Vector
from concord_server.storage.columns import EMBEDDING
from concord_server.storage.statements import PROJECT, Statements

EXACT_SEARCH_LIMIT = 5_000
"""Filters that up to this many rows pass are searched whole, which is exact."""

WALK_WIDTH = 600
"""How many candidates the walk through the vector index keeps: among 200,000 facts, 100 finds 4 of 5 of the nearest."""

FREQUENT_WORD = 500
"""A word that more rows than this have says little: in large searches such words count only together."""

MAX_RARE_WORDS = 16
"""How many of the rarer words of a query are looked for in large searches."""

WORDS: Final = "simple"
"""Text search configuration: words as they are, in any language."""

_OVERFETCH = 2
"""How many times more rows than asked for are taken from the index, to put them in order exactly."""

_VECTOR: ColumnElement[Any] = bindparam("vector", type_=EMBEDDING)
_WORDS: ColumnElement[Any] = cast(bindparam("words", type_=Text), TSQUERY)
_DEPTH: ColumnElement[Any] = bindparam("depth", type_=Integer)
_SCAN_LIMIT: ColumnElement[Any] = bindparam("scan_limit", type_=Integer)


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """What is searched, and by which filter; make one for each shape of a filter, since statements are kept for it.

    Attributes:
        index: the table with ``embedding`` and ``words``.
        table: the table that the conditions are about.
        key: the id column of both.
        conditions: of the filter, the project's among them; values are parameters.
    """

    index: Table
    table: Table
    key: str
    conditions: tuple[ColumnElement[bool], ...]

    @property
    def item(self) -> ColumnElement[Any]:
        """The id in the index."""
        return self.index.c[self.key]


def words_of(text: ColumnElement[str]) -> ColumnElement[Any]:
    """Returns what a text is found by: its words, and their parts (``4411`` of ``ORD-4411``)."""
    parts = func.regexp_replace(text, "[^[:alnum:]]+", " ", "g", type_=Text())
    return func.to_tsvector(WORDS, text + " " + parts)


async def ranked(
    statements: Statements,
    corpus: Corpus,
    parameters: Mapping[str, Any],
    *,
    vector: Vector | None,
    words: Sequence[str],
    depth: int,
) -> list[SearchHit]:
    """Returns the rows nearest to a vector and those that match words best, of those that pass the filter.

    Where few rows pass, both rankings are exact; else the nearest are found by an index that may miss some, and
    frequent words count only together.

    Args:
        parameters: of the corpus's conditions.
        vector: ``None`` to find by words alone.
        words: as they are looked for; a row matches when it has one of them.
        depth: how many of each ranking.
    """
    given = {**parameters, "vector": vector, "depth": depth, "scan_limit": EXACT_SEARCH_LIMIT}
    exact = _exact(corpus, by_vector=vector is not None, bounded=True)
    rows = await statements.rows(exact, given | {"words": _any_of(words)})
    if rows[0].size <= EXACT_SEARCH_LIMIT:
        return [_hit(row) for row in rows if row.item_id is not None]
    return await _large(statements, corpus, given, words)


async def _large(
    statements: Statements, corpus: Corpus, parameters: dict[str, Any], words: Sequence[str]
) -> list[SearchHit]:
    """Searches by the indexes; what they miss because the filter leaves too little near is found exactly."""
    found: list[SearchHit] = []
    by_vector = parameters["vector"] is not None
    if by_vector:
        rows = await statements.rows(_nearest(corpus), parameters)
        if len(rows) < parameters["depth"]:
            every = _exact(corpus, by_vector=True, bounded=False)
            rows = await statements.rows(every, parameters | {"words": None})
        found += [_hit(row) for row in rows if row.item_id is not None]
    telling = await _telling(statements, corpus.index, parameters["project"], words)
    if telling is not None:
        worded = _worded(corpus, by_vector=by_vector)
        found += [_hit(row) for row in await statements.rows(worded, parameters | {"words": telling})]
    return found


async def _telling(statements: Statements, index: Table, project: str, words: Sequence[str]) -> str | None:
    """Returns what to look for in a large search: any of the rarer words, or all words together."""
    if not words:
        return None
    quoted = [_quoted(word) for word in words]
    parameters = {"project": project, "each": quoted, "frequent": FREQUENT_WORD + 1}
    rows = await statements.rows(_frequencies(index), parameters)
    rare = [row.word for row in rows if row.frequency <= FREQUENT_WORD][:MAX_RARE_WORDS]
    together = " & ".join(quoted)
    return " | ".join([*rare, f"({together})"])


def _any_of(words: Sequence[str]) -> str | None:
    """Returns the text search query that any of these words matches, ``None`` without words."""
    return " | ".join(_quoted(word) for word in words) or None


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _hit(row: Any) -> SearchHit:  # noqa: ANN401 - a row of one of the queries here
    return SearchHit(row.item_id, row.similarity, row.text_rank)


def _similarity(index: Table, *, by_vector: bool) -> ColumnElement[Any]:
    """Returns the cosine of a row with the vector; rounding must not carry it beyond [-1, 1]."""
    if not by_vector:
        return cast(null(), Double())
    distance: ColumnElement[float] = index.c.embedding.op("<=>", return_type=Double())(_VECTOR)
    # GREATEST and LEAST pass over nulls, and a row without a vector is near nothing.
    return case((index.c.embedding.is_not(None), func.greatest(func.least(1 - distance, 1.0), -1.0)))


def _text_rank(index: Table) -> ColumnElement[Any]:
    """Returns how well a row's words match, 0 when none does; longer texts count for less."""
    matches = index.c.words.op("@@")(_WORDS)
    rank: ColumnElement[Any] = cast(func.ts_rank(index.c.words, _WORDS, 1), Double())
    return case((matches, rank), else_=literal(0.0, Double()))


@lru_cache(maxsize=256)
def _exact(corpus: Corpus, *, by_vector: bool, bounded: bool) -> Executable:
    """Returns the query that scores everything that passes the filter; if bounded, unless that is too much.

    It has one row at least, with the number of rows that pass.
    """
    index = corpus.index
    passing = select(corpus.table.c[corpus.key].label("item_id")).where(*corpus.conditions)
    if bounded:
        passing = passing.limit(_SCAN_LIMIT + 1)
    matched = passing.cte("matched").prefix_with("MATERIALIZED")
    size = select(func.count()).select_from(matched).scalar_subquery()
    scores = (
        select(
            corpus.item.label("item_id"),
            _similarity(index, by_vector=by_vector).label("similarity"),
            _text_rank(index).label("text_rank"),
        )
        .join(matched, matched.c.item_id == corpus.item)
        .where(index.c.project_id == PROJECT)
    )
    if bounded:
        scores = scores.where(size <= _SCAN_LIMIT)
    scored = scores.cte("scored").prefix_with("MATERIALIZED")
    near = (
        select(scored)
        .where(scored.c.similarity.is_not(None))
        .order_by(scored.c.similarity.desc(), scored.c.item_id)
        .limit(_DEPTH)
    )
    worded = (
        select(scored)
        .where(scored.c.text_rank > 0)
        .order_by(scored.c.text_rank.desc(), scored.c.similarity.desc().nulls_last(), scored.c.item_id)
        .limit(_DEPTH)
    )
    found = union_all(near, worded).subquery("found")
    counted = select(size.label("size")).subquery("counted")
    return select(counted.c.size, *found.c).select_from(counted.outerjoin(found, true()))


def _passing(corpus: Corpus, *columns: ColumnElement[Any]) -> Select[Any]:
    index, table = corpus.index, corpus.table
    same = (index.c.project_id == table.c.project_id) & (corpus.item == table.c[corpus.key])
    return (
        select(corpus.item.label("item_id"), *columns)
        .select_from(index.join(table, same))
        .where(index.c.project_id == PROJECT, *corpus.conditions)
    )


@lru_cache(maxsize=256)
def _nearest(corpus: Corpus) -> Executable:
    """Returns the query that walks the vector index, which gives rows in nearly the right order.

    It sets how wide the walk is for itself alone: a setting that is local ends with the transaction, which outside
    of one is the statement, and the condition on it is decided before the index is opened.
    """
    embedding = corpus.index.c.embedding
    similarity = _similarity(corpus.index, by_vector=True).label("similarity")
    width = func.set_config("hnsw.ef_search", str(WALK_WIDTH), true())
    return (
        _passing(corpus, similarity, literal(0.0, Double()).label("text_rank"))
        .where(embedding.is_not(None), select(width).scalar_subquery().is_not(None))
        .order_by(embedding.op("<=>")(_VECTOR))
        .limit(_DEPTH * _OVERFETCH)
    )


@lru_cache(maxsize=256)
def _worded(corpus: Corpus, *, by_vector: bool) -> Executable:
    similarity = _similarity(corpus.index, by_vector=by_vector).label("similarity")
    rank: ColumnElement[Any] = _text_rank(corpus.index).label("text_rank")
    return (
        _passing(corpus, similarity, rank)
        .where(corpus.index.c.words.op("@@")(_WORDS))
        .order_by(rank.desc(), similarity.desc().nulls_last(), corpus.item)
        .limit(_DEPTH)
    )


@lru_cache
def _frequencies(index: Table) -> Executable:
    """Returns the query that counts the rows with each word, up to a bound, rarest first."""
    each = (
        func.unnest(bindparam("each", type_=ARRAY(Text)))
        .table_valued(column("word", Text), with_ordinality="position", name="each")
        .render_derived()
    )
    having = (
        select(literal(1).label("one"))
        .where(index.c.project_id == PROJECT, index.c.words.op("@@")(cast(each.c.word, TSQUERY)))
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

"""Facts by meaning and by words, inside a filter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from sqlalchemy import Executable, Integer, Text, Uuid, any_, bindparam, column, func, select, true
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.domain.enums import FactStatus
from concord_server.domain.model import Fact
from concord_server.domain.queries import CurrentRead, FactFilter
from concord_server.domain.search import SearchHit
from concord_server.ports.embedder import Vector
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.fact_queries import Shape, conditions_of, parameters_of, shape_of
from concord_server.storage.fact_rows import fact_columns, fact_from_row, version_columns
from concord_server.storage.fact_tables import fact_search, fact_versions, facts
from concord_server.storage.hybrid import Corpus, ranked, words_of
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import slots

MAX_WORDS = 64
"""Words of a query beyond this are not looked for."""


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
        corpus = _corpus(shape_of(where, current))
        parameters = parameters_of(self._context.project, where, current)
        return await ranked(self._context.statements, corpus, parameters, vector=vector, words=words, depth=depth)

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


@lru_cache(maxsize=256)
def _corpus(shape: Shape) -> Corpus:
    return Corpus(fact_search, shape.table, "fact_id", tuple(conditions_of(shape)))


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
_FACTS = select(*fact_columns()).where(
    facts.c.project_id == PROJECT,
    facts.c.fact_id == any_(bindparam("facts", type_=ARRAY(Uuid))),
    facts.c.status != FactStatus.DELETED.value,
)
_VERSIONS = _versions()

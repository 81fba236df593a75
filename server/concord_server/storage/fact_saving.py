"""Storing a state of a fact as its newest version, in as few statements as what changed allows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Delete,
    Executable,
    FromClause,
    Insert,
    Table,
    Text,
    bindparam,
    cast,
    column,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from concord_server.domain.enums import FactChange
from concord_server.domain.errors import ConcurrentUpdateError
from concord_server.domain.model import Fact
from concord_server.ports.embedder import Vector
from concord_server.storage.columns import JSON
from concord_server.storage.fact_rows import LINKS, fact_values, link_values
from concord_server.storage.fact_tables import (
    STATE_COLUMNS,
    evolution_edges,
    fact_contents,
    fact_search,
    fact_subjects,
    fact_tags,
    fact_versions,
    facts,
)
from concord_server.storage.hybrid import words_of
from concord_server.storage.statements import SessionContext


async def save_fact(
    context: SessionContext,
    fact: Fact,
    change: FactChange,
    *,
    actor: str,
    reason: str,
    partition_id: UUID,
    text_digest: bytes,
    embedding: Vector | None,
) -> None:
    """Stores a fact as :meth:`~concord_server.ports.ledger.FactRepository.save` says.

    Raises:
        ConcurrentUpdateError: the stored version is not the one before ``fact.version``.
    """
    links = link_values(fact)
    values = fact_values(fact, partition_id) | links
    values |= {
        "project_id": context.project,
        "text_digest": text_digest,
        "embedding": embedding,
        "change": change.value,
        "actor": actor,
        "reason": reason,
    }
    parameters = {f"new_{name}": value for name, value in values.items()}
    statements = context.statements
    if fact.version == 1:
        await statements.execute(_creation(tuple(name for name in LINKS if links[name])), parameters)
    else:
        same = await statements.first(_NEXT_VERSION, parameters)
        if same is None:
            raise ConcurrentUpdateError("the fact was changed meanwhile")
        for name in LINKS:
            if not getattr(same, name):
                await statements.execute(_UNLINK[name], parameters)
                await statements.execute(_LINK[name], parameters)
        if not same.text:
            await statements.execute(_SET_WORDS, parameters)
        if embedding is not None:
            await statements.execute(_SET_EMBEDDING, parameters)
    context.changes.add(fact, change)


async def set_embedding(context: SessionContext, fact_id: UUID, embedding: Vector, revision: int) -> None:
    """Stores an embedding as :meth:`~concord_server.ports.ledger.FactRepository.set_embedding` says."""
    parameters = {
        "new_project_id": context.project,
        "new_fact_id": fact_id,
        "new_embedding": embedding,
        "new_partition_revision": revision,
    }
    await context.statements.execute(_SET_EMBEDDING, parameters)
    await context.statements.execute(_SET_REVISION, parameters)


def _new(column: Column[Any], name: str = "") -> BindParameter[Any]:
    """Returns the parameter that holds the new value of a column."""
    return bindparam(f"new_{name or column.name}", type_=column.type)


def _state() -> dict[str, ColumnElement[Any]]:
    return {name: _new(facts.c[name]) for name in ("version", *STATE_COLUMNS)}


def _version() -> dict[str, ColumnElement[Any]]:
    links = {name: _new(fact_versions.c[name]) for name in LINKS}
    record = {name: _new(fact_versions.c[name]) for name in ("change", "actor", "reason")}
    ids = {name: _new(fact_versions.c[name]) for name in ("project_id", "fact_id")}
    return ids | _state() | links | record | {"recorded_from": _new(facts.c.update_time)}


@lru_cache
def _creation(links: tuple[str, ...]) -> Executable:
    """Returns the statement that stores a new fact with its first version and those links."""
    ids = {name: _new(facts.c[name]) for name in ("project_id", "fact_id")}
    fact = insert(facts).values(ids | _state() | {"text_digest": _new(facts.c.text_digest)}).cte("fact")
    search = insert(fact_search).values(
        ids
        | {
            "partition_id": _new(facts.c.partition_id),
            "create_time": _new(facts.c.create_time),
            "embedding": _new(fact_search.c.embedding),
            "words": words_of(_new(facts.c.text)),
        }
    )
    parts = [fact, search.cte("search"), *(_LINK[name].cte(f"add_{name}") for name in links)]
    return insert(fact_versions).values(_version()).add_cte(*parts)


def _next_version() -> Executable:
    """Returns the statement that stores a later version, and tells what else is as in the one before it.

    Each part reads from the one before, which is what makes the database run them in this order.
    """
    before = _new(facts.c.version) - 1
    updated = (
        update(facts)
        .where(
            facts.c.project_id == _new(facts.c.project_id),
            facts.c.fact_id == _new(facts.c.fact_id),
            facts.c.version == before,
        )
        .values(_state() | {"text_digest": _new(facts.c.text_digest)})
        .returning(facts.c.fact_id)
        .cte("updated")
    )
    closed = (
        update(fact_versions)
        .where(
            fact_versions.c.project_id == _new(facts.c.project_id),
            fact_versions.c.fact_id.in_(select(updated.c.fact_id)),
            fact_versions.c.version == before,
        )
        .values(recorded_to=_new(facts.c.update_time))
        .returning(*(fact_versions.c[name] for name in (*LINKS, "text")))
        .cte("closed")
    )
    version = _version()
    added = insert(fact_versions).from_select(list(version), select(*version.values()).select_from(closed))
    same = [(closed.c[name] == _new(fact_versions.c[name])).label(name) for name in (*LINKS, "text")]
    return select(*same).add_cte(added.cte("added"))


@dataclass(frozen=True, slots=True)
class _LinkTable:
    """Where one kind of link is stored, and how its rows follow from the JSON of a version.

    Attributes:
        fact_key: name of the column with the linked fact's id.
        columns: names of the columns that tell its links apart.
        fields: names of the same in the JSON's objects; none where its items are plain text.
    """

    table: Table
    fact_key: str
    columns: tuple[str, ...]
    fields: tuple[str, ...] = ()

    def items(self, name: str) -> tuple[list[ColumnElement[Any]], ColumnElement[Any], FromClause]:
        """Returns the new links of that name: their columns' values, their position, and where both are from."""
        each = func.jsonb_array_elements if self.fields else func.jsonb_array_elements_text
        items = each(_new(fact_versions.c[name])).table_valued(
            column("value", JSON if self.fields else Text()), with_ordinality="position", name="item"
        )
        rendered = items.render_derived()
        values: list[ColumnElement[Any]] = [rendered.c.value]
        if self.fields:
            values = [rendered.c.value[field].astext for field in self.fields]
        typed: list[ColumnElement[Any]] = [
            cast(value, self.table.c[key].type) for key, value in zip(self.columns, values, strict=True)
        ]
        position: ColumnElement[Any] = rendered.c.position
        return typed, position, rendered

    def link(self, name: str) -> Insert:
        """Returns the statement that stores the new links, in their order."""
        values, position, items = self.items(name)
        inserted: dict[str, ColumnElement[Any]] = {
            "project_id": _new(facts.c.project_id),
            self.fact_key: _new(facts.c.fact_id),
            **dict(zip(self.columns, values, strict=True)),
            "position": position,
        }
        if self.table is evolution_edges:
            inserted |= {"type": _new(facts.c.evolution_type), "create_time": _new(facts.c.update_time)}
        statement = upsert(self.table).from_select(list(inserted), select(*inserted.values()).select_from(items))
        return statement.on_conflict_do_update(
            index_elements=["project_id", self.fact_key, *self.columns],
            set_={"position": statement.excluded.position},
        )

    def unlink(self, name: str) -> Delete:
        """Returns the statement that removes links which are not among the new ones."""
        values, _, items = self.items(name)
        return delete(self.table).where(
            self.table.c.project_id == _new(facts.c.project_id),
            self.table.c[self.fact_key] == _new(facts.c.fact_id),
            tuple_(*(self.table.c[key] for key in self.columns)).not_in(select(*values).select_from(items)),
        )


_LINK_TABLES = {
    "subjects": _LinkTable(fact_subjects, "fact_id", ("entity_type", "entity_id", "role"), ("type", "id", "role")),
    "contents": _LinkTable(fact_contents, "fact_id", ("content_id", "relationship"), ("id", "relationship")),
    "tags": _LinkTable(fact_tags, "fact_id", ("tag",)),
    "parents": _LinkTable(evolution_edges, "child_id", ("parent_id",)),
}
_NEXT_VERSION = _next_version()
_LINK = {name: table.link(name) for name, table in _LINK_TABLES.items()}
_UNLINK = {name: table.unlink(name) for name, table in _LINK_TABLES.items()}
_THIS_SEARCH = update(fact_search).where(
    fact_search.c.project_id == _new(facts.c.project_id), fact_search.c.fact_id == _new(facts.c.fact_id)
)
_SET_WORDS = _THIS_SEARCH.values(words=words_of(_new(facts.c.text)))
_SET_EMBEDDING = _THIS_SEARCH.values(embedding=_new(fact_search.c.embedding))
_SET_REVISION = (
    update(facts)
    .where(facts.c.project_id == _new(facts.c.project_id), facts.c.fact_id == _new(facts.c.fact_id))
    .values(partition_revision=_new(facts.c.partition_revision))
)

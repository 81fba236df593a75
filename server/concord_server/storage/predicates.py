"""Predicates, their aliases and suggestions; which of them a subject uses."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from concord_server.domain.enums import Cardinality
from concord_server.domain.model import Partition
from concord_server.domain.predicates import Near, Predicate, UsedPredicate, Vocabulary
from concord_server.domain.queries import Cursor, Page
from concord_server.domain.values import Json, canonical, subject_key
from concord_server.ports.predicates import PredicateSlot
from concord_server.storage import predicate_queries as queries
from concord_server.storage.partitions import partition_from_row
from concord_server.storage.predicate_tables import predicate_aliases, predicate_suggestions, predicates
from concord_server.storage.statements import SessionContext

_NO_ID = UUID(int=0)


class PostgresPredicates:
    """Implements :class:`~concord_server.ports.predicates.PredicateRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def vocabulary(
        self,
        partition_id: UUID,
        subject: str,
        stated: str,
        qualifiers: Mapping[str, Json],
        *,
        comparable: bool = True,
    ) -> Vocabulary:
        """Returns what decides which predicate a claim means."""
        named = {"project": self._context.project, "stated": stated}
        rows = await self._context.statements.rows(queries.NAMES, named)
        aliases = {row.one: row.other for row in rows if row.is_alias}
        decided = frozenset(name for row in rows if not row.is_alias for name in (row.one, row.other))
        known = Vocabulary((), aliases, decided - {stated})
        about = {
            "project": self._context.project,
            "partition": partition_id,
            "subject_key": subject_key(subject),
        }
        family = sorted({stated, *known.family(stated)})
        rows = await self._context.statements.rows(queries.USED_NAMES, {**about, "names": family})
        used = [UsedPredicate(row.predicate, Cardinality(row.cardinality), False) for row in rows]
        if comparable:
            own = canonical(dict(qualifiers))
            rows = await self._context.statements.rows(queries.USED_SLOTS, about)
            used += [
                UsedPredicate(
                    row.predicate, Cardinality.SINGLE, canonical(dict(row.qualifiers)) == own, row.claim_value
                )
                for row in rows
            ]
        return known.with_used(used)

    async def uses(self, partition_id: UUID, subject: str, predicate: str) -> bool:
        """Tells whether a subject uses a predicate."""
        parameters = {
            "project": self._context.project,
            "partition": partition_id,
            "subject_key": subject_key(subject),
            "names": [predicate],
        }
        return bool(await self._context.statements.rows(queries.USED_NAMES, parameters))

    async def family(self, name: str) -> tuple[str, ...]:
        """Returns the names that mean the same as ``name``, itself among them."""
        return Vocabulary((), await self.aliases_of([name])).family(name)

    async def aliases_of(self, names: Collection[str]) -> Mapping[str, str]:
        """Returns alias → predicate, of everything that is in one family with one of the names."""
        parameters = {"project": self._context.project, "names": sorted(names)}
        rows = await self._context.statements.rows(queries.FAMILIES, parameters)
        return {row.alias: row.predicate for row in rows}

    async def get(self, predicate: str) -> Predicate | None:
        """Returns a predicate, ``None`` before its first use."""
        found = await self._read(
            select(predicates).where(
                predicates.c.project_id == self._context.project, predicates.c.predicate == predicate
            )
        )
        return found[0] if found else None

    async def list(self, *, only_suggested: bool, after: Cursor | None, size: int) -> Page[Predicate]:
        """Returns a page of the predicates by name."""
        where = [predicates.c.project_id == self._context.project]
        if only_suggested:
            where.append(queries.has_suggestions())
        total = await self._context.statements.execute(select(func.count()).select_from(predicates).where(*where))
        query = select(predicates).where(*where).order_by(predicates.c.predicate).limit(size + 1)
        if after is not None:
            query = query.where(predicates.c.predicate > after.value)
        found = await self._read(query)
        cursor = Cursor(found[size - 1].predicate, _NO_ID) if len(found) > size else None
        return Page(found[:size], cursor, total.scalar_one())

    async def _read(self, query: queries.PredicateQuery) -> Sequence[Predicate]:
        rows = await self._context.statements.rows(query)
        parameters = {"project": self._context.project, "names": [row.predicate for row in rows]}
        aliases = await self._context.statements.rows(queries.ALIASES, parameters)
        suggestions = await self._context.statements.rows(queries.SUGGESTIONS, parameters)
        counts = await self._context.statements.rows(queries.FACT_COUNTS, parameters)
        return [queries.predicate(row, aliases, suggestions, counts) for row in rows]

    async def add_alias(self, alias: str, predicate: str, now: datetime, *, learned: bool) -> None:
        """Makes a name mean a predicate."""
        values = {
            "project_id": self._context.project,
            "alias": alias,
            "predicate": predicate,
            "learned": learned,
            "create_time": now,
        }
        row = insert(predicate_aliases).values(values)
        if learned:
            await self._context.statements.execute(row.on_conflict_do_nothing())
        else:
            await self._context.statements.execute(
                update(predicate_aliases)
                .where(
                    predicate_aliases.c.project_id == self._context.project,
                    predicate_aliases.c.predicate == alias,
                )
                .values(predicate=predicate)
            )
            await self._context.statements.execute(
                row.on_conflict_do_update(
                    index_elements=["project_id", "alias"],
                    set_={"predicate": predicate, "learned": False, "create_time": now},
                )
            )
        first, second = sorted((alias, predicate))
        await self._context.statements.execute(
            delete(predicate_suggestions).where(
                predicate_suggestions.c.project_id == self._context.project,
                predicate_suggestions.c.first_name == first,
                predicate_suggestions.c.second_name == second,
            )
        )

    async def remove_alias(self, alias: str) -> None:
        """Lets a name mean itself again."""
        await self._context.statements.execute(
            delete(predicate_aliases).where(
                predicate_aliases.c.project_id == self._context.project, predicate_aliases.c.alias == alias
            )
        )

    async def suggest(self, stated: str, near: Sequence[Near], now: datetime) -> None:
        """Counts proposals that were not confirmed; in the order of their names, so that no two sessions lock up."""
        for one in sorted(near, key=lambda each: sorted((stated, each.predicate))):
            first, second = sorted((stated, one.predicate))
            values = {
                "project_id": self._context.project,
                "first_name": first,
                "second_name": second,
                "predicate": one.predicate,
                "similarity": one.similarity,
                "seen_count": 1,
                "last_time": now,
                "dropped": False,
            }
            await self._context.statements.execute(queries.SUGGEST, values)

    async def drop(self, one: str, other: str, now: datetime) -> None:
        """Notes that two names do not mean the same."""
        first, second = sorted((one, other))
        values = {
            "project_id": self._context.project,
            "first_name": first,
            "second_name": second,
            "predicate": one,
            "similarity": 0.0,
            "seen_count": 0,
            "last_time": now,
            "dropped": True,
        }
        await self._context.statements.execute(queries.DROP, values)

    async def set_cardinality(self, names: Collection[str], cardinality: Cardinality, now: datetime) -> None:
        """Stores how many values of these predicates hold at once."""
        await self._context.statements.execute(
            update(predicates)
            .where(predicates.c.project_id == self._context.project, predicates.c.predicate.in_(names))
            .values(cardinality=cardinality.value, update_time=now)
        )

    async def touch(self, predicate: str, now: datetime) -> None:
        """Stores that a predicate was changed."""
        await self._context.statements.execute(
            update(predicates)
            .where(predicates.c.project_id == self._context.project, predicates.c.predicate == predicate)
            .values(update_time=now)
        )

    async def hold(self, names: Collection[str]) -> None:
        """Keeps everyone else from using these predicates until the session ends."""
        await self._context.statements.execute(
            select(predicates.c.predicate)
            .where(predicates.c.project_id == self._context.project, predicates.c.predicate.in_(names))
            .order_by(predicates.c.predicate)
            .with_for_update()
        )

    async def partitions_of(self, names: Collection[str]) -> Sequence[Partition]:
        """Returns the partitions with a slot of one of these predicates; those of occurrences left out."""
        parameters = {"project": self._context.project, "names": sorted(names)}
        rows = await self._context.statements.rows(queries.PARTITIONS, parameters)
        return [partition_from_row(row) for row in rows]

    async def slots_of(self, names: Collection[str]) -> Sequence[PredicateSlot]:
        """Returns the slots of these predicates, oldest first; those of occurrences left out."""
        parameters = {"project": self._context.project, "names": sorted(names)}
        rows = await self._context.statements.rows(queries.SLOTS, parameters)
        return [
            PredicateSlot(
                row.slot_id, row.partition_id, row.slot_key, row.subject, row.predicate, dict(row.qualifiers)
            )
            for row in rows
        ]

"""Families of facts written straight into the tables: large, deep, and such as no write of the service makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from concord_server.domain.enums import EvolutionType, FactStatus
from concord_server.storage.fact_tables import evolution_edges, facts
from concord_server.storage.sessions import PostgresLedger
from sqlalchemy import DateTime, Double, Text, Uuid, bindparam, column, func, insert, literal, select, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncEngine
from uuid_utils.compat import uuid7

from tests.support.facts import NOON, a_fact, minutes, save


@dataclass(frozen=True, slots=True)
class Member:
    """A fact of a family; created ``minute`` minutes after noon."""

    fact_id: UUID
    minute: float
    parents: tuple[UUID, ...] = ()
    confidence: float = 0.7
    status: FactStatus = FactStatus.ACTIVE

    @property
    def created(self) -> datetime:
        return NOON + minutes(self.minute)


def member(
    minute: float, *parents: Member, confidence: float = 0.7, status: FactStatus = FactStatus.ACTIVE
) -> Member:
    """Returns a fact that descends from others, the first-listed first."""
    return Member(uuid7(), minute, tuple(p.fact_id for p in parents), confidence, status)


async def grow(engine: AsyncEngine, ledger: PostgresLedger, project: str, members: Sequence[Member]) -> None:
    """Writes a family, its edges in the order of each fact's parents."""
    async with ledger.write(project) as session:
        pattern = await save(session, a_fact())
    taken = {"fact_id", "slot_id", "status", "confidence", "create_time"}
    other = [facts.c[name] for name in facts.c.keys() if name not in taken]  # noqa: SIM118 - columns, by name
    new = (
        func.unnest(
            bindparam("ids", type_=ARRAY(Uuid)),
            bindparam("statuses", type_=ARRAY(Text)),
            bindparam("confidences", type_=ARRAY(Double)),
            bindparam("times", type_=ARRAY(DateTime(timezone=True))),
        )
        .table_valued(
            column("fact_id", Uuid),
            column("status", Text),
            column("confidence", Double),
            column("create_time", DateTime(timezone=True)),
            name="new",
        )
        .render_derived()
    )
    rows = select(
        *other, new.c.fact_id, new.c.fact_id.label("slot"), new.c.status, new.c.confidence, new.c.create_time
    )
    rows = rows.select_from(facts.join(new, true())).where(
        facts.c.project_id == project, facts.c.fact_id == pattern.fact_id
    )
    names = [*(c.name for c in other), "fact_id", "slot_id", "status", "confidence", "create_time"]
    async with engine.begin() as connection:
        await connection.execute(
            insert(facts).from_select(names, rows),
            {
                "ids": [m.fact_id for m in members],
                "statuses": [m.status.value for m in members],
                "confidences": [m.confidence for m in members],
                "times": [m.created for m in members],
            },
        )
    await tie(engine, project, [(p, m.fact_id, i + 1) for m in members for i, p in enumerate(m.parents)])


async def tie(engine: AsyncEngine, project: str, edges: Sequence[tuple[UUID, UUID, int]]) -> None:
    """Writes edges from parents to children, with their positions."""
    if not edges:
        return
    new = (
        func.unnest(
            bindparam("parents", type_=ARRAY(Uuid)),
            bindparam("children", type_=ARRAY(Uuid)),
            bindparam("positions", type_=ARRAY(evolution_edges.c.position.type)),
        )
        .table_valued("parent_id", "child_id", "position", name="new")
        .render_derived()
    )
    columns = {
        "project_id": literal(project),
        "parent_id": new.c.parent_id,
        "child_id": new.c.child_id,
        "position": new.c.position,
        "type": literal(EvolutionType.EXTENSION.value),
        "create_time": literal(NOON, DateTime(timezone=True)),
    }
    async with engine.begin() as connection:
        await connection.execute(
            insert(evolution_edges).from_select(list(columns), select(*columns.values()).select_from(new)),
            {
                "parents": [edge[0] for edge in edges],
                "children": [edge[1] for edge in edges],
                "positions": [edge[2] for edge in edges],
            },
        )

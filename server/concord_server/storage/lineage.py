"""The family graph, walked inside the database: one round trip per question, however deep the graph is.

The walks are plain SQL, since that is how recursion reads best. Two ways keep them from running for ever on a
graph with a cycle, which no write can make but a repair by hand might:

- A walk that takes one step from each fact carries a mark, which it moves to where it is after 1, 2, 4, 8 … steps
  (Brent's algorithm): coming upon the mark means having been there. Each row stays of constant size, where a path
  would make a line of n facts cost n².
- A walk over sets drops what it has met: with UNION where order does not matter, and level by level where it does.

The project is carried along in the rows. Were it compared with the parameter at every step, the planner would take a
project that its statistics do not know yet for one of a single row, any index that begins with the project for as
good as the right one, and each step would read the whole project. ``OFFSET 0`` keeps the planner from turning a step
into a join with the whole table.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnClause,
    ColumnElement,
    Executable,
    FromClause,
    Integer,
    Row,
    ScalarSelect,
    Text,
    Uuid,
    bindparam,
    column,
    func,
    select,
    true,
)
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import aggregate_order_by

from concord_server.domain.enums import EvolutionType
from concord_server.domain.lineage import STEPPABLE, EvolutionEdge, FamilyPage
from concord_server.domain.model import Fact
from concord_server.storage.fact_rows import fact_columns, fact_from_row
from concord_server.storage.fact_tables import evolution_edges, facts
from concord_server.storage.statements import SessionContext

_WALK = """
WITH RECURSIVE walk AS (
    SELECT project_id, fact_id, 0 AS steps, fact_id AS mark, 1 AS marks_at
    FROM facts
    WHERE project_id = :project AND fact_id = :fact
  UNION ALL
    SELECT
        project_id,
        onward.fact_id,
        steps + 1,
        CASE WHEN steps + 1 = marks_at THEN onward.fact_id ELSE mark END,
        CASE WHEN steps + 1 = marks_at THEN marks_at * 2 ELSE marks_at END
    FROM walk CROSS JOIN LATERAL ({step}) AS onward
    WHERE onward.fact_id <> mark
)
SELECT project_id, fact_id, min(steps) AS steps FROM walk GROUP BY project_id, fact_id
"""

_TO_FIRST_PARENT = """
    SELECT edge.parent_id AS fact_id
    FROM evolution_edges AS edge
    WHERE edge.project_id = walk.project_id AND edge.child_id = walk.fact_id
    ORDER BY edge.position, edge.parent_id
    LIMIT 1
"""

_TO_BEST_CHILD = f"""
    SELECT child.fact_id
    FROM evolution_edges AS edge
    JOIN facts AS child ON child.project_id = walk.project_id AND child.fact_id = edge.child_id
    WHERE edge.project_id = walk.project_id AND edge.parent_id = walk.fact_id
        AND child.status IN ({", ".join(f"'{status}'" for status in sorted(STEPPABLE))})
    ORDER BY child.confidence DESC, child.create_time DESC, child.fact_id
    LIMIT 1
"""  # noqa: S608 - made of constants

_FAMILY = """
WITH RECURSIVE above AS (
    SELECT project_id, fact_id FROM facts WHERE project_id = :project AND fact_id = :fact
  UNION
    SELECT above.project_id, edge.parent_id
    FROM above CROSS JOIN LATERAL (
        SELECT parent_id FROM evolution_edges
        WHERE project_id = above.project_id AND child_id = above.fact_id
        OFFSET 0
    ) AS edge
),
family AS (
    SELECT project_id, fact_id FROM above
  UNION
    SELECT family.project_id, edge.child_id
    FROM family CROSS JOIN LATERAL (
        SELECT child_id FROM evolution_edges
        WHERE project_id = family.project_id AND parent_id = family.fact_id
        OFFSET 0
    ) AS edge
),
-- One row per level, its facts in order. A fact can be met again only if it has several parents, so these alone
-- are remembered.
levels AS (
    SELECT above.project_id, 0 AS level, array_agg(above.fact_id ORDER BY root.create_time, above.fact_id) AS members,
        '{}'::uuid[] AS met
    FROM above CROSS JOIN LATERAL (
        SELECT create_time, EXISTS (
            SELECT FROM evolution_edges AS edge
            WHERE edge.project_id = above.project_id AND edge.child_id = above.fact_id
        ) AS has_parents
        FROM facts
        WHERE project_id = above.project_id AND fact_id = above.fact_id
        OFFSET 0
    ) AS root
    WHERE NOT root.has_parents
    GROUP BY above.project_id
  UNION ALL
    SELECT levels.project_id, levels.level + 1, below.members, levels.met || below.met
    FROM levels CROSS JOIN LATERAL (
        SELECT array_agg(fact_id ORDER BY parent_place, create_time, fact_id) AS members,
            coalesce(array_agg(fact_id) FILTER (WHERE has_others), '{}') AS met
        FROM (
            SELECT DISTINCT ON (edge.child_id) edge.child_id AS fact_id, parent.place AS parent_place,
                child.create_time, child.has_others
            FROM unnest(levels.members) WITH ORDINALITY AS parent (fact_id, place)
            CROSS JOIN LATERAL (
                SELECT child_id FROM evolution_edges
                WHERE project_id = levels.project_id AND parent_id = parent.fact_id
                OFFSET 0
            ) AS edge
            CROSS JOIN LATERAL (
                SELECT create_time, EXISTS (
                    SELECT FROM evolution_edges AS other
                    WHERE other.project_id = levels.project_id AND other.child_id = edge.child_id
                        AND other.parent_id <> parent.fact_id
                ) AS has_others
                FROM facts
                WHERE project_id = levels.project_id AND fact_id = edge.child_id
                OFFSET 0
            ) AS child
            WHERE edge.child_id <> ALL (levels.met)
            ORDER BY edge.child_id, parent.place
        ) AS child
    ) AS below
    WHERE below.members IS NOT NULL
)
SELECT project_id, fact_id, row_number() OVER (ORDER BY level, place, create_time, fact_id) AS place
FROM (
    SELECT levels.project_id, member.fact_id, levels.level, member.place, NULL::timestamptz AS create_time
    FROM levels CROSS JOIN LATERAL unnest(levels.members) WITH ORDINALITY AS member (fact_id, place)
  UNION ALL
    -- Where there is no way from a root, because of a cycle.
    SELECT family.project_id, family.fact_id, NULL, NULL, fact.create_time
    FROM family CROSS JOIN LATERAL (
        SELECT create_time FROM facts WHERE project_id = family.project_id AND fact_id = family.fact_id OFFSET 0
    ) AS fact
    WHERE family.fact_id NOT IN (SELECT unnest(levels.members) FROM levels)
) AS member
"""


class PostgresLineage:
    """Implements :class:`~concord_server.ports.lineage.LineageRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def chain(self, fact_id: UUID) -> list[Fact]:
        """Returns the line from the root to the fact, root first; empty for an unknown fact."""
        parameters = {"project": self._context.project, "fact": fact_id}
        return [fact_from_row(row) for row in await self._context.statements.rows(_CHAIN, parameters)]

    async def latest(self, fact_id: UUID) -> Fact | None:
        """Returns the end of the way from the fact downwards, ``None`` for an unknown fact."""
        parameters = {"project": self._context.project, "fact": fact_id}
        row = await self._context.statements.first(_LATEST, parameters)
        return fact_from_row(row) if row else None

    async def family(self, fact_id: UUID, *, after: UUID | None, size: int) -> FamilyPage:
        """Returns a page of the fact's family, breadth-first."""
        parameters = {"project": self._context.project, "fact": fact_id, "after": after, "rows": size + 1}
        rows = await self._context.statements.rows(_FAMILY_PAGE, parameters)
        found = [row for row in rows if row.fact_id is not None]
        shown = found[:size]
        return FamilyPage(
            facts=[fact_from_row(row) for row in shown],
            edges=[edge for row in shown for edge in _edges(row)],
            last=shown[-1].fact_id if len(found) > size else None,
            total=rows[0].total,
        )


def _edges(row: Row[Any]) -> list[EvolutionEdge]:
    return [
        EvolutionEdge(UUID(edge["parent"]), row.fact_id, EvolutionType(edge["type"]))
        for edge in row.edges_from or ()
    ]


def _walk(step: str) -> CTE:
    """Returns the facts on a way that takes ``step`` from each fact, with how many steps away they are."""
    way = sql(_WALK.format(step=step)).columns(*_KEY, column("steps", Integer))
    return way.cte("way")


def _chain() -> Executable:
    way = _walk(_TO_FIRST_PARENT)
    return select(*fact_columns()).join_from(way, facts, _is(way)).order_by(way.c.steps.desc())


def _latest() -> Executable:
    way = _walk(_TO_BEST_CHILD)
    end = select(way).order_by(way.c.steps.desc()).limit(1).subquery("last")
    return select(*fact_columns()).join_from(end, facts, _is(end))


def _family_page() -> Executable:
    """Returns the query of a page; it has one row at least, with the family's size."""
    family = sql(_FAMILY).columns(*_KEY, column("place", BigInteger)).cte("whole")
    start = select(family.c.place).where(family.c.fact_id == bindparam("after", type_=Uuid)).scalar_subquery()
    page = (
        select(family)
        .where(family.c.place > func.coalesce(start, 0))
        .order_by(family.c.place)
        .limit(bindparam("rows", type_=Integer))
        .subquery("page")
    )
    size = select(func.count().label("total")).select_from(family).subquery("size")
    return (
        select(size.c.total, _edges_from(family).label("edges_from"), *fact_columns())
        .select_from(size)
        .outerjoin(page, true())
        .outerjoin(facts, _is(page))
        .order_by(page.c.place)
    )


def _edges_from(family: CTE) -> ScalarSelect[Any]:
    """Returns a fact's edges from members of the family as one JSON array, null when it has none.

    The family is looked up in a filter, because there it is hashed once; as a condition it would be joined anew for
    each fact.
    """
    edges = evolution_edges.c
    edge = func.json_build_object("parent", edges.parent_id, "type", edges.type)
    of_family = edges.parent_id.in_(select(family.c.fact_id))
    return (
        select(func.json_agg(aggregate_order_by(edge, edges.position)).filter(of_family))
        .where(edges.project_id == facts.c.project_id, edges.child_id == facts.c.fact_id)
        .correlate(facts)
        .scalar_subquery()
    )


def _is(named: FromClause) -> ColumnElement[bool]:
    return (facts.c.project_id == named.c.project_id) & (facts.c.fact_id == named.c.fact_id)


_KEY: tuple[ColumnClause[Any], ...] = (column("project_id", Text), column("fact_id", Uuid))
_CHAIN = _chain()
_LATEST = _latest()
_FAMILY_PAGE = _family_page()

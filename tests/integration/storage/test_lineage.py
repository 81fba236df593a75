"""The family graph is read whole, in order and in one round trip, and also where it is broken."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import pytest
from concord_server.domain.enums import EvolutionType, FactStatus
from concord_server.ports.ledger import ReadSession
from concord_server.storage import lineage
from concord_server.storage.sessions import PostgresLedger
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine
from uuid_utils.compat import uuid7

from tests.support.families import Member, grow, member, tie

Grow = Callable[[Sequence[Member]], Awaitable[None]]


@pytest.fixture
async def family(engine: AsyncEngine, ledger: PostgresLedger, project: str) -> Grow:
    """Writes a family into the test's project."""

    async def write(members: Sequence[Member]) -> None:
        await grow(engine, ledger, project, members)

    return write


@pytest.fixture
async def reading(ledger: PostgresLedger, project: str):
    async with ledger.read(project) as session:
        yield session


@pytest.fixture
def statements(engine: AsyncEngine):
    """Every statement that is sent from here on."""
    sent: list[str] = []

    def note(_connection, _cursor, statement, *_rest):
        sent.append(statement)

    event.listen(engine.sync_engine, "before_cursor_execute", note)
    yield sent
    event.remove(engine.sync_engine, "before_cursor_execute", note)


async def chain(session: ReadSession, of: Member) -> list[UUID]:
    return [fact.fact_id for fact in await session.lineage.chain(of.fact_id)]


async def latest(session: ReadSession, of: Member) -> UUID:
    found = await session.lineage.latest(of.fact_id)
    assert found is not None
    return found.fact_id


async def tree(session: ReadSession, of: Member, size: int = 500) -> list[UUID]:
    """The whole family, read in pages."""
    found: list[UUID] = []
    after = None
    while True:
        page = await session.lineage.family(of.fact_id, after=after, size=size)
        found += [fact.fact_id for fact in page.facts]
        assert page.total >= len(found)
        if page.last is None:
            return found
        assert page.last == found[-1]
        after = page.last


def ids(*members: Member) -> list[UUID]:
    return [m.fact_id for m in members]


def breadth_first(members: Sequence[Member]) -> list[UUID]:
    """The order that the contract asks for, worked out with a queue."""
    ordered = sorted(members, key=lambda m: (m.created, m.fact_id))
    children: dict[UUID, list[UUID]] = {}
    for m in ordered:
        for parent in m.parents:
            children.setdefault(parent, []).append(m.fact_id)
    queue = deque(m.fact_id for m in ordered if not m.parents)
    seen = dict.fromkeys(queue)
    while queue:
        for child in children.get(queue.popleft(), ()):
            if child not in seen:
                seen[child] = None
                queue.append(child)
    return list(seen)


async def test_an_unknown_fact_has_no_line_no_latest_and_no_family(reading):
    assert await reading.lineage.chain(uuid7()) == []
    assert await reading.lineage.latest(uuid7()) is None
    page = await reading.lineage.family(uuid7(), after=None, size=5)
    assert (page.facts, page.edges, page.last, page.total) == ([], [], None, 0)


async def test_a_fact_alone_is_its_own_line_latest_and_family(family, reading):
    alone = member(0)
    await family([alone])
    assert await chain(reading, alone) == ids(alone)
    assert await latest(reading, alone) == alone.fact_id
    assert await tree(reading, alone) == ids(alone)


async def test_a_line_goes_from_the_root_to_the_fact_that_was_asked_for(family, reading):
    root = member(0)
    middle = member(1, root)
    last = member(2, middle)
    await family([root, middle, last])
    assert await chain(reading, last) == ids(root, middle, last)
    assert await chain(reading, middle) == ids(root, middle)


async def test_of_several_parents_the_line_follows_the_first_listed(family, reading):
    one, two = member(0), member(1)
    merged = member(2, two, one)
    await family([one, two, merged])
    assert await chain(reading, merged) == ids(two, merged)


async def test_the_latest_is_the_most_confident_child_at_each_step(family, reading):
    root = member(0)
    strong, weak = member(1, root, confidence=0.8), member(2, root, confidence=0.7)
    behind_weak = member(3, weak, confidence=0.99)
    await family([root, strong, weak, behind_weak])
    assert await latest(reading, root) == strong.fact_id
    assert await latest(reading, weak) == behind_weak.fact_id


async def test_of_equally_confident_children_the_newest_then_the_smallest_id_is_latest(family, reading):
    root, other = member(0), member(0)
    old, new = member(1, root), member(2, root)
    first, second = member(1, other), member(1, other)
    await family([root, other, old, new, first, second])
    assert await latest(reading, root) == new.fact_id
    assert await latest(reading, other) == min(first.fact_id, second.fact_id)


@pytest.mark.parametrize("status", list(FactStatus))
async def test_the_way_to_the_latest_steps_on_facts_that_say_something_alone(family, reading, status):
    root = member(0)
    child = member(1, root, confidence=0.9, status=status)
    weak = member(2, root, confidence=0.1)
    await family([root, child, weak])
    steps_on_it = status in {FactStatus.ACTIVE, FactStatus.DISPUTED, FactStatus.SUPERSEDED}
    assert await latest(reading, root) == (child if steps_on_it else weak).fact_id


async def test_without_a_child_to_step_on_a_fact_is_its_own_latest(family, reading):
    root = member(0, status=FactStatus.RETRACTED)
    await family([root, member(1, root, status=FactStatus.RETRACTED)])
    assert await latest(reading, root) == root.fact_id


async def test_a_family_is_the_same_whichever_member_is_asked(family, reading):
    root = member(0)
    left, right = member(1, root), member(2, root)
    late_left, early_right = member(4, left), member(3, right)
    everybody = [root, left, right, late_left, early_right]
    await family([early_right, late_left, right, left, root])
    for one in everybody:
        assert await tree(reading, one) == ids(*everybody)


async def test_siblings_are_ordered_by_creation_then_id(family, reading):
    root = member(0)
    new, old = member(2, root), member(1, root)
    twins = sorted([member(3, root), member(3, root)], key=lambda m: m.fact_id)
    await family([root, new, *reversed(twins), old])
    assert await tree(reading, root) == ids(root, old, new, *twins)


async def test_a_merge_has_every_root_above_it_in_its_family(family, reading):
    one, two = member(0), member(1)
    merged = member(2, one, two)
    await family([one, two, merged])
    assert await tree(reading, merged) == ids(one, two, merged)
    page = await reading.lineage.family(merged.fact_id, after=None, size=10)
    edges = [(e.parent_id, e.child_id, e.evolution_type) for e in page.edges]
    extension = EvolutionType.EXTENSION
    assert edges == [(one.fact_id, merged.fact_id, extension), (two.fact_id, merged.fact_id, extension)]


async def test_edges_lead_from_members_of_the_family_alone(family, reading):
    one, stranger = member(0), member(1)
    merged = member(2, one, stranger)
    await family([one, stranger, merged])
    page = await reading.lineage.family(one.fact_id, after=None, size=10)
    assert [fact.fact_id for fact in page.facts] == ids(one, merged)
    assert [(e.parent_id, e.child_id) for e in page.edges] == [(one.fact_id, merged.fact_id)]


async def test_a_fact_that_is_reached_by_ways_of_different_length_is_listed_once_at_the_shortest(family, reading):
    root = member(0)
    middle = member(1, root)
    late = member(2, middle)
    following = member(3, late, root)
    await family([root, middle, late, following])
    assert await tree(reading, root) == ids(root, middle, following, late)


async def test_pages_carry_the_edges_that_lead_to_their_facts(family, reading):
    root = member(0)
    children = [member(1 + n, root) for n in range(5)]
    await family([root, *children])
    first = await reading.lineage.family(root.fact_id, after=None, size=3)
    assert [e.child_id for e in first.edges] == ids(*children[:2])
    assert (first.last, first.total) == (children[1].fact_id, 6)
    second = await reading.lineage.family(root.fact_id, after=first.last, size=3)
    assert [e.child_id for e in second.edges] == ids(*children[2:])
    assert second.last is None


async def test_random_families_are_listed_as_a_queue_would_list_them(family, reading):
    chance = random.Random(7)
    for _ in range(8):
        members = [member(0)]
        for number in range(1, 40):
            parents = chance.sample(members, k=min(len(members), chance.choice([1, 1, 1, 2, 3])))
            members.append(member(number // 3, *parents))
        await family(members)
        # Every fact descends from the one root, so that anybody's family is all of them.
        assert await tree(reading, chance.choice(members), size=7) == breadth_first(members)


async def test_erased_facts_hold_the_family_together(family, reading):
    root = member(0)
    erased = member(1, root, status=FactStatus.DELETED)
    last = member(2, erased)
    await family([root, erased, last])
    assert await tree(reading, root) == ids(root, erased, last)
    assert await chain(reading, last) == ids(root, erased, last)


async def test_a_pair_that_descends_from_each_other_ends_every_walk(engine, project, family, reading):
    one, two = member(0), member(1)
    await family([one, two])
    await tie(engine, project, [(one.fact_id, two.fact_id, 1), (two.fact_id, one.fact_id, 1)])
    assert await chain(reading, one) == ids(two, one)
    assert await latest(reading, one) == two.fact_id
    assert await tree(reading, two) == ids(one, two)


async def test_a_cycle_below_a_root_is_listed_once(engine, project, family, reading):
    root = member(0)
    one = member(1, root)
    two = member(2, one)
    three = member(3, two)
    await family([root, one, two, three])
    await tie(engine, project, [(three.fact_id, one.fact_id, 2)])
    assert await chain(reading, three) == ids(root, one, two, three)
    assert await latest(reading, root) == three.fact_id
    assert await tree(reading, two) == ids(root, one, two, three)


async def test_a_cycle_above_a_fact_is_listed_once_and_last(engine, project, family, reading):
    one, two = member(0), member(1)
    below = member(2, two)
    await family([one, two, below])
    await tie(engine, project, [(one.fact_id, two.fact_id, 1), (two.fact_id, one.fact_id, 1)])
    assert await chain(reading, below) == ids(one, two, below)
    assert sorted(await tree(reading, below)) == sorted(ids(one, two, below))


def rows_read(plan: dict[str, Any]) -> float:
    """How many rows of facts and edges a plan looks at again and again, those that it drops included."""
    looked_at = 0.0
    if plan.get("Relation Name") in {"facts", "evolution_edges"} and plan["Actual Loops"] > 1:
        dropped = sum(plan.get(f"Rows Removed by {name}", 0) for name in ("Filter", "Index Recheck"))
        looked_at = plan["Actual Loops"] * (plan["Actual Rows"] + dropped)
    return looked_at + sum(rows_read(part) for part in plan.get("Plans", ()))


QUERIES: dict[str, Any] = {"chain": lineage._CHAIN, "latest": lineage._LATEST, "tree": lineage._FAMILY_PAGE}


ANALYSE = ("ANALYZE facts", "ANALYZE evolution_edges")
ALONE = "DELETE FROM evolution_edges WHERE project_id <> %(project)s"
SMALL_PROJECTS = (
    "INSERT INTO evolution_edges (project_id, child_id, parent_id, type, position, create_time)"
    " SELECT 'small-' || mod(number, {projects}), gen_random_uuid(), gen_random_uuid(), 'EXTENSION', 1, now()"
    " FROM generate_series(1, {edges}) AS number"
)
SET_ASIDE = (
    "CREATE TEMP TABLE aside ON COMMIT DROP AS SELECT * FROM evolution_edges WHERE project_id = %(project)s",
    "DELETE FROM evolution_edges WHERE project_id = %(project)s",
)
PUT_BACK = ("INSERT INTO evolution_edges SELECT * FROM aside",)
KNOWLEDGE = {
    "what was known before": (),
    "all but this family": (*SET_ASIDE, *ANALYSE, *PUT_BACK),
    "small projects but not this family": (
        *SET_ASIDE,
        ALONE,
        SMALL_PROJECTS.format(projects=20, edges=200),
        *ANALYSE,
        *PUT_BACK,
    ),
    "all there is": ANALYSE,
    "this family alone": (ALONE, *ANALYSE),
    "some small projects": (ALONE, SMALL_PROJECTS.format(projects=20, edges=200), *ANALYSE),
    "many small projects": (SMALL_PROJECTS.format(projects=20_000, edges=20_000), *ANALYSE),
}


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
@pytest.mark.parametrize("query", QUERIES)
async def test_each_step_of_a_walk_reads_its_own_rows_whatever_the_planner_knows(
    engine, project, family, query, knowledge
):
    line = [member(0)]
    for number in range(1, 600):
        line.append(member(number, line[-1]))
    await family(line)
    asked = line[0] if query == "latest" else line[-1]
    compiled = QUERIES[query].compile(dialect=engine.dialect)
    parameters = {**compiled.params, "project": project, "fact": asked.fact_id, "after": None, "rows": 501}
    async with engine.connect() as connection:
        for statement in KNOWLEDGE[knowledge]:
            await connection.exec_driver_sql(statement, {"project": project})
        explained = f"EXPLAIN (ANALYZE, FORMAT JSON) {compiled}"
        [plan] = (await connection.exec_driver_sql(explained, parameters)).scalar_one()
        await connection.rollback()
    assert rows_read(plan["Plan"]) <= 12 * len(line)


async def test_a_line_of_5000_is_read_in_one_round_trip(family, reading, statements):
    line = [member(0)]
    for number in range(1, 5000):
        line.append(member(number, line[-1]))
    await family(line)
    statements.clear()
    assert await chain(reading, line[-1]) == ids(*line)
    assert await latest(reading, line[0]) == line[-1].fact_id
    page = await reading.lineage.family(line[2500].fact_id, after=None, size=500)
    assert [fact.fact_id for fact in page.facts] == ids(*line[:500])
    assert page.total == 5000
    assert len(statements) == 3


async def test_a_family_of_10000_is_read_in_one_round_trip(family, reading, statements):
    chance = random.Random(3)
    members = [member(0)]
    for number in range(1, 10_000):
        parents = [members[chance.randrange(len(members))]]
        if number % 50 == 0:
            parents.append(chance.choice([m for m in members[-20:] if m is not parents[0]] or parents))
        members.append(member(number, *dict.fromkeys(parents)))
    await family(members)
    statements.clear()
    page = await reading.lineage.family(members[-1].fact_id, after=None, size=10_000)
    assert len(statements) == 1
    assert [fact.fact_id for fact in page.facts] == breadth_first(members)
    assert len(page.edges) == sum(len(m.parents) for m in members)

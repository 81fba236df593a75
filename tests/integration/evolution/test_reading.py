"""Lines, families, histories and facts by id, as the use cases give them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from uuid import uuid4

import pytest
from concord_server.domain.enums import EvolutionType, FactChange, FactStatus
from concord_server.domain.errors import FactNotFoundError, InvalidPageTokenError
from concord_server.domain.queries import Cursor
from concord_server.services.batch_get_facts import BatchGetFacts
from concord_server.services.history import ListFactVersions
from concord_server.services.lineage import GetEvolutionTree

from tests.integration.evolution.conftest import World, day


async def test_a_line_is_read_from_every_end(world: World):
    root = (await world.say("The tower is 324 metres tall")).fact
    middle = (await world.branch("With its antenna", root, how=EvolutionType.REFINEMENT)).fact
    last = (await world.branch("It is 330 metres", middle, how=EvolutionType.CORRECTION)).fact
    line = [root.fact_id, middle.fact_id, last.fact_id]
    assert await world.chain(last) == line
    assert await world.tree(middle) == line
    assert await world.latest(root) == last.fact_id
    assert await world.latest(last) == last.fact_id


async def test_the_way_to_the_latest_goes_round_what_was_retracted(world: World):
    root = (await world.say("Root statement about rivers")).fact
    strong = (await world.branch("Rivers, line one", root, source="https://1.example")).fact
    weak = (await world.branch("Rivers, line two", root)).fact
    assert await world.latest(root) == strong.fact_id
    await world.move(strong, FactStatus.RETRACTED)
    assert await world.latest(root) == weak.fact_id


async def test_pages_of_a_family_go_on_where_they_stopped_also_when_it_grew(world: World):
    root = (await world.say("Root")).fact
    children = [(await world.branch(f"Child {n}", root)).fact for n in range(3)]
    tree = GetEvolutionTree(world.ledger)
    first = await tree.execute(world.context, root.fact_id, None, 2)
    assert [fact.fact_id for fact in first.facts] == [root.fact_id, children[0].fact_id]
    late = (await world.branch("Grandchild", children[0])).fact
    second = await tree.execute(world.context, root.fact_id, first.last, 5)
    assert [fact.fact_id for fact in second.facts] == [*(c.fact_id for c in children[1:]), late.fact_id]
    assert second.total == 5


async def test_unknown_facts_have_no_line_no_family_and_no_history(world: World):
    unknown = replace((await world.say("Known")).fact, fact_id=uuid4())
    for read in (world.chain, world.latest, world.tree, world.versions):
        with pytest.raises(FactNotFoundError):
            await read(unknown)


async def test_facts_of_other_projects_look_unknown(world: World, ledger, engine):
    fact = (await world.say("Known")).fact
    other = World(ledger, engine, f"{world.project}-other")
    for read in (other.chain, other.latest, other.tree, other.versions):
        with pytest.raises(FactNotFoundError):
            await read(fact)


async def test_every_recorded_state_is_listed_with_who_and_why(world: World):
    fact = (await world.say("The flag is off")).fact
    await world.move(fact, FactStatus.DISPUTED, "seen on")
    last = await world.move(fact, FactStatus.ACTIVE, "it was off")
    versions = await world.versions(fact)
    assert [(v.change, v.reason, v.fact.status) for v in versions[1:]] == [
        (FactChange.STATUS_CHANGED, "seen on", FactStatus.DISPUTED),
        (FactChange.STATUS_CHANGED, "it was off", FactStatus.ACTIVE),
    ]
    assert versions[0].fact == fact
    assert versions[-1].fact == last
    assert {v.actor for v in versions} == {"tester"}
    for earlier, later in pairwise(versions):
        assert earlier.recorded_to == later.recorded_from
    assert versions[0].recorded_from == fact.create_time
    assert versions[-1].recorded_to is None


async def test_a_changed_interval_of_a_neighbour_is_a_version_of_it_too(world: World):
    first = (await world.claim("Lagos", 0)).fact
    await world.claim("Rome", 10)
    assert [(v.fact.status, v.fact.valid_to) for v in await world.versions(first)] == [
        (FactStatus.ACTIVE, None),
        (FactStatus.SUPERSEDED, day(10)),
    ]


async def test_histories_are_paged(world: World):
    fact = (await world.say("The flag is off")).fact
    for number in range(4):
        await world.update(fact, tags=(str(number),))
    lists = ListFactVersions(world.ledger)
    first = await lists.execute(world.context, fact.fact_id, None, 2)
    assert ([v.fact.version for v in first.items], first.total) == ([1, 2], 5)
    second = await lists.execute(world.context, fact.fact_id, first.next, 5)
    assert ([v.fact.version for v in second.items], second.next) == ([3, 4, 5], None)
    with pytest.raises(InvalidPageTokenError):
        await lists.execute(world.context, fact.fact_id, Cursor("2026-01-01", fact.fact_id), 5)


async def test_an_erased_fact_has_a_history_without_words(world: World):
    fact = (await world.say("The flag is off", tags=("flags",), metadata={"by": "ada"})).fact
    await world.move(fact, FactStatus.DISPUTED, "ada saw it on")
    await world.move(fact, FactStatus.DELETED, "asked for")
    versions = await world.versions(fact)
    assert [v.reason for v in versions] == ["", "", "asked for"]
    assert {(v.fact.text, v.fact.text_raw, v.fact.tags, len(v.fact.metadata)) for v in versions} == {
        ("", "", (), 0)
    }


async def test_facts_are_read_by_their_ids_in_the_order_asked_for(world: World):
    one, two = (await world.say("One")).fact, (await world.say("Two")).fact
    unknown = uuid4()
    batch = BatchGetFacts(world.ledger, world.clock)
    found = await batch.execute(world.context, [two.fact_id, unknown, one.fact_id, two.fact_id], recompute=False)
    assert (found.facts, found.missing) == ((two, one, two), (unknown,))


async def test_facts_are_read_with_their_confidence_as_of_now(world: World):
    fact = (await world.say("One", source="https://a.example")).fact
    world.clock.time = day(400)
    batch = BatchGetFacts(world.ledger, world.clock)
    [stored] = (await batch.execute(world.context, [fact.fact_id], recompute=False)).facts
    [now] = (await batch.execute(world.context, [fact.fact_id], recompute=True)).facts
    assert stored.confidence == fact.confidence
    assert now.confidence == pytest.approx(fact.confidence - 0.1)

"""Facts that were stored without their embedding are embedded and, where nobody has touched them, reconciled again."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from concord_server.domain.enums import (
    EvolutionType,
    FactChange,
    FactStatus,
    FactType,
    ReconcileAction,
)
from concord_server.domain.judgement import Relation
from concord_server.domain.model import EntityRef, EvidenceInput, Fact
from concord_server.domain.project_settings import OwnSettings

from tests.integration.evolution.conftest import World, catching_up, day, said_while_down

ACTIVE, PENDING, SUPERSEDED = FactStatus.ACTIVE, FactStatus.PENDING, FactStatus.SUPERSEDED
OLD, NEW = "The port is 5432", "The database listens on 5432"


def same(now: Fact, before: Fact) -> bool:
    """Whether nothing about a fact has changed but that others' plans are to take notice of it."""
    return replace(now, partition_revision=before.partition_revision) == before


async def pending(world: World) -> int:
    [row] = await world.rows(
        "SELECT count(*) AS waiting FROM fact_search WHERE project_id = :project AND embedding IS NULL"
    )
    return int(row.waiting)


async def decisions(world: World, fact: Fact) -> list[tuple[str, str]]:
    rows = await world.rows(
        "SELECT action, basis FROM decisions WHERE project_id = :project AND fact_id = :fact ORDER BY create_time",
        fact=fact.fact_id,
    )
    return [(row.action, row.basis) for row in rows]


async def test_while_the_embedder_is_down_everything_waits(world: World, catch_up):
    fact = await said_while_down(world, NEW)
    world.embedder.down = True
    assert not await catch_up.execute()
    assert await pending(world) == 1
    world.embedder.down = False
    assert await catch_up.execute()
    assert await pending(world) == 0
    assert same(await world.read(fact), fact)


async def test_a_fact_that_meets_nothing_is_embedded_and_found_from_then_on(world: World, catch_up):
    fact = await said_while_down(world, NEW)
    await catch_up.execute()
    world.embedder.alike(NEW, OLD)
    world.judge.rule(OLD, NEW, Relation.SAME)
    assert (await world.say(OLD)).fact.fact_id == fact.fact_id
    assert len(await world.versions(fact)) == 2
    assert await decisions(world, fact) == [
        ("CREATED", "EMBEDDER_UNAVAILABLE"),
        ("CREATED", "NO_CANDIDATE"),
        ("MERGED", "ABOVE_THRESHOLD"),
    ]


async def test_facts_are_compared_by_the_thresholds_that_the_project_has_then(world: World, catch_up):
    world.embedder.alike(OLD, NEW)
    world.judge.rule(NEW, OLD, Relation.CONTRADICTION)
    known = (await world.say(OLD)).fact
    late = await said_while_down(world, NEW)
    async with world.ledger.write(world.project) as session:
        await session.settings.lock()
        await session.settings.save(OwnSettings(supersede_probability_threshold=0.99))
    await catch_up.execute()
    # By the default of 0.75, the one would have superseded the other.
    assert [(await world.read(fact)).status for fact in (known, late)] == [ACTIVE, ACTIVE]
    [decided] = await world.rows(
        "SELECT supersede_probability_threshold AS threshold FROM decisions WHERE project_id = :project"
        " AND fact_id = :fact AND basis <> 'EMBEDDER_UNAVAILABLE'",
        fact=late.fact_id,
    )
    assert decided.threshold == 0.99


async def test_a_fact_that_says_what_is_known_moves_into_the_known_one(world: World, catch_up):
    world.embedder.alike(OLD, NEW)
    world.judge.rule(NEW, OLD, Relation.SAME)
    known = (await world.say(OLD, source="https://a.example", tags=("a",))).fact
    late = await said_while_down(
        world,
        NEW,
        source="https://b.example",
        evidence=(EvidenceInput(quote="5432"),),
        tags=("b",),
        subjects=(EntityRef("Service", "db"),),
    )
    await world.say(NEW)
    await catch_up.execute()
    details = await world.details(known)
    assert (details.fact.status, details.fact.source_count, details.fact.reinforcement_count) == (ACTIVE, 2, 2)
    assert (details.fact.text, details.fact.text_raw, details.fact.tags) == (OLD, NEW, ("a", "b"))
    assert details.fact.subjects == (EntityRef("Service", "db"),)
    assert [source.url for source in details.sources] == ["https://a.example", "https://b.example"]
    assert [(e.quote, e.source_id) for e in details.evidence] == [("5432", details.sources[1].source_id)]
    gone = await world.details(late)
    assert (gone.fact.status, gone.fact.valid_to) == (SUPERSEDED, gone.fact.valid_from)
    assert gone.sources == ()
    last = (await world.versions(late))[-1]
    assert (last.change, last.actor) == (FactChange.STATUS_CHANGED, "catch-up")
    assert last.reason.startswith("compared again: merged")
    assert await world.facts(as_of=world.clock.time) == [details.fact]
    assert (await decisions(world, known))[-1] == ("MERGED", "ABOVE_THRESHOLD")


async def test_what_was_moved_is_withdrawn_with_its_source(world: World, catch_up):
    world.embedder.alike(OLD, NEW)
    world.judge.rule(NEW, OLD, Relation.SAME)
    known = (await world.say(OLD, observe_time=day(10))).fact
    await said_while_down(world, NEW, source="https://b.example", observe_time=day(20))
    await catch_up.execute()
    assert (await world.withdraw("https://b.example")).affected_count == 1
    left = await world.read(known)
    assert (left.status, left.source_count, left.reinforcement_count) == (ACTIVE, 0, 0)


async def test_later_wordings_meet_the_fact_that_took_over(world: World, catch_up):
    world.embedder.alike(OLD, NEW, "Port 5432 it is")
    for pair in ((NEW, OLD), ("Port 5432 it is", OLD), ("Port 5432 it is", NEW)):
        world.judge.rule(*pair, Relation.SAME)
    known = (await world.say(OLD)).fact
    await said_while_down(world, NEW)
    await catch_up.execute()
    assert (await world.say("Port 5432 it is")).fact.fact_id == known.fact_id
    assert (await world.say(NEW)).fact.fact_id == known.fact_id


async def test_a_contradiction_joins_the_line_by_event_time(world: World, catch_up):
    text = "The port is 6000"
    world.embedder.alike(OLD, text)
    world.judge.rule(text, OLD, Relation.CONTRADICTION)
    known = (await world.say(OLD, observe_time=day(0))).fact
    late = await said_while_down(world, text, observe_time=day(10), source="https://b.example")
    await catch_up.execute()
    joined = await world.read(late)
    assert (joined.status, joined.slot_id, joined.source_count) == (ACTIVE, known.slot_id, 1)
    assert (joined.evolution_type, joined.parent_ids) == (EvolutionType.CONTRADICTION, (known.fact_id,))
    ended = await world.read(known)
    assert (ended.status, ended.valid_to) == (SUPERSEDED, day(10))
    assert await world.chain(late) == [known.fact_id, late.fact_id]
    assert (await decisions(world, late))[-1] == ("BRANCHED", "JUDGED")
    assert {a.fact_id for a in (await world.timeline(joined)).assertions} == {known.fact_id, late.fact_id}
    assert (await world.timeline(late)).assertions == ()


async def test_a_contradiction_that_is_older_becomes_history(world: World, catch_up):
    text = "The port is 6000"
    world.embedder.alike(OLD, text)
    world.judge.rule(text, OLD, Relation.CONTRADICTION)
    known = (await world.say(OLD, observe_time=day(10))).fact
    late = await said_while_down(world, text, observe_time=day(0))
    await catch_up.execute()
    joined = await world.read(late)
    assert (joined.status, joined.valid_from, joined.valid_to) == (SUPERSEDED, day(0), day(10))
    assert (await world.read(known)).parent_ids == (late.fact_id,)
    assert await world.chain(known) == [late.fact_id, known.fact_id]
    last = (await world.versions(late))[-1]
    assert last.change is FactChange.STATUS_CHANGED


async def test_a_contradiction_of_a_claim_waits_for_review(world: World, catch_up):
    text = "She never lived in Lagos"
    known = (await world.claim("Lagos", 0)).fact
    world.embedder.alike(known.text, text)
    world.judge.rule(text, known.text, Relation.CONTRADICTION)
    late = await said_while_down(world, text)
    await catch_up.execute()
    waiting = await world.read(late)
    assert waiting.status is PENDING
    assert waiting.conflict_id is not None
    assert (await world.read(known)).conflict_id == waiting.conflict_id
    assert (await decisions(world, late))[-1] == ("CONFLICTED", "JUDGED")


@pytest.mark.parametrize(
    ("relation", "how"),
    [(Relation.REFINEMENT, EvolutionType.REFINEMENT), (Relation.EXTENSION, EvolutionType.EXTENSION)],
)
async def test_a_refinement_or_extension_descends_and_leaves_the_known_fact(world: World, catch_up, relation, how):
    text = "The port is 5432 over TLS"
    world.embedder.alike(OLD, text)
    world.judge.rule(text, OLD, relation)
    known = (await world.say(OLD, subjects=(EntityRef("Service", "db"),))).fact
    late = await said_while_down(world, text)
    await catch_up.execute()
    child = await world.read(late)
    assert (child.status, child.evolution_type, child.parent_ids) == (ACTIVE, how, (known.fact_id,))
    assert child.subjects == known.subjects
    assert await world.read(known) == known
    assert await pending(world) == 0


async def test_what_says_something_that_was_retracted_is_suppressed(world: World, catch_up):
    world.embedder.alike(OLD, NEW)
    world.judge.rule(NEW, OLD, Relation.SAME)
    known = (await world.say(OLD)).fact
    await world.move(known, FactStatus.RETRACTED)
    late = await said_while_down(world, NEW, source="https://b.example")
    await catch_up.execute()
    assert ((await world.read(known)).status, (await world.read(late)).status) == (
        FactStatus.RETRACTED,
        SUPERSEDED,
    )
    assert (await world.read(known)).source_count == 1
    assert (await decisions(world, known))[-1] == ("SUPPRESSED", "ABOVE_THRESHOLD")


async def test_facts_that_waited_together_are_reconciled_in_the_order_they_came(world: World, catch_up):
    world.embedder.alike(OLD, NEW)
    world.judge.rule(NEW, OLD, Relation.SAME)
    first = await said_while_down(world, OLD, source="https://a.example")
    second = await said_while_down(world, NEW, source="https://b.example")
    await catch_up.execute()
    assert ((await world.read(first)).source_count, (await world.read(second)).status) == (2, SUPERSEDED)


async def test_a_fact_with_a_claim_and_an_occurrence_are_embedded_and_nothing_else(world: World, catch_up):
    world.embedder.down = True
    claim = (await world.claim("Lagos", 0)).fact
    event = (await world.say("The bell rang", type=FactType.EVENT)).fact
    world.embedder.down = False
    await catch_up.execute()
    assert await pending(world) == 0
    assert same(await world.read(claim), claim)
    assert same(await world.read(event), event)


@pytest.mark.parametrize(
    "touch",
    [
        lambda world, fact: world.move(fact, FactStatus.DISPUTED),
        lambda world, fact: world.move(fact, FactStatus.RETRACTED),
        lambda world, fact: world.update(fact, valid_to=day(90)),
        lambda world, fact: world.branch("Something else", fact, how=EvolutionType.CORRECTION),
    ],
)
async def test_what_somebody_has_worked_with_stays_as_it_is(world: World, catch_up, touch):
    world.embedder.alike(OLD, NEW)
    world.judge.rule(NEW, OLD, Relation.SAME)
    known = (await world.say(OLD)).fact
    late = await said_while_down(world, NEW)
    await touch(world, late)
    touched = await world.read(late)
    await catch_up.execute()
    assert await pending(world) == 0
    assert (await world.read(late)).status is touched.status
    assert await world.read(known) == known


async def test_a_derived_fact_keeps_what_it_was_derived_from(world: World, catch_up):
    world.embedder.alike(OLD, NEW)
    world.judge.rule(NEW, OLD, Relation.SAME)
    known = (await world.say(OLD)).fact
    world.embedder.down = True
    child = (await world.branch(NEW, known)).fact
    world.embedder.down = False
    await catch_up.execute()
    assert same(await world.read(child), child)
    assert await pending(world) == 0


async def test_an_erased_fact_does_not_wait(world: World, catch_up):
    late = await said_while_down(world, NEW)
    await world.move(late, FactStatus.DELETED)
    await catch_up.execute()
    assert (await world.read(late)).text == ""


async def test_a_scheduled_contradiction_is_scheduled_on_the_line(world: World, catch_up):
    text = "The port is 6000"
    world.embedder.alike(OLD, text)
    world.judge.rule(text, OLD, Relation.CONTRADICTION)
    known = (await world.say(OLD, observe_time=day(0))).fact
    late = await said_while_down(world, text, valid_from=day(60))
    assert late.status is PENDING
    await catch_up.execute()
    joined = await world.read(late)
    assert (joined.status, joined.conflict_id, joined.slot_id) == (PENDING, None, known.slot_id)
    assert (await world.read(known)).valid_to == day(60)


async def test_many_processes_at_once_take_up_each_fact_once(world: World):
    world.embedder.alike(OLD, NEW)
    world.judge.rule(NEW, OLD, Relation.SAME)
    known = (await world.say(OLD)).fact
    for number in range(8):
        await said_while_down(world, f"Statement {number}")
    await said_while_down(world, NEW, source="https://b.example")
    processes = [catching_up(world) for _ in range(4)]
    await asyncio.gather(*(process.execute() for process in processes))
    assert await pending(world) == 0
    merged = await world.read(known)
    assert (merged.source_count, merged.reinforcement_count, merged.version) == (1, 1, 2)


async def test_a_statement_that_comes_meanwhile_is_not_missed(world: World, catch_up):
    """A writer that searched before the fact had its embedding learns that it has one now."""
    world.embedder.alike(OLD, NEW)
    world.judge.rule(NEW, OLD, Relation.SAME)
    late = await said_while_down(world, OLD)
    match = world.matcher.match_by_meaning

    async def after_catching_up(*arguments):
        found = await match(*arguments)
        world.matcher.match_by_meaning = match  # type: ignore[method-assign]
        await catch_up.execute()
        return found

    world.matcher.match_by_meaning = after_catching_up  # type: ignore[method-assign]
    result = await world.say(NEW)
    assert (result.action, result.fact.fact_id) == (ReconcileAction.MERGED, late.fact_id)

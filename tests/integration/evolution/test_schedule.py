"""Scheduled facts become active when their time comes, once, whoever is there to do it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from concord_server.domain.enums import EvolutionType, FactChange, FactStatus

from tests.integration.evolution.conftest import World, scheduling

ACTIVE, PENDING, SUPERSEDED = FactStatus.ACTIVE, FactStatus.PENDING, FactStatus.SUPERSEDED


async def test_when_its_time_comes_a_scheduled_fact_takes_over(world: World, activate):
    start = world.clock.time + timedelta(days=3)
    now = (await world.claim("Lagos", 0)).fact
    then = (await world.say("Rome", claim=("Priya", "city", "Rome"), valid_from=start)).fact
    assert (then.status, (await world.read(now)).status) == (PENDING, ACTIVE)
    assert await activate.execute() == start
    assert (await world.read(then)).status is PENDING
    world.clock.time = start
    assert await activate.execute() is None
    assert ((await world.read(then)).status, (await world.read(now)).status) == (ACTIVE, SUPERSEDED)
    last = (await world.versions(then))[-1]
    assert (last.actor, last.reason, last.change) == (
        "scheduler",
        "its time has come",
        FactChange.STATUS_CHANGED,
    )


async def test_until_the_scheduler_has_run_reads_of_a_time_are_right_all_the_same(world: World):
    start = world.clock.time + timedelta(days=3)
    await world.claim("Lagos", 0)
    await world.say("Rome", claim=("Priya", "city", "Rome"), valid_from=start)
    assert await world.values(as_of=start) == ["Rome"]
    assert await world.values(as_of=start - timedelta(seconds=1)) == ["Lagos"]


async def test_plain_statements_and_branches_are_scheduled_too(world: World, activate):
    start = world.clock.time + timedelta(days=3)
    alone = (await world.say("The bridge opens", valid_from=start)).fact
    old = (await world.say("The shop is red")).fact
    new = (await world.branch("It is blue", old, how=EvolutionType.CONTRADICTION, valid_from=start)).fact
    assert (alone.status, new.status) == (PENDING, PENDING)
    world.clock.time = start
    await activate.execute()
    assert [(await world.read(fact)).status for fact in (alone, old, new)] == [ACTIVE, SUPERSEDED, ACTIVE]


async def test_of_several_that_are_due_the_last_one_holds(world: World, activate):
    facts = []
    for number in range(4):
        start = world.clock.time + timedelta(days=1 + number)
        said = await world.say(f"City {number}", claim=("Priya", "city", number), valid_from=start)
        facts.append(said.fact)
    world.clock.time += timedelta(days=3, hours=1)
    assert await activate.execute() == facts[-1].valid_from
    assert [(await world.read(fact)).status for fact in facts] == [SUPERSEDED, SUPERSEDED, ACTIVE, PENDING]


async def test_what_waits_in_a_conflict_is_not_scheduled(world: World, activate):
    await world.claim("Lagos", 0)
    challenger = (await world.claim("Rome", 0)).fact
    assert await activate.execute() is None
    assert await world.read(challenger) == challenger


async def test_nothing_due_writes_nothing(world: World, activate):
    fact = (await world.say("The bridge opens", valid_from=world.clock.time + timedelta(days=1))).fact
    await activate.execute()
    world.clock.time += timedelta(days=2)
    await activate.execute()
    await activate.execute()
    assert len(await world.versions(fact)) == 2


async def test_a_service_that_was_away_when_it_was_due_catches_up(world: World, activate):
    fact = (await world.say("The bridge opens", valid_from=world.clock.time + timedelta(days=1))).fact
    world.clock.time += timedelta(days=400)
    await activate.execute()
    assert (await world.read(fact)).status is ACTIVE


async def test_more_than_a_page_is_done_in_one_go(world: World, activate):
    start = world.clock.time + timedelta(days=1)
    for number in range(105):
        await world.say(f"Event {number}", valid_from=start)
    world.clock.time = start
    assert await activate.execute() is None
    assert len(await world.facts(statuses=(ACTIVE,))) == 105


async def test_many_processes_at_once_activate_each_fact_once(world: World):
    start = world.clock.time + timedelta(days=1)
    for number in range(12):
        await world.say(f"Event {number}", valid_from=start, domain=f"d{number % 3}")
    world.clock.time = start
    processes = [scheduling(world) for _ in range(5)]
    await asyncio.gather(*(process.execute() for process in processes))
    facts = await world.facts()
    assert {fact.status for fact in facts} == {ACTIVE}
    assert {fact.version for fact in facts} == {2}


async def test_a_retracted_schedule_is_not_activated(world: World, activate):
    start = world.clock.time + timedelta(days=1)
    old = (await world.claim("Lagos", 0)).fact
    new = (await world.say("Rome", claim=("Priya", "city", "Rome"), valid_from=start)).fact
    await world.move(new, FactStatus.RETRACTED)
    world.clock.time = start
    await activate.execute()
    reopened = await world.read(old)
    assert (reopened.status, reopened.valid_to) == (ACTIVE, None)


async def test_the_agenda_spans_projects_and_says_what_is_next(world: World, ledger, engine):
    other = World(ledger, engine, f"{world.project}-other")
    start = world.clock.time + timedelta(days=1)
    for each in (world, other):
        await each.say("The bridge opens", valid_from=start)
    due = await ledger.agenda.due_slots(start, after=None, limit=10_000)
    assert {world.project, other.project} <= {slot.project for slot in due}
    following = await ledger.agenda.next_due(start - timedelta(seconds=1))
    assert following is not None
    assert following <= start


async def test_a_timeline_is_taken_by_one_session_at_a_time_and_only_while_it_is_due(world: World, ledger):
    start = world.clock.time + timedelta(days=1)
    fact = (await world.say("The bridge opens", valid_from=start)).fact
    async with ledger.write(world.project) as one, ledger.write(world.project) as two:
        assert not await one.work.take_slot(fact.slot_id, start - timedelta(seconds=1))
        assert await one.work.take_slot(fact.slot_id, start)
        assert not await two.work.take_slot(fact.slot_id, start)
    async with ledger.write(world.project) as three:
        assert await three.work.take_slot(fact.slot_id, start)

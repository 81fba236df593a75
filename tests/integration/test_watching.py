"""Watching over the real database: in order, none missed, resumed where it stopped."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest
from concord_server.api.streams import closing
from concord_server.domain.enums import FactChange, FactStatus
from concord_server.domain.errors import SequenceNotKeptError
from concord_server.domain.model import EntityRef, Fact, Partition
from concord_server.domain.watching import Heartbeat, RecordedChange, WatchFilter
from concord_server.services.context import CallContext
from concord_server.services.signals import ChangeSignals
from concord_server.services.watch import PAGE_SIZE, WatchFacts
from concord_server.storage.notifications import ChangeListener
from concord_server.storage.sessions import PostgresLedger

from tests.support.facts import NOON, a_fact, minutes, next_version, save
from tests.support.watching import until

WRITERS = 16
ROUNDS = 12
EVERYTHING = WatchFilter()
ADA = EntityRef("Person", "ada")


@asynccontextmanager
async def process(ledger: PostgresLedger, database_url: str) -> AsyncIterator[WatchFacts]:
    """What a serving process has to watch with. It looks at the logs so seldom that it depends on being told."""
    signals = ChangeSignals()
    listener = ChangeListener(database_url, signals, poll=3600)
    listener.start()
    try:
        yield WatchFacts(ledger, signals)
    finally:
        await listener.close()


@pytest.fixture
async def watch_facts(ledger: PostgresLedger, database_url: str) -> AsyncIterator[WatchFacts]:
    async with process(ledger, database_url) as use_case:
        yield use_case


async def take(
    watch_facts: WatchFacts, project: str, count: int, after: int | None = 0, where: WatchFilter = EVERYTHING
) -> list[RecordedChange]:
    """Returns the first so many changes that a watch tells."""
    told: list[RecordedChange] = []
    async with closing(await watch_facts.execute(CallContext(project), where, after)) as items:
        while len(told) < count:
            item = await anext(items)
            if not isinstance(item, Heartbeat):
                told.append(item)
    return told


async def write_at_random(ledger: PostgresLedger, project: str, writer: int) -> list[tuple[Fact, FactChange]]:
    """Writes in a partition of its own, so that nothing but the log orders it among the others; some roll back."""
    random_ = random.Random(writer)
    written: list[tuple[Fact, FactChange]] = []
    for _ in range(ROUNDS):
        size = random_.randint(1, 3)
        fails = random_.random() < 0.25
        made: list[tuple[Fact, FactChange]] = []
        try:
            async with ledger.write(project) as session:
                for number in range(size):
                    subjects = (ADA,) if number == 0 else ()
                    fresh = a_fact(fact_id=uuid4(), partition=Partition(domain=f"d{writer}"), subjects=subjects)
                    fact = await save(session, fresh)
                    made.append((fact, FactChange.CREATED))
                await asyncio.sleep(random_.random() / 200)  # commits overlap and overtake each other
                if fails:
                    raise ZeroDivisionError
                ended = next_version(fact, status=FactStatus.RETRACTED)
                made.append((await save(session, ended, FactChange.STATUS_CHANGED), FactChange.STATUS_CHANGED))
        except ZeroDivisionError:
            continue
        written += made
    return written


def of(told: Sequence[RecordedChange]) -> list[tuple[Fact, FactChange]]:
    return [(change.fact, change.change) for change in told]


async def test_of_many_concurrent_writers_every_change_is_told_once_in_the_order_of_the_log(
    ledger: PostgresLedger, watch_facts: WatchFacts, project: str
) -> None:
    running = asyncio.gather(*(write_at_random(ledger, project, writer) for writer in range(WRITERS)))
    live: list[RecordedChange] = []

    async def follow() -> None:
        async for item in await watch_facts.execute(CallContext(project), EVERYTHING, 0):
            if not isinstance(item, Heartbeat):
                live.append(item)

    watching = asyncio.create_task(follow())
    written = await running
    expected = [entry for by_writer in written for entry in by_writer]
    after = await take(watch_facts, project, len(expected))
    await until(lambda: len(live) >= len(expected))
    watching.cancel()
    sequences = [change.sequence for change in live]
    assert sequences == sorted(set(sequences))
    assert [(change.sequence, change.fact) for change in after] == [(c.sequence, c.fact) for c in live]
    for writer, entries in enumerate(written):
        own = [change for change in live if change.fact.partition.domain == f"d{writer}"]
        assert of(own) == entries, "each writer's changes are there, in the order in which they were made"
    assert len(live) == len(expected)


async def test_filtered_watches_tell_their_part_while_it_is_written(
    ledger: PostgresLedger, watch_facts: WatchFacts, project: str
) -> None:
    async with ledger.write(project) as session:
        await save(session, a_fact())
    filters = [WatchFilter(domain=f"d{writer}") for writer in range(WRITERS)]
    filters += [WatchFilter(entity=ADA), WatchFilter(changes=frozenset({FactChange.STATUS_CHANGED}))]
    told: list[list[RecordedChange]] = [[] for _ in filters]

    async def follow(number: int, where: WatchFilter) -> None:
        async for item in await watch_facts.execute(CallContext(project), where, None):
            if not isinstance(item, Heartbeat):
                told[number].append(item)

    watching = [asyncio.create_task(follow(number, where)) for number, where in enumerate(filters)]
    await asyncio.sleep(0)
    written = await asyncio.gather(*(write_at_random(ledger, project, writer) for writer in range(WRITERS)))
    everything = await take(watch_facts, project, 1 + sum(map(len, written)))
    expected = [[change for change in everything[1:] if where.admits(change)] for where in filters]
    await until(lambda: [len(part) for part in told] == [len(part) for part in expected])
    assert told == expected
    assert all(told)
    for task in watching:
        task.cancel()


async def test_two_processes_tell_each_others_changes(
    ledger: PostgresLedger, project: str, database_url: str
) -> None:
    async with process(ledger, database_url) as one, process(ledger, database_url) as other:
        waiting = [asyncio.create_task(take(use_case, project, 2)) for use_case in (one, other)]
        for _ in range(2):
            async with ledger.write(project) as session:
                await save(session, a_fact())
        for told in await asyncio.gather(*waiting):
            assert [change.sequence for change in told] == [1, 2]


async def test_a_watch_resumes_in_another_process_without_a_gap(
    ledger: PostgresLedger, project: str, database_url: str
) -> None:
    count = 3 * PAGE_SIZE
    async with ledger.write(project) as session:
        for _ in range(count):
            await save(session, a_fact(fact_id=uuid4()))
    seen: list[int] = []
    while len(seen) < count:
        async with process(ledger, database_url) as use_case:
            part = min(70, count - len(seen))
            seen += [c.sequence for c in await take(use_case, project, part, seen[-1] if seen else 0)]
    assert seen == list(range(1, count + 1))


async def test_a_watch_over_the_end_of_what_is_kept_says_so(
    ledger: PostgresLedger, watch_facts: WatchFacts, project: str
) -> None:
    context = CallContext(project)
    async with ledger.write(project) as session:
        for minute in range(2 * PAGE_SIZE):
            await save(session, a_fact(fact_id=uuid4(), create_time=NOON + minutes(minute)))
    items = await watch_facts.execute(context, EVERYTHING, 0)
    assert (await anext(items)).sequence == 1
    async with ledger.write(project) as session:
        await session.change_log.prune(NOON + minutes(PAGE_SIZE + 5))
    with pytest.raises(SequenceNotKeptError):
        async for _ in items:
            pass
    with pytest.raises(SequenceNotKeptError):
        await watch_facts.execute(context, EVERYTHING, PAGE_SIZE)
    [first] = await take(watch_facts, project, 1, PAGE_SIZE + 5)
    assert first.sequence == PAGE_SIZE + 6


async def test_an_entity_is_watched_under_every_id_that_it_goes_by(
    ledger: PostgresLedger, watch_facts: WatchFacts, project: str
) -> None:
    context, where = CallContext(project), WatchFilter(entity=EntityRef("Person", "lovelace"))
    async with ledger.write(project) as session:
        await save(session, a_fact(subjects=(ADA,)))
    running = await watch_facts.execute(context, where, None)
    async with ledger.write(project) as session:
        await session.entities.add_alias(where.entity or ADA, ADA.entity_id, NOON)
        await save(session, a_fact(fact_id=uuid4(), subjects=(ADA,)))
    assert (await anext(running)).sequence == 2, "also by a watch that began before they became one"
    assert [change.sequence for change in await take(watch_facts, project, 2, 0, where)] == [1, 2]

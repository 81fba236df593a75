"""The change log as watchers read it: pages, bounds, and what is left after pruning."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from concord_server.domain.enums import FactChange, FactStatus
from concord_server.domain.errors import SequenceNotKeptError
from concord_server.domain.model import EntityRef, Fact, Partition
from concord_server.domain.watching import ChangePage, LogBounds, RecordedChange
from concord_server.storage.sessions import PostgresLedger

from tests.integration.storage.conftest import Query
from tests.support.facts import NOON, a_fact, minutes, next_version, save, save_all


async def fill(ledger: PostgresLedger, project: str, facts: Sequence[Fact]) -> list[Fact]:
    async with ledger.write(project) as session:
        return await save_all(session, facts)


async def page(ledger: PostgresLedger, project: str, after: int = 0, size: int = 100) -> ChangePage:
    async with ledger.read(project) as session:
        return await session.change_log.page(after, size)


async def bounds(ledger: PostgresLedger, project: str) -> LogBounds:
    async with ledger.read(project) as session:
        return await session.change_log.bounds()


async def prune(ledger: PostgresLedger, project: str, minute: float, limit: int = 10_000) -> int:
    async with ledger.write(project) as session:
        return await session.change_log.prune(NOON + minutes(minute), limit=limit)


def made_at(minute: float) -> Fact:
    return a_fact(create_time=NOON + minutes(minute))


async def test_a_change_has_the_state_that_it_recorded(ledger: PostgresLedger, project: str) -> None:
    first = a_fact(text="Ada likes blue", subjects=(EntityRef("Person", "ada"),), tags=("colour",))
    async with ledger.write(project) as session:
        first = await save(session, first)
    async with ledger.write(project) as session:
        second = await save(
            session, next_version(first, status=FactStatus.RETRACTED, tags=()), FactChange.STATUS_CHANGED
        )
    one, two = (await page(ledger, project)).changes
    assert (one.sequence, one.change, one.fact, one.time) == (1, FactChange.CREATED, first, first.update_time)
    assert (two.sequence, two.change, two.fact) == (2, FactChange.STATUS_CHANGED, second)


async def test_pages_follow_each_other_without_a_gap(ledger: PostgresLedger, project: str) -> None:
    facts = await fill(ledger, project, [a_fact() for _ in range(7)])
    told: list[RecordedChange] = []
    after, complete = 0, False
    while not complete:
        got = await page(ledger, project, after, 3)
        told += got.changes
        after, complete = got.through, got.complete
    assert [change.sequence for change in told] == list(range(1, 8))
    assert [change.fact for change in told] == facts
    end = await page(ledger, project, after, 3)
    assert (list(end.changes), end.through, end.complete) == ([], 7, True)


async def test_a_page_that_is_just_full_does_not_claim_to_be_the_last(
    ledger: PostgresLedger, project: str
) -> None:
    await fill(ledger, project, [a_fact() for _ in range(3)])
    assert not (await page(ledger, project, 0, 3)).complete
    assert (await page(ledger, project, 0, 4)).complete


async def test_a_project_without_facts_has_an_empty_log(ledger: PostgresLedger, project: str) -> None:
    assert await bounds(ledger, project) == LogBounds(0, 0)
    assert (await page(ledger, project)).complete
    with pytest.raises(SequenceNotKeptError):
        await page(ledger, project, 1)


async def test_a_sequence_that_the_log_never_reached_is_refused(ledger: PostgresLedger, project: str) -> None:
    await fill(ledger, project, [a_fact(), a_fact()])
    assert await bounds(ledger, project) == LogBounds(0, 2)
    assert (await page(ledger, project, 2)).through == 2
    with pytest.raises(SequenceNotKeptError, match="ends at 2"):
        await page(ledger, project, 3)


async def test_projects_do_not_see_each_other(ledger: PostgresLedger, project: str) -> None:
    await fill(ledger, f"{project}-other", [a_fact()])
    assert list((await page(ledger, project)).changes) == []


async def test_what_is_pruned_is_refused_and_what_is_left_is_told(ledger: PostgresLedger, project: str) -> None:
    await fill(ledger, project, [made_at(minute) for minute in range(5)])
    assert await prune(ledger, project, 3) == 3
    assert await bounds(ledger, project) == LogBounds(3, 5)
    with pytest.raises(SequenceNotKeptError, match="kept from 4 on"):
        await page(ledger, project, 2)
    assert [change.sequence for change in (await page(ledger, project, 3)).changes] == [4, 5]


async def test_a_log_that_is_pruned_whole_goes_on_counting(ledger: PostgresLedger, project: str) -> None:
    await fill(ledger, project, [made_at(0), made_at(1)])
    assert await prune(ledger, project, 10) == 2
    assert await bounds(ledger, project) == LogBounds(2, 2)
    with pytest.raises(SequenceNotKeptError):
        await page(ledger, project, 1)
    await fill(ledger, project, [made_at(11)])
    assert [change.sequence for change in (await page(ledger, project, 2)).changes] == [3]


async def test_pruning_leaves_no_hole_where_times_are_out_of_order(ledger: PostgresLedger, project: str) -> None:
    await fill(ledger, project, [made_at(minute) for minute in (0, 5, 1, 6)])
    assert await prune(ledger, project, 3) == 1
    assert [change.sequence for change in (await page(ledger, project, 1)).changes] == [2, 3, 4]
    assert await prune(ledger, project, 3) == 0


async def test_pruning_goes_in_steps_and_keeps_facts_and_versions(
    ledger: PostgresLedger, project: str, query: Query
) -> None:
    await fill(ledger, project, [made_at(0) for _ in range(5)])
    assert [await prune(ledger, project, 1, limit=2) for _ in range(4)] == [2, 2, 1, 0]
    for table in ("facts", "fact_versions"):
        assert await query(f"SELECT count(*) FROM {table} WHERE project_id = %s", project) == [(5,)]
    assert await query("SELECT count(*) FROM change_log WHERE project_id = %s", project) == [(0,)]


async def test_pruning_one_project_leaves_the_others(ledger: PostgresLedger, project: str) -> None:
    await fill(ledger, project, [made_at(0)])
    await fill(ledger, f"{project}-other", [made_at(0)])
    await prune(ledger, project, 1)
    assert await bounds(ledger, f"{project}-other") == LogBounds(0, 1)


async def test_pruning_under_a_reader_is_never_passed_over(ledger: PostgresLedger, project: str) -> None:
    """A reader either gets every change, or is told that some are gone."""
    await fill(ledger, project, [made_at(minute) for minute in range(200)])

    async def follow() -> list[int]:
        told: list[int] = []
        after = 0
        while after < 200:
            try:
                got = await page(ledger, project, after, 7)
            except SequenceNotKeptError:
                return told
            told += [change.sequence for change in got.changes]
            after = got.through
        return told

    async def cut() -> None:
        for minute in range(0, 200, 5):
            await prune(ledger, project, minute)

    readers = asyncio.gather(*(follow() for _ in range(4)))
    await cut()
    for told in await readers:
        assert told == list(range(1, len(told) + 1))


async def test_an_erased_fact_has_no_words_in_any_change(ledger: PostgresLedger, project: str) -> None:
    [fact] = await fill(ledger, project, [a_fact(text="a secret", tags=("secret",), metadata={"note": "secret"})])
    async with ledger.write(project) as session:
        gone = next_version(fact, status=FactStatus.DELETED, delete_time=fact.update_time + minutes(1))
        await save(session, gone, FactChange.ERASED)
        await session.facts.erase(fact.fact_id)
    told = (await page(ledger, project)).changes
    assert [change.change for change in told] == [FactChange.CREATED, FactChange.ERASED]
    assert "secret" not in repr(told)


async def test_a_change_names_its_entities_by_every_id_they_go_by(
    ledger: PostgresLedger, project: str, query: Query
) -> None:
    owned = Partition(owner_type="User", owner_id="u1")
    await fill(
        ledger,
        project,
        [a_fact(subjects=(EntityRef("Person", "ada"), EntityRef("City", "ada"))), a_fact(partition=owned)],
    )
    for old in ("ada", "lovelace"):
        await query("INSERT INTO entity_aliases VALUES (%s, 'Person', %s, 'augusta', now())", project, old)
    await query("INSERT INTO entity_aliases VALUES (%s, 'User', 'u0', 'u1', now())", project)
    about, of = (await page(ledger, project)).changes
    assert about.entities == {
        ("Person", "ada"),
        ("Person", "augusta"),
        ("Person", "lovelace"),
        ("City", "ada"),
    }
    assert of.entities == {("User", "u0"), ("User", "u1")}

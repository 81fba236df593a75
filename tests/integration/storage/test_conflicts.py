"""Conflicts: who is in them, since when, and which are listed."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from concord_server.domain.enums import ConflictState, FactChange, FactStatus
from concord_server.domain.errors import InvalidPageTokenError
from concord_server.domain.model import Conflict, EntityRef, Fact, Partition
from concord_server.domain.queries import ConflictFilter, ConflictSummary, Cursor
from concord_server.ports.ledger import WriteSession
from concord_server.storage.errors import LostRaceError
from concord_server.storage.sessions import PostgresLedger
from concord_server.storage.tables import ONE_OPEN_CONFLICT
from uuid_utils.compat import uuid7

from tests.integration.storage.conftest import Query
from tests.support.facts import NOON, a_fact, minutes, next_version, save

EVERYTHING = ConflictFilter()


async def opened(
    session: WriteSession,
    *members: Fact,
    incumbent: Fact | None = None,
    at: datetime = NOON,
    partition: Partition = Partition(),  # noqa: B008 - frozen
) -> UUID:
    held = await session.partitions.lock(partition, at)
    conflict_id = uuid7()
    await session.conflicts.open(conflict_id, uuid7(), held.partition_id, "two values", at)
    ids = [member.fact_id for member in members]
    await session.conflicts.set_members(conflict_id, ids, incumbent.fact_id if incumbent else None, at)
    return conflict_id


async def conflict(ledger: PostgresLedger, project: str, conflict_id: UUID) -> Conflict:
    async with ledger.read(project) as session:
        found = await session.conflicts.get(conflict_id)
    assert found is not None
    return found


async def pending(session: WriteSession, **fields: Any) -> Fact:
    return await save(session, a_fact(status=FactStatus.PENDING, **fields))


async def test_the_incumbent_comes_first_and_then_the_oldest(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        younger = await pending(session, create_time=NOON + minutes(2))
        older = await pending(session, create_time=NOON + minutes(1))
        incumbent = await save(session, a_fact(create_time=NOON + minutes(3)))
        conflict_id = await opened(session, younger, incumbent, older, incumbent=incumbent)
    found = await conflict(ledger, project, conflict_id)
    assert found.facts == (incumbent, older, younger)
    assert (found.state, found.reason, found.create_time) == (ConflictState.OPEN, "two values", NOON)
    assert (found.resolve_time, found.kept_fact_id, found.resolution_note) == (None, None, "")


async def test_an_unknown_conflict_is_none(ledger: PostgresLedger, project: str) -> None:
    async with ledger.read(project) as session:
        assert await session.conflicts.get(uuid7()) is None
        assert await session.conflicts.of_conflict(uuid7()) is None


async def test_a_slot_never_has_two_open_conflicts(ledger: PostgresLedger, project: str) -> None:
    slot_id = uuid7()
    async with ledger.write(project) as session:
        held = await session.partitions.lock(Partition(), NOON)
        first = uuid7()
        await session.conflicts.open(first, slot_id, held.partition_id, "", NOON)
        await session.conflicts.resolve(first, kept=None, note="", now=NOON)
        await session.conflicts.open(uuid7(), slot_id, held.partition_id, "", NOON)
    with pytest.raises(LostRaceError) as caught:
        async with ledger.write(project) as session:
            await session.conflicts.open(uuid7(), slot_id, held.partition_id, "", NOON)
    assert caught.value.constraint == ONE_OPEN_CONFLICT


async def test_members_who_leave_keep_their_row(ledger: PostgresLedger, project: str, query: Query) -> None:
    async with ledger.write(project) as session:
        a, b, c = [await pending(session, text=text) for text in "abc"]
        conflict_id = await opened(session, a, b, incumbent=a)
    async with ledger.write(project) as session:
        later = NOON + minutes(1)
        await session.conflicts.set_members(conflict_id, [c.fact_id, b.fact_id], c.fact_id, later)
    async with ledger.write(project) as session:
        await session.conflicts.set_members(conflict_id, [a.fact_id], None, NOON + minutes(2))
    rows = await query(
        "SELECT fact_id, joined_time, left_time, is_incumbent FROM conflict_members WHERE project_id = %s",
        project,
    )
    assert sorted(rows, key=str) == sorted(
        [
            (a.fact_id, NOON, later, True),
            (b.fact_id, NOON, NOON + minutes(2), False),
            (c.fact_id, later, NOON + minutes(2), True),
            (a.fact_id, NOON + minutes(2), None, False),
        ],
        key=str,
    )
    assert (await conflict(ledger, project, conflict_id)).facts == (a,)


async def test_leaving_and_coming_back_at_one_moment_is_staying(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        a, b = [await pending(session, text=text) for text in "ab"]
        conflict_id = await opened(session, a, b)
        await session.conflicts.set_members(conflict_id, [b.fact_id], None, NOON)
        await session.conflicts.set_members(conflict_id, [b.fact_id, a.fact_id], None, NOON)
    assert {fact.fact_id for fact in (await conflict(ledger, project, conflict_id)).facts} == {
        a.fact_id,
        b.fact_id,
    }


async def test_the_etag_changes_with_every_change_and_with_nothing_else(
    ledger: PostgresLedger, project: str
) -> None:
    async with ledger.write(project) as session:
        a, b = [await pending(session, text=text) for text in "ab"]
        conflict_id = await opened(session, a)

    async def etag_after(members: list[Fact], incumbent: Fact | None) -> str:
        async with ledger.write(project) as session:
            ids = [fact.fact_id for fact in members]
            incumbent_id = incumbent.fact_id if incumbent else None
            await session.conflicts.set_members(conflict_id, ids, incumbent_id, NOON + minutes(1))
        return (await conflict(ledger, project, conflict_id)).etag

    first = (await conflict(ledger, project, conflict_id)).etag
    assert await etag_after([a], None) == first
    joined = await etag_after([a, b], None)
    assert joined != first
    assert await etag_after([b, a], None) == joined
    led = await etag_after([a, b], a)
    assert led != joined
    left = await etag_after([b], None)
    assert left not in {first, joined, led}
    async with ledger.write(project) as session:
        await session.conflicts.resolve(conflict_id, kept=b.fact_id, note="seen", now=NOON + minutes(2))
    assert (await conflict(ledger, project, conflict_id)).etag != left


async def test_a_resolved_conflict_keeps_its_facts_as_they_are_now(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        a, b = [await pending(session, text=text) for text in "ab"]
        conflict_id = await opened(session, a, b)
    async with ledger.write(project) as session:
        a = await save(session, next_version(a, status=FactStatus.ACTIVE), FactChange.STATUS_CHANGED)
        b = await save(session, next_version(b, status=FactStatus.SUPERSEDED), FactChange.STATUS_CHANGED)
        await session.conflicts.resolve(conflict_id, kept=a.fact_id, note="a is right", now=NOON + minutes(1))
    found = await conflict(ledger, project, conflict_id)
    assert found.facts == (a, b)
    assert found.state is ConflictState.RESOLVED
    assert (found.kept_fact_id, found.resolution_note) == (a.fact_id, "a is right")
    assert found.resolve_time == NOON + minutes(1)


async def test_an_erased_fact_is_never_served_as_a_member(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        a, b = [await pending(session, text=text) for text in "ab"]
        conflict_id = await opened(session, a, b)
    async with ledger.write(project) as session:
        await save(session, next_version(a, status=FactStatus.DELETED), FactChange.ERASED)
    assert (await conflict(ledger, project, conflict_id)).facts == (b,)


async def test_the_partition_of_a_conflict_is_known(ledger: PostgresLedger, project: str) -> None:
    partition = Partition("scope", "domain", owner_type="person", owner_id="ada")
    async with ledger.write(project) as session:
        conflict_id = await opened(session, partition=partition)
        assert await session.conflicts.of_conflict(conflict_id) == partition


async def test_conflicts_are_listed_newest_first_page_by_page(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        made = [
            await opened(session, await pending(session, text=f"fact {n}"), at=NOON + minutes(n // 2))
            for n in range(5)
        ]
    seen: list[Conflict] = []
    after: Cursor | None = None
    async with ledger.read(project) as session:
        while True:
            page, summary = await session.conflicts.list(EVERYTHING, after=after, size=2)
            assert page.total == 5
            assert summary == ConflictSummary(5, NOON)
            seen += page.items
            after = page.next
            if after is None:
                break
    assert [one.conflict_id for one in seen] == [made[4], made[3], made[2], made[1], made[0]]
    assert [len(one.facts) for one in seen] == [1] * 5


async def test_conflicts_are_filtered_and_summed_up_under_the_filter(ledger: PostgresLedger, project: str) -> None:
    ada, billing = EntityRef("person", "ada"), Partition(domain="billing", owner_type="person", owner_id="ada")
    async with ledger.write(project) as session:
        linked = await opened(session, await pending(session, subjects=(ada,)), at=NOON)
        owned = await opened(
            session, await pending(session, partition=billing), partition=billing, at=NOON + minutes(1)
        )
        gone = await pending(session, subjects=(ada,), text="left")
        left = await opened(session, gone, at=NOON + minutes(2))
        await session.conflicts.set_members(left, [], None, NOON + minutes(3))
        solved = await opened(session, at=NOON - minutes(1))
        await session.conflicts.resolve(solved, kept=None, note="", now=NOON)

    async def listed(where: ConflictFilter) -> tuple[list[UUID], ConflictSummary]:
        async with ledger.read(project) as session:
            page, summary = await session.conflicts.list(where, after=None, size=10)
        assert page.total == len(page.items)
        return [one.conflict_id for one in page.items], summary

    assert await listed(EVERYTHING) == ([left, owned, linked, solved], ConflictSummary(3, NOON))
    assert await listed(ConflictFilter(state=ConflictState.OPEN)) == (
        [left, owned, linked],
        ConflictSummary(3, NOON),
    )
    # What is open is counted whichever state is listed.
    assert await listed(ConflictFilter(state=ConflictState.RESOLVED)) == ([solved], ConflictSummary(3, NOON))
    assert await listed(ConflictFilter(entity=ada)) == ([owned, linked], ConflictSummary(2, NOON))
    assert await listed(ConflictFilter(domain="billing")) == (
        [owned],
        ConflictSummary(1, NOON + minutes(1)),
    )
    assert await listed(ConflictFilter(domain="nowhere")) == ([], ConflictSummary(0, None))


async def test_a_position_of_another_list_is_refused(ledger: PostgresLedger, project: str) -> None:
    async with ledger.read(project) as session:
        with pytest.raises(InvalidPageTokenError):
            await session.conflicts.list(EVERYTHING, after=Cursor("0.5", uuid7()), size=1)

"""Slots, their timelines, and the predicates."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from concord_server.domain.enums import Cardinality, FactStatus, Trust
from concord_server.domain.model import Partition
from concord_server.domain.settlement import Timeline
from concord_server.domain.timeline import Assertion, AssertionKind, AssertionState
from concord_server.storage.sessions import PostgresLedger
from uuid_utils.compat import uuid7

from tests.support.facts import NOON, a_claim, a_fact, a_source, minutes, save

S = FactStatus
A_SLOT: dict[str, Any] = {"subject": "Ada", "predicate": "favorite_color", "qualifiers": {"at": "work"}}


def by_id(assertions: tuple[Assertion, ...]) -> list[Assertion]:
    return sorted(assertions, key=lambda assertion: assertion.assertion_id)


async def test_a_slot_is_found_by_its_key_within_its_partition(ledger: PostgresLedger, project: str) -> None:
    slot_id = uuid7()
    async with ledger.write(project) as session:
        here = await session.partitions.lock(Partition(), NOON)
        there = await session.partitions.lock(Partition(domain="there"), NOON)
        assert await session.slots.find(here.partition_id, "key") is None
        await session.slots.create(here.partition_id, "key", slot_id, **A_SLOT)
        await session.slots.create(there.partition_id, "key", uuid7(), **A_SLOT)
    async with ledger.read(project) as session:
        assert await session.slots.find(here.partition_id, "key") == slot_id
        assert await session.slots.find(here.partition_id, "other") is None


async def test_a_slot_of_which_nothing_was_said_is_empty(ledger: PostgresLedger, project: str) -> None:
    slot_id = uuid7()
    async with ledger.read(project) as session:
        assert await session.slots.timeline(slot_id) == Timeline(slot_id)


async def test_a_timeline_has_its_facts_assertions_and_open_conflict(ledger: PostgresLedger, project: str) -> None:
    slot_id, conflict_id = uuid7(), uuid7()
    async with ledger.write(project) as session:
        held = await session.partitions.lock(Partition(), NOON)
        await session.conflicts.open(conflict_id, slot_id, held.partition_id, "", NOON)
        later = await save(
            session, a_fact(slot_id=slot_id, valid_from=NOON + minutes(1), claim=a_claim(), tags=("a", "b"))
        )
        earlier = await save(session, a_fact(slot_id=slot_id, status=S.SUPERSEDED))
        source = await session.facts.upsert_source(a_source(later.fact_id, external_id="x"))
        await save(session, a_fact(slot_id=slot_id, status=S.DELETED, text=""))
        await save(session, a_fact(text="elsewhere"))
        assertions = (
            Assertion(uuid7(), earlier.fact_id, NOON, "k1"),
            Assertion(
                uuid7(),
                later.fact_id,
                NOON + minutes(1),
                "k2",
                value={"a": [1, 2.5, None]},
                kind=AssertionKind.PATCH,
                trust=Trust.UNTRUSTED,
                state=AssertionState.QUARANTINED,
                end=NOON + minutes(2),
                ends=True,
                source_id=source.source_id,
            ),
            Assertion(uuid7(), later.fact_id, NOON, "k2", kind=AssertionKind.AMEND, end=None, ends=True),
        )
        await session.slots.save_assertions(slot_id, held.partition_id, assertions, NOON)
    async with ledger.read(project) as session:
        timeline = await session.slots.timeline(slot_id)
    assert timeline.facts == (earlier, later)
    assert by_id(timeline.assertions) == list(assertions)
    assert timeline.conflict_id == conflict_id


async def test_a_resolved_conflict_is_not_the_slots_any_more(ledger: PostgresLedger, project: str) -> None:
    slot_id, conflict_id = uuid7(), uuid7()
    async with ledger.write(project) as session:
        held = await session.partitions.lock(Partition(), NOON)
        await session.conflicts.open(conflict_id, slot_id, held.partition_id, "", NOON)
        await session.conflicts.resolve(conflict_id, kept=None, note="", now=NOON)
        assert (await session.slots.timeline(slot_id)).conflict_id is None


async def test_assertions_change_and_move_to_another_slot(ledger: PostgresLedger, project: str) -> None:
    old_slot, new_slot = uuid7(), uuid7()
    async with ledger.write(project) as session:
        fact, other = await save(session, a_fact(slot_id=old_slot)), await save(session, a_fact(slot_id=new_slot))
        held = await session.partitions.lock(fact.partition, NOON)
        staying, moving = (
            Assertion(uuid7(), fact.fact_id, NOON, "k", value=1),
            Assertion(uuid7(), fact.fact_id, NOON, "k", value=2),
        )
        await session.slots.save_assertions(old_slot, held.partition_id, [staying, moving], NOON)
    moved = replace(
        moving,
        fact_id=other.fact_id,
        value=None,
        state=AssertionState.OVERRULED,
        time=NOON + minutes(1),
        value_key="k3",
        kind=AssertionKind.CORRECT,
        trust=Trust.THIRD_PARTY,
    )
    async with ledger.write(project) as session:
        await session.partitions.lock(fact.partition, NOON)
        await session.slots.save_assertions(new_slot, held.partition_id, [moved], NOON)
        await session.slots.save_assertions(new_slot, held.partition_id, [], NOON)
    async with ledger.read(project) as session:
        assert (await session.slots.timeline(old_slot)).assertions == (staying,)
        assert (await session.slots.timeline(new_slot)).assertions == (moved,)


async def test_the_first_use_of_a_predicate_sets_its_cardinality(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        assert await session.slots.cardinality("likes") is None
        assert await session.slots.register_predicate("likes", Cardinality.MULTI, NOON) is Cardinality.MULTI
    async with ledger.write(project) as session:
        assert await session.slots.register_predicate("likes", Cardinality.SINGLE, NOON) is Cardinality.MULTI
        assert await session.slots.cardinality("likes") is Cardinality.MULTI


@pytest.mark.parametrize("first_commits", [True, False])
async def test_two_first_uses_of_a_predicate_agree(
    ledger: PostgresLedger, project: str, *, first_commits: bool
) -> None:
    registered = asyncio.Event()

    async def first() -> None:
        async with ledger.write(project) as session:
            await session.slots.register_predicate("likes", Cardinality.MULTI, NOON)
            registered.set()
            if not first_commits:
                raise ZeroDivisionError

    async def second() -> Cardinality:
        await registered.wait()
        async with ledger.write(project) as session:
            return await session.slots.register_predicate("likes", Cardinality.SINGLE, NOON)

    _, seen = await asyncio.gather(first(), second(), return_exceptions=True)
    async with ledger.read(project) as session:
        assert seen is await session.slots.cardinality("likes")
    assert seen is (Cardinality.MULTI if first_commits else Cardinality.SINGLE)

"""UpdateFact: ending a fact that has no successor, and what else is not a statement."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from concord_server.domain.confidence import confidence
from concord_server.domain.enums import FactChange, FactStatus, FactType, Volatility
from concord_server.domain.errors import (
    EtagMismatchError,
    FactNotFoundError,
    IllegalStatusTransitionError,
    InvalidFieldsError,
    SlotOccupiedError,
)
from concord_server.domain.model import Fact, SourceInput
from concord_server.services.update_fact import FactUpdate

from tests.integration.evolution.conftest import World, day

ACTIVE, SUPERSEDED = FactStatus.ACTIVE, FactStatus.SUPERSEDED


async def test_a_fact_without_a_successor_can_be_ended(world: World):
    fact = (await world.claim("Acme", 0)).fact
    ended = await world.update(fact, valid_to=day(10), reason="left")
    assert (ended.status, ended.valid_from, ended.valid_to) == (ACTIVE, day(0), day(10))
    assert await world.values(as_of=day(5)) == ["Acme"]
    assert await world.values(as_of=day(15)) == []
    last = (await world.versions(fact))[-1]
    assert (last.change, last.reason, last.fact) == (FactChange.REVISED, "left", ended)


async def test_a_plain_statement_can_be_ended_too(world: World):
    fact = (await world.say("The bridge is closed", observe_time=day(0))).fact
    assert (await world.update(fact, valid_to=day(10))).valid_to == day(10)
    assert await world.facts(as_of=day(15)) == []


async def test_an_end_can_be_taken_back(world: World):
    fact = (await world.claim("Acme", 0, valid_to=day(10))).fact
    assert (await world.update(fact, valid_to=None)).valid_to is None
    assert await world.values(as_of=day(15)) == ["Acme"]


async def test_an_occurrence_can_be_given_the_one_instant_that_it_took(world: World):
    first, second = (SourceInput(external_id=f"observer {number}") for number in (1, 2))
    said = [
        await world.say("Lightning struck", type=FactType.EVENT, valid_from=day(0), valid_to=day(1), source=source)
        for source in (first, second)
    ]
    fact = said[0].fact
    brief = await world.update(fact, valid_to=day(0))
    assert (brief.status, brief.valid_from, brief.valid_to) == (ACTIVE, day(0), day(0))
    await world.withdraw(external_id="observer 1")
    [left] = await world.facts()
    assert (left.status, left.valid_to, left.source_count) == (ACTIVE, day(0), 1)


async def test_an_end_can_be_moved(world: World):
    fact = (await world.claim("Acme", 0)).fact
    await world.update(fact, valid_to=day(10))
    assert (await world.update(fact, valid_to=day(20))).valid_to == day(20)
    assert (await world.update(fact, valid_to=day(5))).valid_to == day(5)


@pytest.mark.parametrize("start", [-5, 5])
async def test_a_beginning_can_be_moved_either_way(world: World, start):
    fact = (await world.claim("Acme", 0)).fact
    moved = await world.update(fact, valid_from=day(start))
    assert (moved.fact_id, moved.valid_from, moved.valid_to) == (fact.fact_id, day(start), None)
    assert await world.values(as_of=day(start - 1)) == []
    assert await world.values(as_of=day(start)) == ["Acme"]


async def test_both_bounds_can_be_moved_at_once(world: World):
    fact = (await world.claim("Acme", 0)).fact
    moved = await world.update(fact, valid_from=day(3), valid_to=day(6))
    assert (moved.valid_from, moved.valid_to) == (day(3), day(6))


async def test_bounds_stay_where_a_later_statement_says_the_same(world: World):
    fact = (await world.claim("Acme", 0)).fact
    await world.update(fact, valid_to=day(10))
    reinforced = (await world.claim("Acme", 5)).fact
    assert (reinforced.fact_id, reinforced.valid_to) == (fact.fact_id, day(10))


async def test_after_an_end_the_same_value_begins_anew(world: World):
    fact = (await world.claim("Acme", 0)).fact
    await world.update(fact, valid_to=day(10))
    again = (await world.claim("Acme", 15)).fact
    assert again.fact_id != fact.fact_id
    assert [(f.valid_from, f.valid_to) for f in await world.facts()] == [(day(0), day(10)), (day(15), None)]


async def test_bounds_that_a_neighbour_holds_are_refused_and_nothing_changes(world: World):
    first = (await world.claim("Acme", 0)).fact
    second = (await world.claim("Bolt", 10)).fact
    refused: list[tuple[Fact, dict[str, Any]]] = [
        (first, {"valid_to": day(15)}),
        (first, {"valid_to": None}),
        (second, {"valid_from": day(-5)}),
    ]
    for fact, bounds in refused:
        with pytest.raises(SlotOccupiedError):
            await world.update(fact, **bounds)
    assert [(f.valid_from, f.valid_to) for f in await world.facts()] == [(day(0), day(10)), (day(10), None)]


async def test_a_gap_can_be_made_between_neighbours(world: World):
    first = (await world.claim("Acme", 0)).fact
    await world.claim("Bolt", 10)
    assert (await world.update(first, valid_to=day(7))).valid_to == day(7)
    assert await world.values(as_of=day(8)) == []


async def test_a_beginning_that_moves_back_shortens_what_held_before(world: World):
    first = (await world.claim("Acme", 0)).fact
    second = (await world.claim("Bolt", 10)).fact
    assert (await world.update(second, valid_from=day(5))).valid_from == day(5)
    assert (await world.read(first)).valid_to == day(5)


async def test_an_interval_that_is_inverted_or_empty_is_refused(world: World):
    fact = (await world.claim("Acme", 0)).fact
    inverted: list[dict[str, Any]] = [
        {"valid_to": day(-1)},
        {"valid_to": day(0)},
        {"valid_from": day(5), "valid_to": day(4)},
    ]
    for bounds in inverted:
        with pytest.raises(InvalidFieldsError) as refused:
            await world.update(fact, **bounds)
        assert [v.field for v in refused.value.violations] == ["valid_to"]


async def test_other_fields_are_replaced_whole_and_bounds_stay(world: World):
    fact = (await world.say("The bridge is closed", tags=("a", "b"), metadata={"x": 1, "y": 2})).fact
    changed = await world.update(
        fact, tags=("c", "a", "c"), metadata={"z": 3}, volatility=Volatility.VOLATILE, corroboration_score=1.0
    )
    assert (changed.tags, changed.metadata, changed.volatility) == (("c", "a"), {"z": 3}, Volatility.VOLATILE)
    assert (changed.valid_from, changed.valid_to) == (fact.valid_from, fact.valid_to)
    assert changed.confidence == confidence([], None, 1.0, changed.update_time)
    assert await world.read(fact) == changed
    cleared = await world.update(fact, tags=(), metadata={})
    assert (cleared.tags, cleared.metadata, cleared.volatility) == ((), {}, Volatility.VOLATILE)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, "update_mask"),
        ({"text": "x"}, "update_mask"),
        ({"valid_from": None}, "valid_from"),
        ({"tags": ("a", " ")}, "tags[1]"),
        ({"corroboration_score": 1.5}, "corroboration_score"),
        ({"corroboration_score": float("nan")}, "corroboration_score"),
        ({"metadata": {"n": 2.0**60}}, "metadata"),
    ],
)
async def test_what_is_wrong_is_named(world: World, fields, named):
    fact = (await world.claim("Acme", 0)).fact
    known = {name: value for name, value in fields.items() if name != "text"}
    with pytest.raises(InvalidFieldsError) as refused:
        await world.updates.execute(
            world.context, fact.fact_id, FactUpdate(mask=frozenset(fields), **known), "a test"
        )
    assert [v.field for v in refused.value.violations] == [named]
    assert await world.read(fact) == fact


async def test_an_outdated_etag_is_refused(world: World):
    fact = (await world.claim("Acme", 0)).fact
    changed = await world.update(fact, tags=("a",), etag=fact.etag)
    with pytest.raises(EtagMismatchError):
        await world.update(fact, tags=("b",), etag=fact.etag)
    assert (await world.update(fact, tags=("b",), etag=changed.etag)).tags == ("b",)


async def test_of_many_changes_under_one_etag_at_once_one_is_made(world: World):
    fact = (await world.claim("Acme", 0)).fact
    changes = [world.update(fact, tags=(str(number),), etag=fact.etag) for number in range(6)]
    moves = [world.move(fact, status, etag=fact.etag) for status in (FactStatus.DISPUTED, FactStatus.RETRACTED)]
    answers = await asyncio.gather(*changes, *moves, return_exceptions=True)
    assert sum(isinstance(answer, EtagMismatchError) for answer in answers) == 7
    assert (await world.read(fact)).version == 2


async def test_an_unknown_fact_is_not_found_and_an_erased_one_does_not_change(world: World):
    fact = (await world.claim("Acme", 0)).fact
    with pytest.raises(FactNotFoundError):
        await world.update(replace(fact, fact_id=uuid4()), tags=("a",))
    await world.move(fact, FactStatus.DELETED)
    with pytest.raises(IllegalStatusTransitionError):
        await world.update(fact, tags=("a",))


async def test_a_challenger_keeps_waiting_with_its_new_bounds(world: World):
    await world.claim("Acme", 0)
    challenger = (await world.claim("Bolt", 0)).fact
    changed = await world.update(challenger, valid_to=day(20))
    assert (changed.status, changed.valid_to, changed.conflict_id) == (
        FactStatus.PENDING,
        day(20),
        challenger.conflict_id,
    )


async def test_a_retracted_fact_has_its_new_bounds_when_it_is_restored(world: World):
    fact = (await world.claim("Acme", 0)).fact
    await world.move(fact, FactStatus.RETRACTED)
    await world.update(fact, valid_to=day(10))
    restored = await world.move(fact, ACTIVE)
    assert (restored.status, restored.valid_to) == (ACTIVE, day(10))


async def test_a_fact_that_lost_its_statements_to_another_can_be_labelled_and_disputed_but_not_dated(world: World):
    await world.claim("Lagos", 0)
    await world.claim("Lagos", 20)
    late = (await world.claim("Rome", 10)).fact
    split_off = (await world.facts())[-1]
    await world.move(late, FactStatus.RETRACTED)
    joined = await world.read(split_off)
    assert (joined.status, joined.valid_to) == (SUPERSEDED, joined.valid_from)
    assert (await world.update(joined, tags=("a",))).tags == ("a",)
    with pytest.raises(SlotOccupiedError):
        await world.update(joined, valid_to=day(28))
    assert (await world.move(joined, FactStatus.RETRACTED)).status is FactStatus.RETRACTED
    assert await world.values(as_of=day(25)) == ["Lagos"]
    assert (await world.move(joined, FactStatus.DELETED)).text == ""

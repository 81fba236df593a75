"""Predicates changed by hand: cardinality, aliases, suggestions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from concord_server.domain.commands import KeepAll
from concord_server.domain.enums import (
    Cardinality,
    ConflictState,
    ContradictionPolicy,
    FactStatus,
    ReconcileAction,
)
from concord_server.domain.errors import EtagMismatchError, InvalidFieldsError, PredicateNotFoundError
from concord_server.domain.model import Conflict, Fact
from concord_server.domain.predicate_update import PredicateUpdate
from concord_server.domain.predicates import Predicate
from concord_server.domain.queries import ConflictFilter, FactFilter, FactOrder
from concord_server.domain.values import Json
from concord_server.providers.system import TimeOrderedIds
from concord_server.services.predicates import ListPredicates, UpdatePredicate

from tests.integration.usecases.conftest import Desk
from tests.integration.usecases.test_claims import day, open_conflicts
from tests.integration.usecases.test_predicates import claim, predicate_of, registered

SINGLE, MULTI = Cardinality.SINGLE, Cardinality.MULTI


async def update(desk: Desk, predicate: str, etag: str = "", /, **fields: Any) -> Predicate:
    use_case = UpdatePredicate(desk.ledger, desk.clock, TimeOrderedIds())
    given = PredicateUpdate(predicate, frozenset(fields), **fields)
    changed = await use_case.execute(desk.context, given, etag)
    assert isinstance(changed, Predicate)
    return changed


def told(facts: list[Fact]) -> list[tuple[Json, FactStatus]]:
    return [(f.claim.value if f.claim else None, f.status) for f in facts]


async def likes(desk: Desk, *values: Json, subject: str = "Noor") -> list[Fact]:
    said = [
        await claim(desk, "likes", v, subject, cardinality=MULTI, observe_time=day(i))
        for i, v in enumerate(values)
    ]
    return [result.fact for result in said]


async def test_values_that_clash_become_conflicts(desk: Desk):
    tea, coffee, _ = await likes(desk, "tea", "coffee", "mate")
    await likes(desk, "tea", subject="Ben")
    changed = await update(desk, "likes", cardinality=SINGLE)
    assert (changed.cardinality, changed.fact_count) == (SINGLE, 4)
    [conflict] = await open_conflicts(desk)
    assert conflict.facts[0].fact_id == tea.fact_id
    assert told(list(conflict.facts)) == [
        ("tea", FactStatus.ACTIVE),
        ("coffee", FactStatus.PENDING),
        ("mate", FactStatus.PENDING),
    ]
    assert {f.claim.cardinality for f in conflict.facts if f.claim} == {SINGLE}
    assert len({f.slot_id for f in conflict.facts}) == 1
    assert (await desk.read(coffee)).conflict_id == conflict.conflict_id


async def test_one_value_at_a_time_from_then_on(desk: Desk):
    [tea] = await likes(desk, "tea")
    await update(desk, "likes", cardinality=SINGLE)
    later = await claim(desk, "likes", "coffee", "Noor", observe_time=day(5))
    assert later.action is ReconcileAction.BRANCHED
    assert (await desk.read(tea)).status is FactStatus.SUPERSEDED


async def test_what_is_over_is_no_clash(desk: Desk):
    await claim(desk, "likes", "tea", "Noor", cardinality=MULTI, valid_from=day(0), valid_to=day(3))
    await claim(desk, "likes", "coffee", "Noor", cardinality=MULTI, valid_from=day(4))
    await update(desk, "likes", cardinality=SINGLE)
    assert await open_conflicts(desk) == []
    assert told(await desk.facts()) == [("tea", FactStatus.SUPERSEDED), ("coffee", FactStatus.ACTIVE)]


async def test_several_values_may_hold_from_then_on(desk: Desk):
    first = await claim(desk, "team", "Payments", observe_time=day(0))
    await claim(desk, "team", "Search", observe_time=day(2))
    changed = await update(desk, "team", cardinality=MULTI)
    assert changed.cardinality is MULTI
    third = await claim(desk, "team", "Ads", observe_time=day(4))
    again = await claim(desk, "team", "search", observe_time=day(5))
    assert (third.action, again.action) == (ReconcileAction.CREATED, ReconcileAction.MERGED)
    facts = await desk.facts()
    assert told(facts) == [
        ("Payments", FactStatus.SUPERSEDED),
        ("Search", FactStatus.ACTIVE),
        ("Ads", FactStatus.ACTIVE),
    ]
    assert (await desk.read(first.fact)).valid_to == day(2)
    back = await claim(desk, "team", "Payments", observe_time=day(6))
    assert (back.action, back.fact.valid_from) == (ReconcileAction.CREATED, day(6))


async def test_there_and_back_again(desk: Desk):
    await claim(desk, "team", "Payments", observe_time=day(0))
    await claim(desk, "team", "Search", observe_time=day(2))
    before = [(f.fact_id, f.status, f.valid_from, f.valid_to) for f in await desk.facts()]
    await update(desk, "team", cardinality=MULTI)
    await update(desk, "team", cardinality=SINGLE)
    assert [(f.fact_id, f.status, f.valid_from, f.valid_to) for f in await desk.facts()] == before
    assert await open_conflicts(desk) == []


async def test_an_open_conflict_can_then_be_resolved_by_keeping_all(desk: Desk):
    await claim(desk, "team", "Payments")
    rival = await claim(desk, "team", "Search", contradiction_policy=ContradictionPolicy.CONFLICT)
    assert rival.conflict is not None
    await update(desk, "team", cardinality=MULTI)
    resolved = await desk.resolves.execute(desk.context, rival.conflict.conflict_id, KeepAll(), "both")
    assert isinstance(resolved, Conflict)
    assert resolved.state is ConflictState.RESOLVED
    same = await claim(desk, "team", "Search")
    assert same.action is ReconcileAction.MERGED


async def test_what_was_superseded_before_all_were_kept_stays_so(desk: Desk):
    old = await claim(desk, "team", "Ads", observe_time=day(0))
    await claim(desk, "team", "Payments", observe_time=day(2))
    rival = await claim(
        desk, "team", "Search", observe_time=day(3), contradiction_policy=ContradictionPolicy.CONFLICT
    )
    assert rival.conflict is not None
    await update(desk, "team", cardinality=MULTI)
    await desk.resolves.execute(desk.context, rival.conflict.conflict_id, KeepAll(), "both")
    await claim(desk, "team", "Ads", observe_time=day(1))
    read = await desk.read(old.fact)
    assert (read.status, read.valid_to) == (FactStatus.SUPERSEDED, day(2))
    active = [fact.claim.value for fact in await desk.facts() if fact.claim and fact.status is FactStatus.ACTIVE]
    assert sorted(map(str, active)) == ["Payments", "Search"]


async def test_a_value_that_a_conflict_kept_back_is_met_again(desk: Desk):
    """It stays in the slot from when one value held, and is no second fact beside it."""
    await claim(desk, "team", "Payments")
    rival = await claim(desk, "team", "Search", contradiction_policy=ContradictionPolicy.CONFLICT)
    await update(desk, "team", cardinality=MULTI)
    await desk.move(rival.fact, FactStatus.RETRACTED)
    same = await claim(desk, "team", "payments")
    assert same.action is ReconcileAction.MERGED


async def test_an_alias_given_by_hand_means_the_predicate(desk: Desk):
    await claim(desk, "employer", "Acme", observe_time=day(0))
    changed = await update(desk, "Employer", aliases=("worksFor",))
    assert changed.aliases == ("works_for",)
    globex = await claim(desk, "works_for", "Globex", observe_time=day(1))
    assert (globex.action, predicate_of(globex.fact)) == (ReconcileAction.BRANCHED, "employer")
    assert (await update(desk, "employer", aliases=())).aliases == ()
    own = await claim(desk, "works_for", "Initech", observe_time=day(2))
    assert (own.action, predicate_of(own.fact)) == (ReconcileAction.CREATED, "works_for")


async def test_a_family_moves_as_a_whole_and_never_loops(desk: Desk):
    for predicate in ("hue", "tint", "color"):
        await claim(desk, predicate, "blue", predicate)
    await update(desk, "tint", aliases=("hue",))
    changed = await update(desk, "color", aliases=("tint",))
    assert changed.aliases == ("hue", "tint")
    for bad in ({"aliases": ("color",)}, {"cardinality": MULTI}):
        with pytest.raises(InvalidFieldsError, match="tint is an alias of color"):
            await update(desk, "tint", **bad)
    fresh = await claim(desk, "hue", "red", "Kim")
    assert predicate_of(fresh.fact) == "color"


async def test_an_alias_must_hold_as_many_values(desk: Desk):
    await likes(desk, "tea")
    await claim(desk, "favorite", "tea")
    with pytest.raises(InvalidFieldsError, match="is MULTI and favorite is SINGLE"):
        await update(desk, "favorite", aliases=("likes",))
    changed = await update(desk, "favorite", aliases=("likes",), cardinality=MULTI)
    assert (changed.aliases, changed.cardinality) == (("likes",), MULTI)
    await update(desk, "favorite", cardinality=SINGLE)
    assert (await registered(desk, "likes")).cardinality is SINGLE


async def test_dropped_suggestions_are_not_made_again_either_way_round(desk: Desk):
    await claim(desk, "bike_count", 3)
    await claim(desk, "car_count", 3)
    bikes = await registered(desk, "bike_count")
    assert [s.predicate for s in bikes.suggestions] == ["car_count"]
    assert (await update(desk, "bike_count", suggestions=())).suggestions == ()
    await claim(desk, "bike_count", 3, "Kim")
    await claim(desk, "car_count", 3, "Kim")
    await claim(desk, "car_count", 3, "Lou")
    await claim(desk, "bike_count", 3, "Lou")
    page = await ListPredicates(desk.ledger).execute(desk.context, True, None, 50)
    assert (list(page.items), page.total) == ([], 0)


async def test_an_alias_taken_away_is_not_learned_again(desk: Desk):
    await claim(desk, "favorite_color", "blue")
    await claim(desk, "preferred_color", "green")
    await update(desk, "favorite_color", aliases=())
    await claim(desk, "favorite_color", "blue", "Kim")
    own = await claim(desk, "preferred_color", "green", "Kim")
    assert predicate_of(own.fact) == "preferred_color"
    assert (await registered(desk, "favorite_color")).aliases == ()


async def test_a_suggestion_is_accepted_by_making_it_an_alias(desk: Desk):
    await claim(desk, "bike_count", 3)
    await claim(desk, "car_count", 3)
    changed = await update(desk, "bike_count", aliases=("car_count",))
    assert (changed.aliases, changed.suggestions) == (("car_count",), ())


async def test_lists_are_by_name_and_paged(desk: Desk):
    for predicate in ("c", "a", "b"):
        await claim(desk, predicate, {"x": 1})
    lists = ListPredicates(desk.ledger)
    first = await lists.execute(desk.context, False, None, 2)
    rest = await lists.execute(desk.context, False, first.next, 2)
    assert [[p.predicate for p in page.items] for page in (first, rest)] == [["a", "b"], ["c"]]
    assert (first.total, rest.next) == (3, None)


async def test_lost_updates_and_unknown_names_are_refused(desk: Desk):
    await claim(desk, "bike_count", 3)
    seen = await registered(desk, "bike_count")
    await claim(desk, "car_count", 3)  # a suggestion that the caller has not seen
    with pytest.raises(EtagMismatchError):
        await update(desk, "bike_count", seen.etag, suggestions=())
    with pytest.raises(PredicateNotFoundError):
        await update(desk, "nothing", cardinality=MULTI)


async def test_writers_and_a_change_of_cardinality_take_turns(desk: Desk):
    """Whatever comes between, no value ends up beside another where one may hold."""
    subjects = [f"s{number}" for number in range(6)]

    async def say(subject: str) -> None:
        for number in range(4):
            await claim(desk, "likes", f"v{number}", subject, cardinality=MULTI, observe_time=day(number))

    async def change() -> None:
        for cardinality in (SINGLE, MULTI, SINGLE):
            await update(desk, "likes", cardinality=cardinality)

    await claim(desk, "likes", "v0", "s0", cardinality=MULTI)
    await asyncio.gather(*(say(subject) for subject in subjects), change())
    facts = await desk.facts(FactFilter(statuses=(FactStatus.ACTIVE,)))
    assert sorted({f.claim.subject for f in facts if f.claim}) == subjects
    assert len(facts) == len(subjects)
    where = ConflictFilter(state=ConflictState.OPEN)
    page, _ = await desk.lists_conflicts.execute(desk.context, where, FactOrder(), None, 50)
    for conflict in page.items:
        assert sum(f.status is FactStatus.ACTIVE for f in conflict.facts) <= 1

"""Statements with a claim: slots, conflicts, status changes and what they re-fold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from concord_server.domain.commands import ClaimInput, KeepAll, KeepNone, KeepOne
from concord_server.domain.enums import (
    Cardinality,
    ConflictState,
    ContradictionPolicy,
    DecisionBasis,
    EvolutionType,
    FactStatus,
    FactType,
    ReconcileAction,
    Trust,
)
from concord_server.domain.errors import (
    ConflictAlreadyResolvedError,
    EtagMismatchError,
    FactNotFoundError,
    FactNotInConflictError,
    IllegalStatusTransitionError,
    SlotOccupiedError,
)
from concord_server.domain.model import Conflict, Fact, SourceInput
from concord_server.domain.queries import ConflictFilter, FactFilter, FactOrder
from concord_server.domain.values import Json
from concord_server.services.results import ReconcileResult

from tests.integration.usecases.conftest import NOON, Desk


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


async def claim(desk: Desk, value: Json, when: datetime | None = None, /, **fields: object) -> ReconcileResult:
    cardinality = fields.pop("cardinality", None)
    given = ClaimInput("Kai", str(fields.pop("predicate", "employer")), value, cardinality=cardinality)  # type: ignore[arg-type]
    text = str(fields.pop("text", f"Kai: {value}"))
    return await desk.say(text, claim=given, observe_time=when, **fields)


async def rival(desk: Desk, value: Json, when: datetime | None = None, /, **fields: object) -> ReconcileResult:
    return await claim(desk, value, when, contradiction_policy=ContradictionPolicy.CONFLICT, **fields)


async def resolve(desk: Desk, conflict: Conflict | None, resolution: object) -> Conflict:
    assert conflict is not None
    resolved = await desk.resolves.execute(desk.context, conflict.conflict_id, resolution, "a note")  # type: ignore[arg-type]
    assert isinstance(resolved, Conflict)
    return resolved


async def open_conflicts(desk: Desk) -> list[Conflict]:
    where = ConflictFilter(state=ConflictState.OPEN)
    page, _ = await desk.lists_conflicts.execute(desk.context, where, FactOrder(), None, 50)
    return list(page.items)


def spans(facts: list[Fact]) -> list[tuple[Json, datetime, datetime | None, FactStatus]]:
    return [(f.claim.value if f.claim else f.text, f.valid_from, f.valid_to, f.status) for f in facts]


async def test_the_slot_decides_whatever_the_wording(desk: Desk):
    first = await claim(desk, "Acme", day(1), text="Kai works at Acme")
    same = await claim(desk, " ACME ", day(2), text="The employer is unchanged")
    assert (same.action, same.decision.basis) == (ReconcileAction.MERGED, DecisionBasis.EXACT_CLAIM)
    assert same.fact.fact_id == first.fact.fact_id
    other = await claim(desk, "Globex", day(3), text="Kai works at Acme")
    assert other.action is ReconcileAction.BRANCHED


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
async def test_one_timeline_in_any_order_of_arrival(desk: Desk, order: tuple[int, ...]):
    for index in order:
        await claim(desk, "ABC"[index], day(index))
    assert spans(await desk.facts()) == [
        ("A", day(0), day(1), FactStatus.SUPERSEDED),
        ("B", day(1), day(2), FactStatus.SUPERSEDED),
        ("C", day(2), None, FactStatus.ACTIVE),
    ]


async def test_late_history_splits_what_was_said_on_both_sides(desk: Desk):
    whole = await claim(desk, "A", day(0), source=SourceInput(url="https://early.example"))
    await claim(desk, "A", day(9), source=SourceInput(url="https://late.example"))
    await claim(desk, "B", day(5))
    facts = await desk.facts()
    assert spans(facts) == [
        ("A", day(0), day(5), FactStatus.SUPERSEDED),
        ("B", day(5), day(9), FactStatus.SUPERSEDED),
        ("A", day(9), None, FactStatus.ACTIVE),
    ]
    assert facts[0].fact_id == whole.fact.fact_id
    later = await desk.gets.execute(desk.context, facts[2].fact_id)
    assert [s.url for s in later.sources] == ["https://late.example"]
    assert later.fact.source_count == 1


async def test_a_superseding_object_keeps_what_it_does_not_restate(desk: Desk):
    await claim(desk, {"target": "Kyoto", "status": "researching", "companion": "Ana"}, day(0))
    patched = await claim(desk, {"status": "booked", "companion": None}, day(2))
    assert patched.fact.claim is not None
    assert patched.fact.claim.value == {"target": "Kyoto", "status": "booked"}
    await claim(desk, {"target": "Nara"}, day(1))
    now = (await desk.facts(FactFilter(statuses=(FactStatus.ACTIVE,))))[0]
    assert now.claim is not None
    assert now.claim.value == {"target": "Nara", "status": "booked"}


async def test_retracting_reopens_and_restoring_into_an_occupied_slot_is_a_conflict(desk: Desk):
    first = await claim(desk, "Acme", day(0))
    second = await claim(desk, "Globex", day(1))
    await desk.move(second.fact, FactStatus.RETRACTED)
    reopened = await desk.read(first.fact)
    assert (reopened.status, reopened.valid_to) == (FactStatus.ACTIVE, None)
    suppressed = await claim(desk, "Globex", day(2))
    assert suppressed.action is ReconcileAction.SUPPRESSED
    restored = await desk.move(second.fact, FactStatus.ACTIVE)
    assert restored.status is FactStatus.PENDING
    [conflict] = await open_conflicts(desk)
    assert [f.fact_id for f in conflict.facts] == [first.fact.fact_id, second.fact.fact_id]


async def test_a_disputed_fact_stays_disputed_and_comes_back_as_a_challenger(desk: Desk):
    first = await claim(desk, "Acme", day(0))
    await desk.move(first.fact, FactStatus.DISPUTED)
    again = await claim(desk, "Acme", day(1))
    assert (again.action, again.fact.status) == (ReconcileAction.MERGED, FactStatus.DISPUTED)
    other = await claim(desk, "Globex", day(2))
    assert other.fact.status is FactStatus.ACTIVE
    disputed = await desk.read(first.fact)
    assert (disputed.status, disputed.valid_to) == (FactStatus.DISPUTED, day(2))
    restored = await desk.move(disputed, FactStatus.ACTIVE)
    assert restored.status is FactStatus.PENDING
    assert len(await open_conflicts(desk)) == 1


async def test_a_statement_ahead_of_its_time_is_scheduled(desk: Desk):
    current = await claim(desk, "Acme", day(0))
    ahead = NOON + timedelta(days=30)
    scheduled = await claim(desk, "Globex", None, valid_from=ahead)
    assert (scheduled.fact.status, scheduled.fact.conflict_id) == (FactStatus.PENDING, None)
    now = await desk.read(current.fact)
    assert (now.status, now.valid_to) == (FactStatus.ACTIVE, ahead)
    then = await desk.facts(FactFilter(as_of=ahead + timedelta(days=1)))
    assert [f.fact_id for f in then] == [scheduled.fact.fact_id]
    assert await open_conflicts(desk) == []


async def test_challengers_share_one_conflict_and_a_supersede_is_the_new_incumbent(desk: Desk):
    await claim(desk, "A", day(0))
    first = await rival(desk, "B", day(1))
    second = await rival(desk, "C", day(2))
    assert second.conflict is not None
    assert first.conflict is not None
    assert second.conflict.conflict_id == first.conflict.conflict_id
    newer = await claim(desk, "D", day(3))
    [conflict] = await open_conflicts(desk)
    assert conflict.facts[0].fact_id == newer.fact.fact_id
    assert {f.fact_id for f in conflict.facts[1:]} == {first.fact.fact_id, second.fact.fact_id}


async def test_a_conflict_ends_without_challengers_and_waits_without_an_incumbent(desk: Desk):
    incumbent = await claim(desk, "A", day(0))
    challenger = await rival(desk, "B", day(1))
    await desk.move(incumbent.fact, FactStatus.RETRACTED)
    [alone] = await open_conflicts(desk)
    assert [f.fact_id for f in alone.facts] == [challenger.fact.fact_id]
    filled = await claim(desk, "C", day(2))
    [contested] = await open_conflicts(desk)
    assert contested.facts[0].fact_id == filled.fact.fact_id
    await desk.move(await desk.read(challenger.fact), FactStatus.ARCHIVED)
    assert await open_conflicts(desk) == []
    assert (await desk.read(filled.fact)).conflict_id is None


async def test_erasing_a_challenger_ends_its_conflict(desk: Desk):
    incumbent = await claim(desk, "A", day(0))
    challenger = await rival(desk, "B", day(1))
    erased = await desk.move(challenger.fact, FactStatus.DELETED)
    assert (erased.status, erased.text) == (FactStatus.DELETED, "")
    assert await open_conflicts(desk) == []
    assert (await desk.read(incumbent.fact)).conflict_id is None


async def test_keeping_one_places_it_and_supersedes_the_others(desk: Desk):
    incumbent = await claim(desk, "A", day(0))
    kept = await rival(desk, "B", day(2))
    loser = await rival(desk, "C", day(1))
    resolved = await resolve(desk, kept.conflict, KeepOne(kept.fact.fact_id))
    assert (resolved.state, resolved.kept_fact_id) == (ConflictState.RESOLVED, kept.fact.fact_id)
    assert spans(await desk.facts()) == [
        ("A", day(0), day(2), FactStatus.SUPERSEDED),
        ("C", day(1), day(1), FactStatus.SUPERSEDED),
        ("B", day(2), None, FactStatus.ACTIVE),
    ]
    for fact in (incumbent.fact, kept.fact, loser.fact):
        assert (await desk.read(fact)).conflict_id is None
    with pytest.raises(ConflictAlreadyResolvedError):
        await resolve(desk, kept.conflict, KeepOne(incumbent.fact.fact_id))


async def test_keeping_a_rival_of_the_same_instant_means_that_the_other_never_held(desk: Desk):
    await claim(desk, "A", day(0))
    kept = await claim(desk, "B", day(0))
    assert kept.action is ReconcileAction.CONFLICTED
    await resolve(desk, kept.conflict, KeepOne(kept.fact.fact_id))
    assert spans(await desk.facts()) == [
        ("A", day(0), day(0), FactStatus.SUPERSEDED),
        ("B", day(0), None, FactStatus.ACTIVE),
    ]


async def test_keeping_the_incumbent_or_none(desk: Desk):
    incumbent = await claim(desk, "A", day(0))
    challenger = await rival(desk, "B", day(1))
    await resolve(desk, challenger.conflict, KeepOne(incumbent.fact.fact_id))
    assert (await desk.read(incumbent.fact)).status is FactStatus.ACTIVE
    assert (await desk.read(challenger.fact)).valid_to == day(1)
    again = await rival(desk, "C", day(2))
    await resolve(desk, again.conflict, KeepNone())
    assert (await desk.read(incumbent.fact)).status is FactStatus.RETRACTED
    assert (await desk.read(again.fact)).status is FactStatus.RETRACTED


async def test_only_members_can_be_kept_and_all_only_where_several_may_hold(desk: Desk):
    await claim(desk, "A", day(0))
    challenger = await rival(desk, "B", day(1))
    outside = await claim(desk, "x", day(0), predicate="hobby")
    with pytest.raises(FactNotInConflictError):
        await resolve(desk, challenger.conflict, KeepOne(outside.fact.fact_id))
    with pytest.raises(FactNotFoundError):
        await resolve(desk, challenger.conflict, KeepOne(desk.reconciles._ids.new()))
    with pytest.raises(SlotOccupiedError):
        await resolve(desk, challenger.conflict, KeepAll())


async def test_lower_trust_waits_and_a_trusted_word_activates_it(desk: Desk):
    doubtful = SourceInput(url="https://gossip.example", trust=Trust.THIRD_PARTY)
    await claim(desk, "pro", day(0))
    waiting = await claim(desk, "free", day(1), source=doubtful)
    assert waiting.action is ReconcileAction.CONFLICTED
    again = await claim(desk, "free", day(2), source=doubtful)
    assert (again.action, again.fact.status) == (ReconcileAction.MERGED, FactStatus.PENDING)
    confirmed = await claim(desk, "free", day(3))
    assert confirmed.fact.fact_id == waiting.fact.fact_id
    assert (confirmed.fact.status, confirmed.fact.trust) == (FactStatus.ACTIVE, Trust.TRUSTED)
    assert await open_conflicts(desk) == []


async def test_several_values_where_the_predicate_allows_it(desk: Desk):
    likes = {"predicate": "likes", "cardinality": Cardinality.MULTI}
    for value in ("tea", "coffee", "TEA"):
        await claim(desk, value, day(0), **likes)
    assert {f.claim.value for f in await desk.facts() if f.claim} == {"tea", "coffee"}
    warned = await claim(desk, "cocoa", day(0), predicate="likes", cardinality=Cardinality.SINGLE)
    assert warned.action is ReconcileAction.CREATED
    assert "MULTI" in warned.warnings[0]


async def test_occurrences_with_a_claim_never_compete(desk: Desk):
    for when in (day(0), day(1), day(0)):
        await claim(desk, "clinic", when, predicate="visited", type=FactType.EVENT)
    assert [f.status for f in await desk.facts()] == [FactStatus.ACTIVE, FactStatus.ACTIVE]


async def test_a_twin_without_a_claim_gains_it(desk: Desk):
    plain = await desk.say("Kai works at Acme", observe_time=day(0))
    claimed = await claim(desk, "Acme", day(1), text="Kai works at Acme")
    assert (claimed.action, claimed.fact.fact_id) == (ReconcileAction.MERGED, plain.fact.fact_id)
    assert claimed.fact.claim is not None
    assert claimed.fact.valid_from == day(0)
    newer = await claim(desk, "Globex", day(2))
    assert newer.fact.parent_ids == (plain.fact.fact_id,)


async def test_a_statement_without_a_claim_never_replaces_one_with_a_claim(desk: Desk):
    held = await claim(desk, 5432, day(0), predicate="port", text="The orders database listens on port 5432")
    plain = await desk.say("The orders database listens on port 6543", observe_time=day(1))
    assert (plain.action, plain.fact.status) == (ReconcileAction.CONFLICTED, FactStatus.PENDING)
    assert (await desk.read(held.fact)).status is FactStatus.ACTIVE


async def test_history_is_joined_into_the_graph(desk: Desk):
    last = await claim(desk, "C", day(2))
    first = await claim(desk, "A", day(0))
    middle = await claim(desk, "B", day(1))
    assert middle.evolution_type is EvolutionType.CONTRADICTION
    assert middle.fact.parent_ids == (first.fact.fact_id,)
    assert (await desk.read(last.fact)).parent_ids == (first.fact.fact_id, middle.fact.fact_id)


async def test_ending_by_hand_closes_now_and_stays_ended(desk: Desk):
    held = await claim(desk, "A", day(0))
    ended = await desk.move(held.fact, FactStatus.SUPERSEDED)
    assert ended.status is FactStatus.SUPERSEDED
    assert ended.valid_to is not None
    assert day(0) < ended.valid_to <= desk.clock.time
    newer = await claim(desk, "B")
    assert newer.fact.status is FactStatus.ACTIVE
    assert (await desk.read(held.fact)).valid_to == ended.valid_to


async def test_stale_etags_and_illegal_steps_are_refused(desk: Desk):
    held = await claim(desk, "A", day(0))
    await desk.move(held.fact, FactStatus.DISPUTED)
    with pytest.raises(EtagMismatchError):
        await desk.statuses.execute(desk.context, held.fact.fact_id, FactStatus.ACTIVE, "fine", held.fact.etag)
    with pytest.raises(IllegalStatusTransitionError):
        await desk.move(held.fact, FactStatus.PENDING)


async def test_the_kept_rival_wins_at_its_instant_though_the_other_was_stated_again(desk: Desk):
    await claim(desk, "A", day(1))
    await claim(desk, "B", day(5))
    challenger = await claim(desk, "C", day(1))
    assert challenger.action is ReconcileAction.CONFLICTED
    await claim(desk, "A", day(1))
    resolved = await resolve(desk, challenger.conflict, KeepOne(challenger.fact.fact_id))
    assert resolved.kept_fact_id == challenger.fact.fact_id
    kept = await desk.read(challenger.fact)
    assert (kept.status, kept.valid_from, kept.valid_to) == (FactStatus.SUPERSEDED, day(1), day(5))


async def test_keeping_a_rival_that_says_what_held_before_lets_that_go_on(desk: Desk):
    first = await claim(desk, "A", day(0))
    await claim(desk, "B", day(1))
    challenger = await claim(desk, "A", day(1))
    assert challenger.action is ReconcileAction.CONFLICTED
    resolved = await resolve(desk, challenger.conflict, KeepOne(challenger.fact.fact_id))
    assert resolved.kept_fact_id == first.fact.fact_id
    held = await desk.read(first.fact)
    assert (held.status, held.valid_to) == (FactStatus.ACTIVE, None)

"""What a timeline means for its facts (semantics, sections 4 to 6)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from concord_server.domain.enums import FactStatus, Trust
from concord_server.domain.model import Fact
from concord_server.domain.placement import Outcome
from concord_server.domain.settlement import FactState, Settlement, Timeline, settle
from concord_server.domain.timeline import Assertion, AssertionState

from tests.unit.domain.builders import AMEND, CORRECT, PATCH, Ids, at, day, reopened, said, uid
from tests.unit.domain.ledger import ACTIVE, DISPUTED, PENDING, SLOT, SUPERSEDED, Ledger, fact

WAITING, SUSPENDED = AssertionState.QUARANTINED, AssertionState.SUSPENDED
WITHDRAWN, OVERRULED = AssertionState.WITHDRAWN, AssertionState.OVERRULED
RETRACTED, ARCHIVED = FactStatus.RETRACTED, FactStatus.ARCHIVED
NOW = 100


def settled(
    assertions: Iterable[Assertion], facts: Sequence[Fact] = (), now: datetime | None = None
) -> Settlement:
    return settle(Timeline(SLOT, tuple(facts), tuple(assertions)), now or at(NOW), Ids().new)


def of(after: Settlement, number: int) -> FactState:
    return after.state(uid(1000 + number))


def bounds(state: FactState) -> tuple[FactStatus, float, float | None]:
    return state.status, day(state.valid_from), None if state.valid_to is None else day(state.valid_to)


class TestStatuses:
    def test_what_holds_now_is_active_and_what_held_before_superseded(self):
        after = settled([said(1, "A", 1), said(2, "B", 3), said(3, "C", 5)])
        assert [bounds(of(after, n)) for n in (1, 2, 3)] == [
            (SUPERSEDED, 1, 3),
            (SUPERSEDED, 3, 5),
            (ACTIVE, 5, None),
        ]

    def test_what_starts_later_is_pending_and_what_holds_now_has_its_end(self):
        after = settled([said(1, "A", 1), said(2, "B", 150), said(3, "C", 200)])
        assert [bounds(of(after, n)) for n in (1, 2, 3)] == [
            (ACTIVE, 1, 150),
            (PENDING, 150, 200),
            (PENDING, 200, None),
        ]

    def test_what_starts_later_is_pending_also_where_nothing_holds_now(self):
        assert bounds(of(settled([said(1, "A", 150)]), 1)) == (PENDING, 150, None)

    @pytest.mark.parametrize(("ahead", "status"), [(300, ACTIVE), (301, PENDING)])
    def test_up_to_five_minutes_ahead_is_now(self, ahead, status):
        now = at(NOW) - timedelta(seconds=ahead)
        after = settled([said(1, "A", 1), said(2, "B", NOW)], now=now)
        assert of(after, 2).status is status
        assert of(after, 1).status is (SUPERSEDED if status is ACTIVE else ACTIVE)

    def test_the_scheduler_swaps_when_the_time_comes(self):
        slot = Ledger(NOW)
        one, other = slot.say("A", 1).fact_id, slot.say("B", 150).fact_id
        assert (slot.status(one), slot.status(other)) == (ACTIVE, PENDING)
        assert (slot.as_of(149), slot.as_of(150)) == (["A"], ["B"])
        slot.wait(150)
        assert (slot.status(one), slot.status(other)) == (SUPERSEDED, ACTIVE)

    def test_what_ended_without_a_successor_stays_active_with_its_end(self):
        assert bounds(of(settled([said(1, "A", 1, end=3)]), 1)) == (ACTIVE, 1, 3)

    def test_what_was_superseded_before_it_ended_is_active_again_without_its_successor(self):
        known = [fact(1, "A", SUPERSEDED, 1, 3)]
        after = settled([said(1, "A", 1, end=3), said(2, "B", 5, state=SUSPENDED)], known)
        assert bounds(of(after, 1)) == (ACTIVE, 1, 3)

    def test_nothing_said_is_nothing_settled(self):
        assert settled([]) == Settlement((), (), (), {})


class TestEndsByHand:
    ENDED = said(2, "A", 1, kind=AMEND, end=50, fact=1)

    def test_a_fact_ended_by_hand_stays_superseded(self):
        after = settled([said(1, "A", 1), self.ENDED], [fact(1, "A", SUPERSEDED, 1, 50)])
        assert bounds(of(after, 1)) == (SUPERSEDED, 1, 50)

    def test_until_it_is_reopened(self):
        assertions = [said(1, "A", 1), self.ENDED, reopened(3, "A", 1, fact=1)]
        after = settled(assertions, [fact(1, "A", SUPERSEDED, 1, 50)])
        assert bounds(of(after, 1)) == (ACTIVE, 1, None)

    def test_an_end_in_the_future_leaves_it_active(self):
        after = settled([said(1, "A", 1), self.ENDED], [fact(1, "A", ACTIVE, 1)], now=at(40))
        assert bounds(of(after, 1)) == (ACTIVE, 1, 50)

    def test_the_later_part_of_a_split_is_ended_too(self):
        assertions = [said(1, "A", 1), said(3, "A", 9, fact=1), self.ENDED, said(4, "B", 5)]
        after = settled(assertions, [fact(1, "A", SUPERSEDED, 1, 50)])
        [later] = [s for s in after.states if s.split_from is not None]
        assert bounds(later) == (SUPERSEDED, 9, 50)

    def test_an_end_supports_nothing(self):
        withdrawn = said(1, "A", 1, state=WITHDRAWN)
        after = settled([withdrawn, self.ENDED], [fact(1, "A", SUPERSEDED, 1, 50)])
        assert (of(after, 1).status, of(after, 1).off_timeline) == (DISPUTED, True)

    def test_an_end_is_no_reinforcement(self):
        assert of(settled([said(1, "A", 1), self.ENDED]), 1).reinforcement_count == 0


class TestIdentity:
    def test_facts_keep_their_ids_when_history_comes_late(self):
        after = settled([said(1, "A", 1), said(2, "C", 9), said(3, "B", 5)])
        assert [s.fact_id for s in after.states] == [uid(1001), uid(1003), uid(1002)]

    def test_the_later_part_of_a_split_is_a_new_fact_with_the_later_statements(self):
        after = settled([said(1, "A", 1), said(2, "A", 5, fact=1), said(3, "B", 3)])
        assert bounds(of(after, 1)) == (SUPERSEDED, 1, 3)
        [later] = [s for s in after.states if s.split_from is not None]
        assert bounds(later) == (ACTIVE, 5, None)
        assert later.split_from == uid(1001)
        assert [a.fact_id for a in after.assertions] == [uid(1001), later.fact_id, uid(1003)]

    def test_taking_away_what_split_a_value_joins_its_parts(self):
        known = [fact(1, "A", SUPERSEDED, 1, 3), fact(2, "B", SUPERSEDED, 3, 5), fact(3, "A", ACTIVE, 5)]
        after = settled([said(1, "A", 1), said(2, "B", 3, state=SUSPENDED), said(3, "A", 5)], known)
        assert bounds(of(after, 1)) == (ACTIVE, 1, None)
        assert of(after, 1).reinforcement_count == 1
        assert bounds(of(after, 3)) == (SUPERSEDED, 5, 5)
        assert of(after, 3).joined_into == uid(1001)
        assert {a.fact_id for a in after.assertions} == {uid(1001), uid(1002)}

    def test_a_fact_whose_statements_went_over_keeps_what_is_left_of_it(self):
        base, over = said(1, {"b": 1}, 1), said(3, {"a": None}, 3, kind=PATCH, fact=2)
        withdrawn = said(2, {"b": None}, 2, kind=PATCH, state=WITHDRAWN)
        known = [fact(1, {"b": 1}, SUPERSEDED, 1, 2), fact(2, {}, ACTIVE, 2)]
        after = settled([base, withdrawn, over], known)
        assert bounds(of(after, 1)) == (ACTIVE, 1, None)
        assert (of(after, 2).status, of(after, 2).joined_into) == (DISPUTED, uid(1001))

    def test_patches_show_in_the_values_of_facts(self):
        after = settled([said(1, {"a": 1}, 1), said(2, {"b": 2}, 5, kind=PATCH), said(3, {"c": 3}, 3, kind=PATCH)])
        assert [s.value for s in after.states] == [{"a": 1}, {"a": 1, "c": 3}, {"a": 1, "b": 2, "c": 3}]

    def test_trust_and_clock_are_those_of_the_statements(self):
        assertions = [
            said(1, "A", 1, trust=Trust.THIRD_PARTY),
            said(2, "A", 5, trust=Trust.SEMI_TRUSTED, fact=1),
            said(3, "A", 9, trust=Trust.UNTRUSTED, fact=1),
        ]
        state = of(settled(assertions), 1)
        assert (state.trust, day(state.last_reinforce_time)) == (Trust.SEMI_TRUSTED, 5)
        assert state.reinforcement_count == 2


class TestOffTheTimeline:
    @pytest.mark.parametrize("status", [RETRACTED, ARCHIVED])
    def test_what_was_taken_back_keeps_its_status_and_reopens_what_it_had_closed(self, status):
        known = [fact(1, "A", SUPERSEDED, 1, 3), fact(2, "B", status, 3)]
        after = settled([said(1, "A", 1), said(2, "B", 3, state=SUSPENDED)], known)
        assert bounds(of(after, 1)) == (ACTIVE, 1, None)
        assert of(after, 2).status is status

    @pytest.mark.parametrize("status", [ACTIVE, SUPERSEDED, PENDING])
    def test_without_any_support_a_fact_is_disputed_and_off_the_timeline(self, status):
        after = settled([said(1, "A", 1, state=WITHDRAWN)], [fact(1, "A", status, 1)])
        assert (of(after, 1).status, of(after, 1).off_timeline) == (DISPUTED, True)

    def test_some_support_is_enough(self):
        after = settled([said(1, "A", 1, state=WITHDRAWN), said(2, "A", 5, fact=1)], [fact(1, "A", ACTIVE, 1)])
        assert bounds(of(after, 1)) == (ACTIVE, 5, None)

    def test_what_was_overruled_never_held(self):
        known = [fact(1, "A", ACTIVE, 1), fact(2, "B", PENDING, 3)]
        after = settled([said(1, "A", 1), said(2, "B", 3, state=OVERRULED)], known)
        assert bounds(of(after, 2)) == (SUPERSEDED, 3, 3)
        assert not of(after, 2).off_timeline

    def test_what_was_corrected_at_its_instant_never_held(self):
        after = settled([said(1, "A", 1), said(2, "B", 1, kind=CORRECT)], [fact(1, "A", ACTIVE, 1)])
        assert bounds(of(after, 1)) == (SUPERSEDED, 1, 1)
        assert bounds(of(after, 2)) == (ACTIVE, 1, None)

    def test_a_challenger_waits_with_what_it_says(self):
        after = settled([said(1, "A", 1), said(2, "B", 3, end=9, state=WAITING)])
        assert bounds(of(after, 1)) == (ACTIVE, 1, None)
        assert bounds(of(after, 2)) == (PENDING, 3, 9)
        assert of(after, 2).value == "B"

    def test_an_erased_fact_is_nothing(self):
        gone = [said(2, "B", 3, state=SUSPENDED), said(3, "B", 4, state=WITHDRAWN, fact=2)]
        after = settled([said(1, "A", 1), *gone], [fact(1, "A", ACTIVE, 1)])
        assert [s.fact_id for s in after.states] == [uid(1001)]
        assert len(after.assertions) == 3


class TestDisputes:
    def test_a_disputed_fact_keeps_its_place_and_nothing_is_active(self):
        after = settled([said(1, "A", 1)], [fact(1, "A", DISPUTED, 1)])
        assert bounds(of(after, 1)) == (DISPUTED, 1, None)
        assert not of(after, 1).off_timeline

    @pytest.mark.parametrize("time", [5, 150])
    def test_a_successor_ends_it_and_the_dispute_stays(self, time):
        after = settled([said(1, "A", 1), said(2, "B", time)], [fact(1, "A", DISPUTED, 1)])
        assert bounds(of(after, 1)) == (DISPUTED, 1, time)

    def test_without_its_successor_it_is_still_disputed(self):
        known = [fact(1, "A", DISPUTED, 1, 5), fact(2, "B", DISPUTED, 5)]
        after = settled([said(1, "A", 1), said(2, "B", 5, state=WITHDRAWN)], known)
        assert bounds(of(after, 1)) == (DISPUTED, 1, None)

    def test_both_parts_of_a_split_are_disputed(self):
        assertions = [said(1, "A", 1), said(2, "A", 5, fact=1), said(3, "B", 3)]
        after = settled(assertions, [fact(1, "A", DISPUTED, 1)])
        assert [bounds(s) for s in after.states] == [(DISPUTED, 1, 3), (SUPERSEDED, 3, 5), (DISPUTED, 5, None)]

    @pytest.mark.parametrize("disputed", [1, 3])
    def test_what_is_joined_with_a_disputed_part_is_disputed(self, disputed):
        known = [fact(1, "A", SUPERSEDED, 1, 3), fact(2, "B", DISPUTED, 3, 5), fact(3, "A", ACTIVE, 5)]
        facts = [replace(f, status=DISPUTED) if f.fact_id == uid(1000 + disputed) else f for f in known]
        after = settled([said(1, "A", 1), said(2, "B", 3, state=WITHDRAWN), said(3, "A", 5)], facts)
        assert bounds(of(after, 1)) == (DISPUTED, 1, None)

    def test_a_disputed_patch_that_changes_nothing_of_a_later_value_does_not_dispute_that(self):
        assertions = [
            said(1, {"a": 1}, 1, kind=PATCH),
            said(2, {"a": None}, 7, kind=PATCH, fact=1),
            said(3, {"b": 2}, 5),
        ]
        after = settled(assertions, [fact(1, {"a": 1}, DISPUTED, 1)])
        assert [bounds(s) for s in after.states] == [(DISPUTED, 1, 5), (ACTIVE, 5, None)]

    def test_a_disputed_fact_stays_so_when_what_it_carries_forward_changes(self):
        assertions = [said(1, {"a": 1}, 1), said(2, {"b": 2}, 3, kind=PATCH)]
        known = [fact(1, {"a": 1}, ACTIVE, 1), fact(2, {"a": 9, "b": 2}, DISPUTED, 3)]
        assert bounds(of(settled(assertions, known), 2)) == (DISPUTED, 3, None)

    def test_a_disputed_challenger_is_off_the_timeline(self):
        known = [fact(1, "A", ACTIVE, 1), fact(2, "B", DISPUTED, 3)]
        after = settled([said(1, "A", 1), said(2, "B", 3, state=WAITING)], known)
        assert (of(after, 2).status, of(after, 2).off_timeline) == (DISPUTED, True)

    @pytest.mark.parametrize("supersede", [True, False])
    @pytest.mark.parametrize("trust", [Trust.UNTRUSTED, Trust.TRUSTED])
    def test_whoever_speaks_next_replaces_what_is_disputed(self, supersede, trust):
        slot = Ledger(NOW)
        disputed = slot.say("A", 1).fact_id
        slot.dispute(disputed)
        placing = slot.say("B", 3, supersede=supersede, trust=trust)
        assert placing.met_fact_id == disputed
        assert slot.view() == [("A", 1, 3, DISPUTED), ("B", 3, None, ACTIVE)]

    def test_what_is_disputed_gives_way_at_its_instant_too(self):
        slot = Ledger(NOW)
        slot.dispute(slot.say("A", 1).fact_id)
        assert slot.say("B", 1).outcome is Outcome.SUPERSEDED
        assert slot.view() == [("B", 1, None, ACTIVE)]

    def test_only_a_correction_wins_over_a_disputed_correction_of_its_instant(self):
        slot = Ledger(NOW)
        slot.dispute(slot.say("A", 1, correct=True).fact_id)
        assert slot.say("B", 1).outcome is Outcome.CONFLICTED
        assert slot.say("C", 1, correct=True).outcome is Outcome.SUPERSEDED
        assert slot.view() == [("C", 1, None, ACTIVE)]

    def test_restating_what_is_disputed_does_not_settle_it(self):
        slot = Ledger(NOW)
        disputed = slot.say("A", 1).fact_id
        slot.dispute(disputed)
        assert slot.say("A", 3).fact_id == disputed
        assert slot.status(disputed) is DISPUTED

    def test_restating_what_lost_its_support_does_not_bring_it_back(self):
        slot = Ledger(NOW)
        slot.say("A", 1)
        lost = slot.say("B", 3).fact_id
        slot.withdraw(lambda a: a.fact_id == lost)
        assert slot.say("B", 5).fact_id == lost
        assert slot.status(lost) is DISPUTED
        assert slot.view() == [("A", 1, None, ACTIVE)]

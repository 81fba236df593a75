"""Conflicts: who waits, who is the incumbent, and when they end by themselves (semantics, section 4)."""

import pytest
from concord_server.domain.conflicts import ConflictReview, review
from concord_server.domain.enums import FactStatus, Trust
from concord_server.domain.placement import Outcome, Statement, challenge
from concord_server.domain.settlement import Timeline, settle
from concord_server.domain.values import value_key

from tests.unit.domain.builders import Ids, at, said, uid
from tests.unit.domain.ledger import ACTIVE, PENDING, SLOT, SUPERSEDED, WAITING, Ledger, fact

LOW, MIDDLE, HIGH = Trust.UNTRUSTED, Trust.SEMI_TRUSTED, Trust.TRUSTED


@pytest.fixture
def slot() -> Ledger:
    return Ledger()


class TestRule5WaitingChallenger:
    """The value equals that of a challenger."""

    def test_a_create_of_a_waiting_value_reinforces_the_challenger(self, slot):
        slot.say("A", 1)
        waiting = slot.say("B", 3, supersede=False).fact_id
        placing = slot.say("B", 4, supersede=False)
        assert (placing.outcome, placing.fact_id) == (Outcome.REINFORCED, waiting)
        assert slot.status(waiting) is PENDING
        assert slot.fact(waiting).reinforcement_count == 1

    def test_a_supersede_of_trust_that_reaches_the_incumbents_activates_it(self, slot):
        incumbent = slot.say("A", 1, trust=MIDDLE).fact_id
        waiting = slot.say("B", 3, supersede=False, trust=LOW).fact_id
        placing = slot.say("B", 5, trust=MIDDLE)
        assert (placing.outcome, placing.fact_id, placing.met_fact_id) == (Outcome.SUPERSEDED, waiting, incumbent)
        assert slot.view() == [("A", 1, 5, SUPERSEDED), ("B", 5, None, ACTIVE)]
        assert slot.timeline.conflict_id is None

    def test_the_higher_trust_is_kept(self, slot):
        slot.say("A", 1, trust=LOW)
        waiting = slot.say("B", 3, supersede=False, trust=HIGH).fact_id
        slot.say("B", 5, trust=MIDDLE)
        assert slot.fact(waiting).trust is HIGH
        assert slot.say("C", 7, trust=MIDDLE).outcome is Outcome.CONFLICTED

    def test_a_supersede_of_lower_trust_reinforces_the_challenger(self, slot):
        slot.say("A", 1)
        waiting = slot.say("B", 3, trust=LOW).fact_id
        placing = slot.say("B", 5, trust=MIDDLE)
        assert (placing.outcome, placing.fact_id) == (Outcome.REINFORCED, waiting)
        assert slot.view() == [("A", 1, None, ACTIVE)]

    def test_a_late_supersede_reinforces_the_challenger(self, slot):
        slot.say("A", 1)
        slot.say("A", 9)
        waiting = slot.say("B", 10, supersede=False).fact_id
        assert slot.say("B", 5).outcome is Outcome.REINFORCED
        assert slot.status(waiting) is PENDING

    def test_a_supersede_at_the_instant_of_another_value_reinforces_the_challenger(self, slot):
        slot.say("A", 1)
        slot.say("C", 200)
        waiting = slot.say("B", 3, supersede=False).fact_id
        assert slot.say("B", 200).outcome is Outcome.REINFORCED
        assert slot.status(waiting) is PENDING

    def test_a_supersede_does_not_end_what_a_higher_trust_scheduled(self, slot):
        slot.say("A", 1, trust=LOW)
        slot.say("C", 150, trust=HIGH)
        waiting = slot.say("B", 5, supersede=False, trust=LOW).fact_id
        assert slot.say("B", 200, trust=MIDDLE).outcome is Outcome.REINFORCED
        assert slot.status(waiting) is PENDING

    def test_without_an_incumbent_a_supersede_of_any_trust_activates_it(self, slot):
        incumbent = slot.say("A", 1).fact_id
        waiting = slot.say("B", 3, trust=LOW).fact_id
        slot.retract(incumbent)
        assert slot.say("B", 5, trust=LOW).outcome is Outcome.SUPERSEDED
        assert slot.view() == [("B", 5, None, ACTIVE)]
        assert slot.status(waiting) is ACTIVE
        assert slot.timeline.conflict_id is None

    def test_a_disputed_incumbent_is_none(self, slot):
        incumbent = slot.say("A", 1).fact_id
        waiting = slot.say("B", 3, trust=LOW).fact_id
        slot.dispute(incumbent)
        assert slot.say("B", 5, trust=LOW).outcome is Outcome.SUPERSEDED
        assert slot.status(waiting) is ACTIVE

    def test_what_it_uncovers_of_its_value_goes_on(self, slot):
        known = slot.say("A", 1).fact_id
        between = slot.say("B", 3).fact_id
        waiting = slot.say("A", 3).fact_id
        slot.dispute(between)
        placing = slot.say("A", 3)
        assert (placing.outcome, placing.fact_id) == (Outcome.SUPERSEDED, known)
        assert slot.view() == [("A", 1, None, ACTIVE)]
        assert slot.status(waiting) is SUPERSEDED
        assert slot.timeline.conflict_id is None

    def test_a_patch_is_compared_after_carry_forward(self, slot):
        slot.say({"a": 1, "b": 2}, 1)
        waiting = slot.say({"b": 3}, 3, trust=LOW).fact_id
        assert slot.say({"b": 3}, 5, trust=LOW).fact_id == waiting
        assert slot.say({"a": 1, "b": 3}, 5, trust=LOW, supersede=False).fact_id == waiting

    def test_a_waiting_patch_shows_what_it_would_make_of_the_value(self, slot):
        slot.say({"a": 1, "b": 2}, 1)
        waiting = slot.say({"b": 3, "c": None}, 3, trust=LOW).fact_id
        claim = slot.fact(waiting).claim
        assert claim is not None
        assert claim.value == {"a": 1, "b": 3}

    def test_other_challengers_stay_against_the_one_that_was_activated(self, slot):
        slot.say("A", 1)
        waiting = slot.say("B", 3, supersede=False).fact_id
        other = slot.say("C", 4, supersede=False).fact_id
        slot.say("B", 5)
        assert slot.members() == {waiting, other}
        assert slot.reviewed.members == (waiting, other)

    def test_only_trust_that_reaches_the_challengers_moves_its_clock(self, slot):
        slot.say("A", 1)
        waiting = slot.say("B", 3, supersede=False, trust=MIDDLE).fact_id
        slot.say("B", 5, supersede=False, trust=LOW)
        assert slot.fact(waiting).last_reinforce_time == at(3)
        slot.say("B", 7, supersede=False, trust=MIDDLE)
        assert slot.fact(waiting).last_reinforce_time == at(7)


class TestBoundsOfAChallenger:
    """It is shown to hold when it would hold if it were kept."""

    def test_it_begins_with_the_earliest_statement_that_is_left(self, slot):
        slot.say("A", 0)
        waiting = slot.say("B", 1, supersede=False).fact_id
        slot.say("B", 3, supersede=False)
        slot.withdraw(lambda a: a.fact_id == waiting and a.time == at(1))
        assert slot.fact(waiting).valid_from == at(3)
        slot.resolve(waiting)
        assert slot.view() == [("A", 0, 3, SUPERSEDED), ("B", 3, None, ACTIVE)]

    def test_an_earlier_statement_moves_its_beginning_back(self, slot):
        slot.say("A", 0)
        waiting = slot.say("B", 3, supersede=False).fact_id
        slot.say("B", 1, supersede=False)
        assert slot.fact(waiting).valid_from == at(1)

    def test_its_end_is_what_its_own_statements_say(self, slot):
        slot.say("A", 0)
        waiting = slot.say("B", 1, end=9, supersede=False).fact_id
        assert slot.fact(waiting).valid_to == at(9)
        slot.say("B", 3, end=7, supersede=False)
        assert slot.fact(waiting).valid_to == at(7)

    def test_what_had_ended_it_before_it_was_taken_back_ends_it_no_more(self, slot):
        gone = slot.say("A", 1).fact_id
        slot.say("B", 3)
        slot.retract(gone)
        slot.restore(gone)
        assert (slot.fact(gone).valid_from, slot.fact(gone).valid_to) == (at(1), None)


class TestMembers:
    def test_all_challengers_share_one_conflict_with_the_incumbent_first(self, slot):
        incumbent = slot.say("A", 1).fact_id
        one = slot.say("B", 3, supersede=False).fact_id
        conflict = slot.timeline.conflict_id
        other = slot.say("C", 3, supersede=False).fact_id
        assert slot.timeline.conflict_id == conflict
        assert slot.reviewed == ConflictReview(opens=False, members=(incumbent, one, other), ends=False)

    def test_a_challenge_to_history_does_not_make_what_holds_now_a_member(self, slot):
        slot.say("A", 1)
        slot.say("B", 5)
        challenger = slot.say("C", 1).fact_id
        assert slot.members() == {challenger}

    def test_then_a_challenge_to_what_holds_now_adds_it(self, slot):
        slot.say("A", 1)
        incumbent = slot.say("B", 5).fact_id
        one = slot.say("C", 1).fact_id
        other = slot.say("D", 9, supersede=False).fact_id
        assert slot.reviewed.members == (incumbent, one, other)

    def test_a_supersede_makes_its_value_the_new_incumbent(self, slot):
        old = slot.say("A", 1).fact_id
        challenger = slot.say("B", 3, supersede=False).fact_id
        new = slot.say("C", 5).fact_id
        assert slot.members() == {new, challenger}
        assert slot.status(old) is SUPERSEDED

    def test_reinforcing_the_incumbent_changes_nothing(self, slot):
        incumbent = slot.say("A", 1).fact_id
        challenger = slot.say("B", 3, supersede=False).fact_id
        slot.say("A", 5)
        assert slot.members() == {incumbent, challenger}

    def test_late_history_changes_nothing(self, slot):
        incumbent = slot.say("A", 5).fact_id
        challenger = slot.say("B", 7, supersede=False).fact_id
        slot.say("C", 1)
        assert slot.members() == {incumbent, challenger}

    @pytest.mark.parametrize("status", [FactStatus.RETRACTED, FactStatus.ARCHIVED])
    def test_a_lone_challenger_stays_for_review(self, slot, status):
        incumbent = slot.say("A", 1).fact_id
        challenger = slot.say("B", 3, supersede=False).fact_id
        slot.retract(incumbent, status)
        assert slot.members() == {challenger}
        assert slot.status(challenger) is PENDING
        slot.wait(500)
        assert slot.status(challenger) is PENDING

    def test_what_fills_the_slot_becomes_the_incumbent(self, slot):
        incumbent = slot.say("A", 1).fact_id
        challenger = slot.say("B", 3, supersede=False).fact_id
        slot.retract(incumbent)
        placing = slot.say("C", 5, supersede=False)
        assert placing.outcome is Outcome.CREATED
        assert slot.reviewed.members == (placing.fact_id, challenger)

    def test_what_reopens_becomes_the_incumbent(self, slot):
        past = slot.say("A", 1).fact_id
        incumbent = slot.say("B", 3).fact_id
        challenger = slot.say("C", 5, supersede=False).fact_id
        slot.retract(incumbent)
        assert slot.status(past) is ACTIVE
        assert slot.members() == {past, challenger}

    @pytest.mark.parametrize("how", ["retract", "dispute", "withdraw"])
    def test_without_challengers_it_ends(self, slot, how):
        slot.say("A", 1)
        challenger = slot.say("B", 3, supersede=False).fact_id
        if how == "retract":
            slot.retract(challenger)
        elif how == "dispute":
            slot.dispute(challenger)
        else:
            slot.withdraw(lambda a: a.fact_id == challenger)
        assert slot.reviewed == ConflictReview(opens=False, members=(), ends=True)
        assert slot.members() == frozenset()

    def test_a_disputed_incumbent_leaves(self, slot):
        incumbent = slot.say("A", 1).fact_id
        challenger = slot.say("B", 3, supersede=False).fact_id
        slot.dispute(incumbent)
        assert slot.members() == {challenger}

    def test_a_fact_restored_into_an_occupied_slot_waits(self, slot):
        gone = slot.say("A", 1).fact_id
        slot.retract(gone)
        active = slot.say("B", 3).fact_id
        slot.restore(gone)
        assert slot.status(gone) is PENDING
        assert slot.reviewed.members == (active, gone)

    def test_a_scheduled_fact_becomes_the_incumbent_when_its_time_comes(self, slot):
        slot.say("A", 1)
        scheduled = slot.say("B", 150).fact_id
        challenger = slot.say("C", 5, supersede=False).fact_id
        slot.wait(200)
        assert slot.reviewed.members == (scheduled, challenger)


def test_facts_that_are_scheduled_are_no_challengers():
    before = Timeline(SLOT, (fact(1, "A", ACTIVE),), (said(1, "A", 1),))
    after = settle(Timeline(SLOT, before.facts, (said(1, "A", 1), said(2, "B", 300))), at(100), Ids().new)
    assert review(before, after) == ConflictReview(opens=False, members=(), ends=False)


def test_a_conflict_opens_with_its_first_challenger():
    before = Timeline(SLOT, (fact(1, "A", ACTIVE),), (said(1, "A", 1),))
    waiting = said(2, "B", 3, state=WAITING)
    after = settle(Timeline(SLOT, before.facts, (*before.assertions, waiting)), at(100), Ids().new)
    contested = review(before, after, contests_active=True)
    assert contested == ConflictReview(opens=True, members=(uid(1001), uid(1002)), ends=False)


class TestChallenge:
    """A statement put up for review whatever the rules would say."""

    STATEMENT = Statement(uid(1), uid(2), at(5), value_key("B"), "B")

    def test_against_what_holds_at_its_time(self, slot):
        incumbent = slot.say("A", 1).fact_id
        placing = challenge(slot.timeline, self.STATEMENT, slot.now, "no claim")
        assert (placing.outcome, placing.is_new, placing.fact_id) == (Outcome.CONFLICTED, True, uid(2))
        assert (placing.met_fact_id, placing.contests_active, placing.reason) == (incumbent, True, "no claim")
        assert placing.assertions[-1].state is WAITING

    def test_against_what_held_then(self, slot):
        past = slot.say("A", 1).fact_id
        slot.say("C", 9)
        placing = challenge(slot.timeline, self.STATEMENT, slot.now, "no claim")
        assert (placing.met_fact_id, placing.contests_active) == (past, False)

    def test_against_nothing(self, slot):
        placing = challenge(slot.timeline, self.STATEMENT, slot.now, "no claim")
        assert (placing.met_fact_id, placing.contests_active) == (None, False)

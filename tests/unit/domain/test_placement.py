"""The outcome of a candidate, rule by rule (semantics, section 4)."""

import pytest
from concord_server.domain.enums import FactStatus, Trust
from concord_server.domain.placement import Outcome

from tests.unit.domain.ledger import ACTIVE, PENDING, SUPERSEDED, Ledger

LOW, MIDDLE, HIGH = Trust.UNTRUSTED, Trust.SEMI_TRUSTED, Trust.TRUSTED
REINFORCED, CREATED, CONFLICTED = Outcome.REINFORCED, Outcome.CREATED, Outcome.CONFLICTED
SUPPRESSED, HISTORICAL, REPLACED = Outcome.SUPPRESSED, Outcome.HISTORICAL, Outcome.SUPERSEDED


@pytest.fixture
def slot() -> Ledger:
    return Ledger()


class TestRule3Suppressed:
    @pytest.mark.parametrize("status", [FactStatus.RETRACTED, FactStatus.ARCHIVED])
    @pytest.mark.parametrize("time", [0, 1, 9])
    @pytest.mark.parametrize("supersede", [True, False])
    def test_a_value_taken_back_stays_away(self, slot, status, time, supersede):
        gone = slot.say("A", 1).fact_id
        slot.retract(gone, status)
        placing = slot.say("A", time, supersede=supersede)
        assert (placing.outcome, placing.fact_id) == (SUPPRESSED, gone)
        assert slot.status(gone) is status
        assert slot.view() == []

    def test_unless_it_is_what_holds_at_its_time(self, slot):
        first = slot.say("A", 1).fact_id
        slot.say("B", 3)
        third = slot.say("A", 5).fact_id
        slot.retract(first)
        assert slot.say("A", 7).fact_id == third
        assert slot.say("A", 2).outcome is SUPPRESSED

    def test_other_values_are_free(self, slot):
        slot.retract(slot.say("A", 1).fact_id)
        assert slot.say("B", 3).outcome is CREATED
        assert slot.view() == [("B", 3, None, ACTIVE)]

    def test_values_are_compared_after_carry_forward(self, slot):
        slot.say({"a": 1}, 1)
        gone = slot.say({"b": 2}, 3).fact_id
        slot.retract(gone)
        assert slot.say({"b": 2}, 5).outcome is SUPPRESSED
        assert slot.say({"b": 3}, 5).outcome is REPLACED

    def test_restoring_admits_what_was_suppressed(self, slot):
        gone = slot.say("A", 3).fact_id
        slot.retract(gone)
        slot.say("A", 1)
        slot.restore(gone)
        assert slot.view() == [("A", 1, None, ACTIVE)]


class TestRule4Reinforced:
    @pytest.mark.parametrize("supersede", [True, False])
    @pytest.mark.parametrize("trust", list(Trust))
    def test_the_value_that_holds(self, slot, supersede, trust):
        known = slot.say("A", 1).fact_id
        placing = slot.say("A", 3, supersede=supersede, trust=trust)
        assert (placing.outcome, placing.fact_id, placing.met_fact_id) == (REINFORCED, known, known)
        assert slot.view() == [("A", 1, None, ACTIVE)]
        assert slot.fact(known).reinforcement_count == 1

    def test_the_value_that_held_then(self, slot):
        past = slot.say("A", 1).fact_id
        slot.say("B", 5)
        assert slot.say("A", 3).fact_id == past
        assert slot.view() == [("A", 1, 5, SUPERSEDED), ("B", 5, None, ACTIVE)]

    def test_only_trust_that_reaches_the_facts_moves_its_clock(self, slot):
        known = slot.say("A", 1, trust=MIDDLE).fact_id
        slot.say("A", 3, trust=LOW)
        assert slot.fact(known).last_reinforce_time == slot.fact(known).valid_from
        slot.say("A", 5, trust=MIDDLE)
        assert slot.fact(known).last_reinforce_time > slot.fact(known).valid_from
        assert slot.fact(known).trust is MIDDLE

    def test_the_next_value_begins_earlier(self, slot):
        known = slot.say("A", 5).fact_id
        placing = slot.say("A", 1)
        assert (placing.outcome, placing.fact_id) == (REINFORCED, known)
        assert slot.view() == [("A", 1, None, ACTIVE)]

    def test_the_next_value_begins_earlier_and_ends_what_held(self, slot):
        slot.say("A", 1)
        known = slot.say("B", 5).fact_id
        assert slot.say("B", 3).fact_id == known
        assert slot.view() == [("A", 1, 3, SUPERSEDED), ("B", 3, None, ACTIVE)]

    def test_the_next_value_does_not_begin_before_something_else_was_said(self, slot):
        slot.say("A", 1)
        slot.say("A", 4)
        known = slot.say("B", 5).fact_id
        placing = slot.say("B", 3)
        assert placing.outcome is HISTORICAL
        assert slot.view() == [
            ("A", 1, 3, SUPERSEDED),
            ("B", 3, 4, SUPERSEDED),
            ("A", 4, 5, SUPERSEDED),
            ("B", 5, None, ACTIVE),
        ]
        assert slot.status(known) is ACTIVE

    def test_the_next_value_does_not_begin_where_a_higher_trust_spoke(self, slot):
        slot.say("A", 1)
        slot.say("B", 5)
        assert slot.say("B", 3, trust=LOW).outcome is CONFLICTED
        assert slot.view() == [("A", 1, 5, SUPERSEDED), ("B", 5, None, ACTIVE)]

    def test_the_next_value_begins_earlier_although_a_correction_hides_another(self, slot):
        slot.say("A", 5)
        known = slot.say("B", 5, correct=True).fact_id
        assert slot.say("B", 3).fact_id == known
        assert slot.view() == [("B", 3, None, ACTIVE)]

    def test_a_statement_that_ends_before_the_next_one_stands_alone(self, slot):
        slot.say("A", 5)
        assert slot.say("A", 1, end=3).outcome is HISTORICAL
        assert slot.view() == [("A", 1, 3, SUPERSEDED), ("A", 5, None, ACTIVE)]

    def test_a_statement_that_ends_where_the_next_one_begins_joins_it(self, slot):
        known = slot.say("A", 5).fact_id
        assert slot.say("A", 1, end=5).fact_id == known
        assert slot.view() == [("A", 1, None, ACTIVE)]

    def test_a_statement_that_begins_where_the_one_before_ends_goes_on_with_it(self, slot):
        known = slot.say("A", 1, end=5).fact_id
        placing = slot.say("A", 5, end=9)
        assert (placing.outcome, placing.fact_id) == (REINFORCED, known)
        assert slot.view() == [("A", 1, 9, ACTIVE)]

    def test_what_a_correction_uncovers_goes_on(self, slot):
        slot.say("A", 3)
        known = slot.say("B", 1).fact_id
        placing = slot.say("B", 3, correct=True)
        assert (placing.outcome, placing.fact_id, placing.met_fact_id) == (REINFORCED, known, known)
        assert slot.view() == [("B", 1, None, ACTIVE)]

    def test_a_partial_restatement(self, slot):
        known = slot.say({"a": 1, "b": 2}, 1).fact_id
        assert slot.say({"a": 1}, 3).fact_id == known
        assert slot.say({"b": 2, "c": None}, 3).fact_id == known
        assert slot.say({"a": 1}, 1).fact_id == known

    def test_a_statement_of_a_part_as_the_whole_is_another_value(self, slot):
        slot.say({"a": 1, "b": 2}, 1)
        assert slot.say({"a": 1}, 3, supersede=False).outcome is CONFLICTED

    def test_an_end_closes_the_interval(self, slot):
        slot.say("A", 1)
        assert slot.say("A", 3, end=5).outcome is REINFORCED
        assert slot.view() == [("A", 1, 5, ACTIVE)]

    def test_an_end_stated_by_lower_trust_does_not(self, slot):
        slot.say("A", 1)
        assert slot.say("A", 3, end=5, trust=LOW).outcome is REINFORCED
        assert slot.view() == [("A", 1, None, ACTIVE)]


class TestRule6Conflicted:
    @pytest.mark.parametrize("supersede", [True, False])
    @pytest.mark.parametrize("correct", [True, False])
    @pytest.mark.parametrize("time", [3, 99])
    def test_lower_trust_never_ends_what_a_higher_one_said(self, slot, supersede, correct, time):
        slot.say("A", 1)
        placing = slot.say("B", time, supersede=supersede, correct=correct, trust=MIDDLE)
        assert placing.outcome is CONFLICTED
        assert slot.view() == [("A", 1, None, ACTIVE)]
        assert slot.status(placing.fact_id) is PENDING

    def test_lower_trust_never_shortens_what_a_higher_one_said(self, slot):
        slot.say("A", 1)
        slot.say("A", 9, trust=LOW)
        assert slot.say("B", 5, trust=LOW).outcome is CONFLICTED

    def test_lower_trust_may_come_before_what_a_higher_one_said(self, slot):
        slot.say("A", 1, trust=LOW)
        slot.say("A", 9, trust=HIGH)
        assert slot.say("B", 5, trust=LOW).outcome is HISTORICAL
        assert slot.view() == [("A", 1, 5, SUPERSEDED), ("B", 5, 9, SUPERSEDED), ("A", 9, None, ACTIVE)]

    @pytest.mark.parametrize("trust", [MIDDLE, HIGH])
    def test_equal_and_higher_trust_replaces(self, slot, trust):
        slot.say("A", 1, trust=MIDDLE)
        assert slot.say("B", 3, trust=trust).outcome is REPLACED

    @pytest.mark.parametrize("instant", [1, 4])
    @pytest.mark.parametrize("supersede", [True, False])
    def test_another_value_at_the_same_instant(self, slot, instant, supersede):
        slot.say("A", 1)
        slot.say("A", 4)
        placing = slot.say("B", instant, supersede=supersede)
        assert placing.outcome is CONFLICTED
        assert slot.view() == [("A", 1, None, ACTIVE)]

    def test_another_value_at_the_same_instant_in_history(self, slot):
        past = slot.say("A", 1).fact_id
        slot.say("B", 5)
        placing = slot.say("C", 1)
        assert (placing.outcome, placing.met_fact_id, placing.contests_active) == (CONFLICTED, past, False)

    def test_another_value_at_the_instant_of_what_is_scheduled(self, slot):
        slot.say("A", 1)
        slot.say("B", 200)
        assert slot.say("C", 200).outcome is CONFLICTED

    def test_a_correction_wins_at_the_same_instant(self, slot):
        wrong = slot.say("A", 1).fact_id
        assert slot.say("B", 1, correct=True).outcome is REPLACED
        assert slot.view() == [("B", 1, None, ACTIVE)]
        assert slot.status(wrong) is SUPERSEDED
        assert slot.fact(wrong).valid_to == slot.fact(wrong).valid_from

    def test_what_waits_at_the_same_instant_is_in_nobodys_way(self, slot):
        slot.say("A", 1)
        slot.say("B", 3, supersede=False)
        assert slot.say("C", 3).outcome is REPLACED


class TestRule7Historical:
    @pytest.mark.parametrize(
        ("known", "late", "expected"),
        [
            pytest.param([("A", 5)], ("B", 1), [("B", 1, 5), ("A", 5, None)], id="before everything"),
            pytest.param(
                [("A", 1), ("C", 5)], ("B", 3), [("A", 1, 3), ("B", 3, 5), ("C", 5, None)], id="between two values"
            ),
            pytest.param(
                [("A", 1), ("A", 5)], ("B", 3), [("A", 1, 3), ("B", 3, 5), ("A", 5, None)], id="within one value"
            ),
            pytest.param(
                [("A", 1), ("C", 3), ("A", 7)],
                ("B", 5),
                [("A", 1, 3), ("C", 3, 5), ("B", 5, 7), ("A", 7, None)],
                id="back and forth",
            ),
        ],
    )
    @pytest.mark.parametrize("supersede", [True, False])
    def test_a_late_statement_becomes_history(self, slot, known, late, expected, supersede):
        for value, time in known:
            slot.say(value, time)
        placing = slot.say(*late, supersede=supersede)
        assert placing.outcome is HISTORICAL
        assert slot.intervals() == expected
        assert slot.status(placing.fact_id) is SUPERSEDED
        assert slot.view()[-1][3] is ACTIVE

    def test_a_stated_end_leaves_a_gap(self, slot):
        slot.say("A", 9)
        slot.say("B", 1, end=3)
        assert slot.say("C", 5).outcome is HISTORICAL
        assert slot.intervals() == [("B", 1, 3), ("C", 5, 9), ("A", 9, None)]

    def test_the_later_part_of_a_split_is_a_new_fact(self, slot):
        known = slot.say("A", 1).fact_id
        slot.say("A", 5)
        slot.say("B", 3)
        later = slot.timeline.active()
        assert later is not None
        assert later.fact_id != known
        assert slot.fact(known).reinforcement_count == later.reinforcement_count == 0

    def test_it_names_its_neighbours(self, slot):
        first, last = slot.say("A", 1).fact_id, slot.say("C", 5).fact_id
        placing = slot.say("B", 3)
        neighbours = (placing.previous_fact_id, placing.next_fact_id, placing.met_fact_id)
        assert neighbours == (first, last, last)

    def test_before_everything_it_has_no_neighbour_before(self, slot):
        first = slot.say("A", 5).fact_id
        placing = slot.say("B", 1)
        assert (placing.previous_fact_id, placing.next_fact_id) == (None, first)

    def test_within_one_value_what_follows_is_yet_to_come_to_be(self, slot):
        known = slot.say("A", 1).fact_id
        slot.say("A", 5)
        slot.say("C", 9)
        placing = slot.say("B", 3)
        assert (placing.previous_fact_id, placing.next_fact_id) == (known, None)


class TestRule8Superseded:
    def test_the_newer_replaces_the_older(self, slot):
        old = slot.say("A", 1).fact_id
        placing = slot.say("B", 3)
        assert (placing.outcome, placing.met_fact_id, placing.is_new) == (REPLACED, old, True)
        assert slot.view() == [("A", 1, 3, SUPERSEDED), ("B", 3, None, ACTIVE)]

    def test_back_to_an_earlier_value_is_a_third_fact(self, slot):
        first = slot.say("A", 1).fact_id
        slot.say("B", 3)
        placing = slot.say("A", 5)
        assert placing.outcome is REPLACED
        assert placing.fact_id != first
        assert slot.view() == [("A", 1, 3, SUPERSEDED), ("B", 3, 5, SUPERSEDED), ("A", 5, None, ACTIVE)]

    def test_keys_not_restated_are_carried_forward(self, slot):
        slot.say({"a": 1, "b": 2}, 1)
        placing = slot.say({"b": 3, "c": None}, 3)
        assert placing.outcome is REPLACED
        assert slot.view()[-1] == ({"a": 1, "b": 3}, 3, None, ACTIVE)

    def test_a_null_removes_a_key(self, slot):
        slot.say({"a": 1, "b": 2}, 1)
        slot.say({"b": None}, 3)
        assert slot.view()[-1] == ({"a": 1}, 3, None, ACTIVE)


class TestRule9ConflictedByCreate:
    def test_a_create_against_another_value_waits(self, slot):
        incumbent = slot.say("A", 1).fact_id
        placing = slot.say("B", 3, supersede=False)
        assert (placing.outcome, placing.met_fact_id, placing.contests_active) == (CONFLICTED, incumbent, True)
        assert slot.members() == {incumbent, placing.fact_id}
        assert slot.view() == [("A", 1, None, ACTIVE)]


class TestRule10Created:
    @pytest.mark.parametrize("supersede", [True, False])
    @pytest.mark.parametrize("trust", list(Trust))
    def test_nothing_there(self, slot, supersede, trust):
        assert slot.say("A", 1, supersede=supersede, trust=trust).outcome is CREATED
        assert slot.view() == [("A", 1, None, ACTIVE)]

    @pytest.mark.parametrize("value", ["A", "B"])
    def test_after_what_ended_nothing_is_there(self, slot, value):
        slot.say("A", 1, end=3)
        assert slot.say(value, 5, supersede=False, trust=LOW).outcome is CREATED
        assert slot.view() == [("A", 1, 3, SUPERSEDED), (value, 5, None, ACTIVE)]

    def test_a_null_is_removed_from_the_first_value_of_a_supersede(self, slot):
        slot.say({"a": 1, "b": None}, 1)
        assert slot.view() == [({"a": 1}, 1, None, ACTIVE)]

"""Resolving a conflict by hand: what is kept, and what becomes of the others (semantics, section 4)."""

import pytest
from concord_server.domain.enums import Cardinality, FactStatus, Trust
from concord_server.domain.resolution import standing_alone
from concord_server.domain.settlement import settle
from concord_server.domain.values import Json, value_key

from tests.unit.domain.builders import Ids, day, uid
from tests.unit.domain.ledger import ACTIVE, PENDING, SUPERSEDED, Ledger

LOW = Trust.UNTRUSTED
RETRACTED = FactStatus.RETRACTED


@pytest.fixture
def slot() -> Ledger:
    return Ledger()


class TestKeepOne:
    def test_a_challenger_holds_from_its_own_time_and_ends_the_incumbent(self, slot):
        slot.say("A", 1)
        kept = slot.say("B", 3, supersede=False).fact_id
        slot.resolve(kept)
        assert slot.view() == [("A", 1, 3, SUPERSEDED), ("B", 3, None, ACTIVE)]
        assert slot.status(kept) is ACTIVE

    def test_a_challenger_that_is_not_kept_never_held(self, slot):
        kept = slot.say("A", 1).fact_id
        loser = slot.say("B", 3, supersede=False).fact_id
        slot.resolve(kept)
        assert slot.view() == [("A", 1, None, ACTIVE)]
        assert slot.status(loser) is SUPERSEDED
        assert slot.fact(loser).valid_to == slot.fact(loser).valid_from

    def test_a_rival_of_the_same_instant_wins_there(self, slot):
        loser = slot.say("A", 1).fact_id
        slot.resolve(slot.say("B", 1).fact_id)
        assert slot.view() == [("B", 1, None, ACTIVE)]
        assert slot.fact(loser).valid_to == slot.fact(loser).valid_from

    def test_a_challenger_from_before_the_incumbent_leaves_it_nothing(self, slot):
        slot.say("A", 5)
        slot.say("A", 9)
        kept = slot.say("B", 5).fact_id
        slot.resolve(kept)
        assert slot.view() == [("B", 5, None, ACTIVE)]

    def test_a_challenger_of_history_becomes_history(self, slot):
        slot.say("A", 1)
        slot.say("C", 5)
        kept = slot.say("B", 1).fact_id
        slot.resolve(kept)
        assert slot.view() == [("B", 1, 5, SUPERSEDED), ("C", 5, None, ACTIVE)]

    def test_a_challenger_of_what_is_to_come_is_scheduled(self, slot):
        slot.say("A", 1)
        slot.say("C", 200)
        kept = slot.say("B", 200).fact_id
        slot.resolve(kept)
        assert slot.view() == [("A", 1, 200, ACTIVE), ("B", 200, None, PENDING)]

    def test_what_lower_trust_said_is_kept_by_a_person_all_the_same(self, slot):
        slot.say("A", 1)
        kept = slot.say("B", 3, trust=LOW).fact_id
        slot.resolve(kept)
        assert slot.view()[-1] == ("B", 3, None, ACTIVE)

    def test_a_patch_is_kept_as_it_was_shown(self, slot):
        slot.say({"a": 1, "b": 2}, 1)
        kept = slot.say({"b": 3}, 3, trust=LOW).fact_id
        slot.resolve(kept)
        assert slot.view()[-1] == ({"a": 1, "b": 3}, 3, None, ACTIVE)

    def test_the_others_are_overruled_for_good(self, slot):
        kept = slot.say("A", 1).fact_id
        slot.say("B", 3, supersede=False)
        slot.say("C", 4, supersede=False)
        slot.resolve(kept)
        assert slot.members() == frozenset()
        slot.retract(kept)
        assert slot.view() == []


class TestKeepNone:
    def test_all_are_retracted_and_what_held_before_comes_back(self, slot):
        before = slot.say("A", 1).fact_id
        incumbent = slot.say("B", 3).fact_id
        challenger = slot.say("C", 5, supersede=False).fact_id
        slot.resolve(None)
        assert slot.view() == [("A", 1, None, ACTIVE)]
        assert (slot.status(before), slot.status(incumbent), slot.status(challenger)) == (
            ACTIVE,
            RETRACTED,
            RETRACTED,
        )

    def test_they_stay_away(self, slot):
        slot.say("A", 1)
        challenger = slot.say("B", 3, supersede=False).fact_id
        slot.resolve(None)
        assert slot.say("B", 5).fact_id == challenger
        assert slot.view() == []


class TestKeepAll:
    @pytest.mark.parametrize(
        ("incumbent", "challenger", "shown"),
        [
            ("A", "B", "B"),
            ({"a": 1, "b": 2}, {"b": 3}, {"a": 1, "b": 3}),
            ({"a": 1}, {"a": None, "c": 3}, {"c": 3}),
        ],
    )
    def test_each_stands_alone_as_it_was_shown(self, slot, incumbent, challenger, shown):
        first = slot.say(incumbent, 1).fact_id
        second = slot.say(challenger, 3, trust=LOW).fact_id
        assert self.alone(slot, first) == (incumbent, 1, None, ACTIVE)
        assert self.alone(slot, second) == (shown, 3, None, ACTIVE)

    def alone(self, slot: Ledger, fact_id) -> tuple[Json, float, float | None, FactStatus]:
        timeline = standing_alone(slot.timeline, slot.fact(fact_id), uid(2))
        [state] = settle(timeline, slot.now, Ids().new).states
        assert state.value_key == value_key(state.value) == slot.fact(fact_id).value_key
        [fact] = timeline.facts
        assert fact.claim is not None
        assert (fact.claim.cardinality, fact.conflict_id, fact.slot_id) == (Cardinality.MULTI, None, uid(2))
        end = None if state.valid_to is None else day(state.valid_to)
        return (state.value, day(state.valid_from), end, state.status)

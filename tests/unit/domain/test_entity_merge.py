"""Timelines of two entities that turn out to be one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from concord_server.domain.entity_merge import join
from concord_server.domain.enums import FactStatus
from concord_server.domain.settlement import Timeline, settle
from concord_server.domain.timeline import Assertion, AssertionState, fold, holding_at
from concord_server.domain.values import Json
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.builders import AMEND, PATCH, Ids, at, said, shape, uid
from tests.unit.domain.ledger import fact
from tests.unit.domain.strategies import DAYS, assertions

NOW = at(8)
WAITING = AssertionState.QUARANTINED


def joined(staying: Sequence[Assertion], moving: Sequence[Assertion]) -> tuple[list[object], bool]:
    """What holds when afterwards, and whether something waits."""
    after = join(Timeline(uid(1), (), tuple(staying)), Timeline(uid(2), (), tuple(moving)), NOW)
    return shape(fold(after.timeline.assertions)), after.contested  # type: ignore[return-value]


def renumbered(found: Sequence[Assertion]) -> list[Assertion]:
    """The same assertions under ids that no other timeline has."""
    return [
        Assertion(
            uid(a.assertion_id.int + 100), uid(a.fact_id.int + 100), a.time, a.value_key, a.value, a.kind, a.trust,
            a.state, a.end, a.ends,
        )
        for a in found
    ]  # fmt: skip


def test_what_meets_nothing_counts_with_its_history():
    moving = [said(11, "A", 1), said(12, "B", 3, end=5)]
    assert joined([said(1, "C", 6)], moving) == ([("A", 1, 3), ("B", 3, 5), ("C", 6, None)], False)


def test_another_value_for_now_waits():
    assert joined([said(1, "A", 1)], [said(11, "B", 4)]) == ([("A", 1, None)], True)
    assert joined([said(1, "A", 4)], [said(11, "B", 1)]) == ([("A", 4, None)], True)


def test_the_same_value_for_now_becomes_one_stretch():
    assert joined([said(1, "A", 4)], [said(11, "A", 1)]) == ([("A", 1, None)], False)
    assert joined([said(1, "A", 1)], [said(11, "A", 4, end=6)]) == ([("A", 1, None)], False)


def test_the_same_value_for_now_does_not_rewrite_what_held_before():
    staying = [said(1, "A", 1), said(2, "B", 4)]
    assert joined(staying, [said(11, "B", 2)]) == ([("A", 1, 4), ("B", 4, None)], False)


def test_history_that_clashes_is_overruled():
    assert joined([said(1, "A", 1)], [said(11, "B", 2), said(12, "A", 3)]) == ([("A", 1, None)], False)


def test_a_value_of_now_counts_from_the_end_of_what_held_meanwhile():
    staying = [said(1, "A", 2, end=4)]
    assert joined(staying, [said(11, "B", 1)]) == ([("A", 2, 4), ("B", 4, None)], False)


def test_a_stretch_does_not_go_on_because_its_successor_waits():
    staying = [said(1, "A", 5)]
    shapes, contested = joined(staying, [said(11, "B", 1), said(12, "C", 3)])
    assert (shapes, contested) == ([("B", 1, 3), ("A", 5, None)], True)


def test_what_is_scheduled_follows_in_its_time():
    assert joined([said(1, "A", 10)], [said(11, "B", 1)]) == ([("B", 1, 10), ("A", 10, None)], False)
    assert joined([said(1, "A", 1)], [said(11, "B", 10)]) == ([("A", 1, None)], True)


def test_a_patch_waits_with_the_whole_value_that_it_had_led_to():
    moving = [said(11, {"a": 1}, 1), said(12, {"b": 2}, 2, kind=PATCH)]
    after = join(Timeline(uid(1), (), (said(1, {"c": 3}, 1),)), Timeline(uid(2), (), tuple(moving)), NOW)
    waiting: list[Json] = [a.value for a in after.timeline.assertions if a.state is WAITING]
    assert waiting == [{"a": 1, "b": 2}]


def test_what_waited_for_the_value_that_holds_supports_it():
    moving = [said(11, "B", 1), said(12, "A", 2, state=WAITING)]
    after = join(Timeline(uid(1), (), (said(1, "A", 3),)), Timeline(uid(2), (), tuple(moving)), NOW)
    states = {a.value: a.state for a in after.timeline.assertions if a.assertion_id.int > 10}
    assert states == {"B": WAITING, "A": AssertionState.ADMITTED}


def test_bounds_set_by_hand_on_the_one_that_goes_do_not_bind_the_one_that_stays():
    moving = [said(11, "A", 2), said(12, "A", 2, end=4, kind=AMEND, fact=11)]
    assert joined([said(1, "A", 1)], moving) == ([("A", 1, None)], False)


def test_an_instant_within_what_holds_supports_it_and_does_not_end_it():
    assert joined([said(1, "A", 1)], [said(11, "A", 1, end=1)]) == ([("A", 1, None)], False)
    assert joined([said(1, "A", 1)], [said(11, "A", 2, end=2)]) == ([("A", 1, None)], False)


def test_an_instant_of_another_value_within_what_holds_is_overruled():
    assert joined([said(1, "A", 1)], [said(11, "B", 2, end=2)]) == ([("A", 1, None)], False)


def test_facts_of_a_waiting_stretch_are_pending():
    staying = Timeline(uid(1), (fact(1, "A", FactStatus.ACTIVE, 1),), (said(1, "A", 1),))
    moving = Timeline(uid(2), (fact(11, "B", FactStatus.ACTIVE, 4),), (said(11, "B", 4),))
    after = settle(join(staying, moving, NOW).timeline, NOW, Ids().new)
    assert after.state(uid(1001)).status is FactStatus.ACTIVE
    assert after.state(uid(1011)).status is FactStatus.PENDING


@given(assertions(), assertions(), DAYS)
def test_whatever_joins_it_the_staying_timeline_says_what_it_said_of_the_past_and_of_now(staying, moving, now):
    before = fold(staying)
    after = fold(
        join(
            Timeline(uid(1), (), tuple(staying)), Timeline(uid(2), (), tuple(renumbered(moving))), at(now)
        ).timeline.assertions
    )
    for moment in [at(half / 2) for half in range(2 * now + 1)]:
        held = holding_at(before, moment)
        if held is not None:
            holds = holding_at(after, moment)
            assert holds is not None
            assert holds.value_key == held.value_key
    assert all(one.end is not None and one.end <= other.start for one, other in pairwise(after))


@given(assertions(states=False), st.integers(0, 12))
def test_joining_nothing_changes_nothing(found, now):
    empty = Timeline(uid(1))
    after = join(empty, Timeline(uid(2), (), tuple(found)), at(now))
    assert shape(fold(after.timeline.assertions)) == shape(fold(found))
    assert not after.contested
    again = join(Timeline(uid(2), (), tuple(found)), empty, at(now))
    assert again.timeline.assertions == tuple(found)

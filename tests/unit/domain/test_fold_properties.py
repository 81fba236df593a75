"""What every timeline is, whatever was said (semantics, sections 4 and 5)."""

from dataclasses import replace
from itertools import pairwise

from concord_server.domain.timeline import AssertionKind, AssertionState, admitted, fold, holding_at
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.builders import at, said
from tests.unit.domain.strategies import DAYS, VALUES, assertions

ADMITTED = AssertionState.ADMITTED


@given(assertions())
def test_segments_are_in_order_and_never_overlap_or_invert(found):
    segments = fold(found)
    assert all(
        s.end is None or s.start < s.end or s.start == s.end in {a.end for a in s.assertions} for s in segments
    )
    assert all(one.end is not None and one.end <= other.start for one, other in pairwise(segments))


@given(assertions(), st.randoms())
def test_the_order_of_arrival_never_matters(found, random):
    shuffled = random.sample(found, len(found))
    assert fold(shuffled) == fold(found)


@given(assertions(), st.sampled_from([s for s in AssertionState if s is not ADMITTED]), st.data())
def test_taking_an_assertion_away_equals_never_having_had_it(found, state, data):
    if not found:
        return
    gone = data.draw(st.sampled_from(found))
    without = [a for a in found if a is not gone]
    assert fold([*without, replace(gone, state=state)]) == fold(without)


@given(assertions())
def test_neighbours_that_touch_differ(found):
    for one, other in pairwise(fold(found)):
        assert one.end != other.start or one.value_key != other.value_key


@given(assertions())
def test_an_assertion_is_in_at_most_one_segment_and_only_if_admitted(found):
    placed = [a.assertion_id for segment in fold(found) for a in segment.assertions]
    assert len(placed) == len(set(placed))
    assert set(placed) <= {a.assertion_id for a in admitted(found)}


@given(assertions())
def test_a_segment_begins_with_its_first_statement(found):
    for segment in fold(found):
        assert segment.assertions[0].kind is not AssertionKind.AMEND
        assert segment.start == segment.assertions[0].time
        assert segment.start <= segment.newest_time


@given(st.lists(st.tuples(VALUES, DAYS), unique_by=lambda pair: pair[1], max_size=8), st.integers(-1, 14))
def test_without_stated_ends_the_newest_statement_holds(statements, moment):
    segments = fold([said(n, value, day) for n, (value, day) in enumerate(statements)])
    holding = holding_at(segments, at(moment + 0.5))
    earlier = [(day, value) for value, day in statements if day <= moment]
    if not earlier:
        assert holding is None
    else:
        assert holding is not None
        assert holding.value == max(earlier, key=lambda pair: pair[0])[1]

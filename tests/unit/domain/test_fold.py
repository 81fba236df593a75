"""A timeline as the fold of its assertions (semantics, sections 4 and 5)."""

import pytest
from concord_server.domain.enums import Trust
from concord_server.domain.timeline import AssertionState, fold, holding_at

from tests.unit.domain.builders import AMEND, CORRECT, at, day, reopened, said, shape, uid

LOW, HIGH = Trust.UNTRUSTED, Trust.TRUSTED


@pytest.mark.parametrize(
    ("assertions", "expected"),
    [
        pytest.param([], [], id="nothing said"),
        pytest.param([said(1, "A", 1)], [("A", 1, None)], id="one statement is open"),
        pytest.param([said(1, "A", 1), said(2, "B", 3)], [("A", 1, 3), ("B", 3, None)], id="superseded"),
        pytest.param(
            [said(1, "A", 1), said(2, "B", 3), said(3, "A", 5)],
            [("A", 1, 3), ("B", 3, 5), ("A", 5, None)],
            id="back to an earlier value is a third interval",
        ),
        pytest.param([said(1, "A", 1), said(2, "A", 3)], [("A", 1, None)], id="one value is one interval"),
        pytest.param([said(1, "B", 5), said(2, "A", 1)], [("A", 1, 5), ("B", 5, None)], id="late history"),
        pytest.param(
            [said(1, "A", 1), said(2, "A", 5), said(3, "B", 3)],
            [("A", 1, 3), ("B", 3, 5), ("A", 5, None)],
            id="a late statement splits",
        ),
        pytest.param([said(1, "A", 1, end=3)], [("A", 1, 3)], id="a stated end"),
        pytest.param([said(1, "A", 1, end=3), said(2, "B", 5)], [("A", 1, 3), ("B", 5, None)], id="a gap"),
        pytest.param(
            [said(1, "A", 1, end=5), said(2, "B", 3)],
            [("A", 1, 3), ("B", 3, None)],
            id="a successor comes before a stated end",
        ),
        pytest.param(
            [said(1, "A", 1), said(2, "B", 3, end=5)],
            [("A", 1, 3), ("B", 3, 5)],
            id="what was superseded does not come back when its successor ends",
        ),
        pytest.param(
            [said(1, "A", 1, end=3), said(2, "A", 5)],
            [("A", 1, 3), ("A", 5, None)],
            id="a stated end lies between two intervals of one value",
        ),
        pytest.param(
            [said(1, "A", 1, end=3), said(2, "A", 3)], [("A", 1, None)], id="an interval goes on at its end"
        ),
        pytest.param([said(1, "A", 1, end=1)], [("A", 1, 1)], id="an instant"),
        pytest.param([said(1, "A", 1, end=1), said(2, "A", 1)], [("A", 1, 1)], id="an instant stays one"),
        pytest.param([said(1, "A", 1), said(2, "A", 1, end=1)], [("A", 1, 1)], id="it was but an instant"),
        pytest.param(
            [said(1, "A", 1, end=1), said(2, "B", 1)], [("B", 1, None)], id="no instant beside another value"
        ),
        pytest.param([said(1, "A", 1), said(2, "A", 3, end=5)], [("A", 1, 5)], id="a restatement ends it"),
        pytest.param([said(1, "A", 1, end=9), said(2, "A", 3)], [("A", 1, 9)], id="a restatement keeps its end"),
        pytest.param(
            [said(1, "A", 1, end=9), said(2, "A", 3, end=5)], [("A", 1, 5)], id="a restatement moves its end"
        ),
        pytest.param(
            [said(1, "B", 3, kind=CORRECT), said(2, "A", 3)],
            [("B", 3, None)],
            id="a correction wins at its instant, whatever the ids",
        ),
        pytest.param(
            [said(1, "A", 1), said(2, "B", 3), said(3, "A", 3, kind=CORRECT)],
            [("A", 1, None)],
            id="neighbours of a value that never held are one interval",
        ),
        pytest.param(
            [said(1, "A", 1), said(2, "B", 1, kind=CORRECT), said(3, "A", 5)],
            [("B", 1, 5), ("A", 5, None)],
            id="what was corrected away may hold later",
        ),
    ],
)
def test_intervals(assertions, expected):
    assert shape(fold(assertions)) == expected
    assert shape(fold(reversed(assertions))) == expected


@pytest.mark.parametrize("state", [s for s in AssertionState if s is not AssertionState.ADMITTED])
def test_only_admitted_assertions_take_part(state):
    assertions = [said(1, "A", 1), said(2, "B", 3, state=state), said(3, "A", 5)]
    assert shape(fold(assertions)) == [("A", 1, None)]


def test_an_interval_that_would_be_inverted_is_absent():
    assert fold([said(1, "A", 1, end=0)]) == ()
    assert shape(fold([said(1, "A", 1, end=0), said(2, "B", 3)])) == [("B", 3, None)]


def test_what_a_caller_says_took_an_instant_did():
    told = [said(1, "A", 1, end=3), said(2, "A", 1, end=3, fact=1), said(3, "A", 1, kind=AMEND, end=1, fact=1)]
    assert shape(fold(told)) == [("A", 1, 1)]
    assert shape(fold(told[1:])) == [("A", 1, 1)]


def test_segments_name_their_assertions_in_order():
    segments = fold([said(3, "A", 5), said(1, "A", 1), said(2, "B", 3, state=AssertionState.QUARANTINED)])
    assert [[a.assertion_id for a in s.assertions] for s in segments] == [[uid(1), uid(3)]]


def test_a_segment_knows_whether_another_value_ended_it():
    segments = fold([said(1, "A", 1), said(2, "B", 3, end=5), said(3, "C", 7)])
    assert [s.closed_by_successor for s in segments] == [True, False, False]


def test_intervals_are_closed_at_their_start_and_open_at_their_end():
    segments = fold([said(1, "A", 1), said(2, "B", 3, end=5)])
    held = [holding_at(segments, at(moment)) for moment in (0.9, 1, 2.9, 3, 4.9, 5)]
    assert [None if s is None else s.value for s in held] == [None, "A", "A", "B", "B", None]


def test_trust_is_the_highest_of_its_assertions():
    [segment] = fold(
        [said(1, "A", 1, trust=LOW), said(2, "A", 2, trust=Trust.THIRD_PARTY), said(3, "A", 3, trust=LOW)]
    )
    assert segment.trust is Trust.THIRD_PARTY


@pytest.mark.parametrize(
    ("assertions", "clock", "newest"),
    [
        ([said(1, "A", 1), said(2, "A", 5)], 5, 5),
        ([said(1, "A", 1), said(2, "A", 5, trust=LOW)], 1, 5),
        ([said(1, "A", 1, trust=LOW), said(2, "A", 5)], 5, 5),
        ([said(1, "A", 1, trust=LOW), said(2, "A", 3, trust=HIGH), said(3, "A", 5, trust=LOW)], 3, 5),
        ([said(1, "A", 1, trust=LOW), said(2, "A", 3, trust=LOW)], 3, 3),
        ([said(1, "A", 1), said(2, "A", 5, kind=AMEND, end=9, fact=1)], 1, 1),
    ],
)
def test_only_statements_of_its_trust_move_the_clock_of_a_fact(assertions, clock, newest):
    [segment] = fold(assertions)
    assert (day(segment.last_reinforce_time), day(segment.newest_time)) == (clock, newest)


class TestEndsAndTrust:
    """Lower trust must not end what a higher trust said."""

    def test_an_end_stated_by_lower_trust_does_not_count(self):
        assert shape(fold([said(1, "A", 1), said(2, "A", 3, end=5, trust=LOW)])) == [("A", 1, None)]

    def test_an_end_stated_by_lower_trust_before_does_not_count_either(self):
        assert shape(fold([said(1, "A", 1, end=5, trust=LOW), said(2, "A", 3)])) == [("A", 1, None)]

    def test_an_end_stated_by_equal_or_higher_trust_counts(self):
        assert shape(fold([said(1, "A", 1), said(2, "A", 3, end=5)])) == [("A", 1, 5)]
        assert shape(fold([said(1, "A", 1, trust=LOW), said(2, "A", 3, end=5)])) == [("A", 1, 5)]

    def test_an_end_stated_by_lower_trust_does_not_move_that_of_higher_trust(self):
        assert shape(fold([said(1, "A", 1, end=9), said(2, "A", 3, end=5, trust=LOW)])) == [("A", 1, 9)]

    def test_after_the_end_of_higher_trust_lower_trust_may_begin_anew(self):
        assertions = [said(1, "A", 1, end=3), said(2, "A", 5, trust=LOW)]
        assert shape(fold(assertions)) == [("A", 1, 3), ("A", 5, None)]


class TestAmendments:
    """A caller's decision about the bounds of a fact."""

    def test_ends_the_interval_of_its_fact(self):
        assert shape(fold([said(1, "A", 1), said(2, "A", 1, kind=AMEND, end=5, fact=1)])) == [("A", 1, 5)]

    def test_reopens_an_interval(self):
        assert shape(fold([said(1, "A", 1, end=5), reopened(2, "A", 1, fact=1)])) == [("A", 1, None)]

    def test_the_last_one_counts(self):
        amended = [said(2, "A", 1, kind=AMEND, end=5, fact=1), said(3, "A", 1, kind=AMEND, end=7, fact=1)]
        assert shape(fold([said(1, "A", 1), *amended])) == [("A", 1, 7)]

    def test_counts_whatever_its_trust(self):
        amended = said(2, "A", 1, kind=AMEND, end=5, trust=LOW, fact=1)
        assert shape(fold([said(1, "A", 1), amended])) == [("A", 1, 5)]

    def test_is_no_support_of_its_own(self):
        amended = said(2, "A", 1, kind=AMEND, end=5, fact=1)
        assert fold([amended]) == ()
        assert fold([said(1, "A", 1, state=AssertionState.WITHDRAWN), amended]) == ()

    def test_stays_with_the_statements_that_remain(self):
        withdrawn = said(1, "A", 1, state=AssertionState.WITHDRAWN)
        amended = said(3, "A", 1, kind=AMEND, end=9, fact=1)
        assert shape(fold([withdrawn, said(2, "A", 5, fact=1), amended])) == [("A", 5, 9)]

    def test_stays_with_the_later_part_of_a_split(self):
        amended = said(3, "A", 1, kind=AMEND, end=9, fact=1)
        assertions = [said(1, "A", 1), said(2, "A", 5, fact=1), amended, said(4, "B", 3)]
        assert shape(fold(assertions)) == [("A", 1, 3), ("B", 3, 5), ("A", 5, 9)]

    def test_a_statement_after_the_end_begins_anew(self):
        amended = said(3, "A", 1, kind=AMEND, end=5, fact=1)
        assertions = [said(1, "A", 1), said(2, "A", 9, fact=1), amended]
        assert shape(fold(assertions)) == [("A", 1, 5), ("A", 9, None)]

    def test_does_not_touch_another_fact(self):
        amended = said(3, "A", 1, kind=AMEND, end=9, fact=1)
        corrected = said(4, "B", 1, kind=CORRECT)
        assert shape(fold([said(1, "A", 1), amended, corrected])) == [("B", 1, None)]

    def test_leaves_the_value_to_the_fold(self):
        amended = said(3, "A", 1, kind=AMEND, end=9, fact=1)
        renamed = [said(1, "B", 1), amended]
        assert shape(fold(renamed)) == [("B", 1, 9)]

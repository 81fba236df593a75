"""What a superseding statement does not restate is carried forward (semantics, section 4, rule 8)."""

import pytest
from concord_server.domain.timeline import Assertion, AssertionState, fold
from concord_server.domain.values import Json

from tests.unit.domain.builders import AMEND, CORRECT, PATCH, said, shape

BASE: Json = {"a": 1, "b": 2}


def patch(number: int, value: Json, time: float) -> Assertion:
    return said(number, value, time, kind=PATCH)


@pytest.mark.parametrize(
    ("assertions", "expected"),
    [
        pytest.param(
            [said(1, BASE, 1), patch(2, {"b": 3}, 3)],
            [(BASE, 1, 3), ({"a": 1, "b": 3}, 3, None)],
            id="keys not restated stay",
        ),
        pytest.param(
            [said(1, BASE, 1), patch(2, {"b": None}, 3)],
            [(BASE, 1, 3), ({"a": 1}, 3, None)],
            id="null removes a key",
        ),
        pytest.param(
            [said(1, BASE, 1), patch(2, {"a": 1}, 3)],
            [(BASE, 1, None)],
            id="a partial restatement is the same value",
        ),
        pytest.param(
            [said(1, BASE, 1), patch(2, {"a": 1, "c": None}, 3)],
            [(BASE, 1, None)],
            id="removing what is absent",
        ),
        pytest.param([patch(1, {"a": 1, "b": None}, 1)], [({"a": 1}, 1, None)], id="nothing to carry forward"),
        pytest.param(
            [said(1, "text", 1), patch(2, {"a": 1}, 3)],
            [("text", 1, 3), ({"a": 1}, 3, None)],
            id="only objects are carried forward",
        ),
        pytest.param(
            [said(1, BASE, 1), patch(2, "text", 3)],
            [(BASE, 1, 3), ("text", 3, None)],
            id="a patch that is no object replaces",
        ),
        pytest.param(
            [said(1, BASE, 1), said(2, {"b": 3}, 3)],
            [(BASE, 1, 3), ({"b": 3}, 3, None)],
            id="a statement of the whole replaces",
        ),
        pytest.param(
            [said(1, BASE, 1), said(2, {"b": 3}, 3, kind=CORRECT)],
            [(BASE, 1, 3), ({"b": 3}, 3, None)],
            id="a correction replaces",
        ),
        pytest.param(
            [said(1, BASE, 1), patch(2, {"b": 3}, 5), patch(3, {"c": 4}, 3)],
            [(BASE, 1, 3), ({"a": 1, "b": 2, "c": 4}, 3, 5), ({"a": 1, "b": 3, "c": 4}, 5, None)],
            id="a late patch shows in later ones",
        ),
        pytest.param(
            [said(1, BASE, 1), patch(2, {"b": 3}, 5), said(3, {"x": 0}, 3)],
            [(BASE, 1, 3), ({"x": 0}, 3, 5), ({"x": 0, "b": 3}, 5, None)],
            id="a late statement of the whole shows in later patches",
        ),
        pytest.param(
            [said(1, BASE, 1), patch(2, {"a": 1}, 5), patch(3, {"b": 9}, 3)],
            [(BASE, 1, 3), ({"a": 1, "b": 9}, 3, None)],
            id="a partial restatement supports what it now restates",
        ),
        pytest.param(
            [said(1, BASE, 1, end=3), patch(2, {"b": 3}, 5)],
            [(BASE, 1, 3), ({"b": 3}, 5, None)],
            id="nothing is carried over a gap",
        ),
        pytest.param(
            [said(1, BASE, 1, end=3), patch(2, {"b": 3}, 3)],
            [(BASE, 1, 3), ({"b": 3}, 3, None)],
            id="nothing is carried over a stated end",
        ),
        pytest.param(
            [said(1, BASE, 1), patch(2, {"b": 3}, 3), patch(3, {"a": 1}, 3)],
            [(BASE, 1, 3), ({"a": 1, "b": 3}, 3, None)],
            id="a partial restatement at the same instant",
        ),
    ],
)
def test_intervals(assertions, expected):
    assert shape(fold(assertions)) == expected
    assert shape(fold(reversed(assertions))) == expected


def test_taking_the_base_away_changes_what_was_carried_from_it():
    withdrawn = said(1, BASE, 1, state=AssertionState.WITHDRAWN)
    assert shape(fold([withdrawn, patch(2, {"b": 3}, 3)])) == [({"b": 3}, 3, None)]


def test_an_end_decided_by_hand_does_not_fix_the_value():
    ended = [said(1, BASE, 1), patch(2, {"b": 3}, 5), said(3, {"a": 1, "b": 3}, 5, kind=AMEND, end=9, fact=2)]
    late = patch(4, {"a": 7}, 3)
    assert shape(fold([*ended, late]))[-1] == ({"a": 7, "b": 3}, 5, 9)

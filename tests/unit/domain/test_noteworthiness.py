from __future__ import annotations

import math
from datetime import timedelta

import pytest
from concord_server.domain.noteworthiness import noteworthiness, noteworthiness_of
from hypothesis import given
from hypothesis import strategies as st

from tests.support.facts import a_fact
from tests.unit.domain.builders import at


@pytest.mark.parametrize(
    ("confidence", "sources", "days", "score"),
    [
        (1.0, 5, 0, 1.0),
        (0.0, 0, 0, 0.2),
        (0.8, 2, 30, 0.4 + 0.12 + 0.2 / math.e),
        (0.8, 50, 0, 0.4 + 0.3 + 0.2),
        (0.5, 0, 15, 0.25 + 0.2 * math.exp(-0.5)),
    ],
)
def test_the_score_is_the_sum_of_confidence_sources_and_recency(confidence, sources, days, score):
    parts = noteworthiness(confidence, sources, at(0), at(days))
    assert parts.score == pytest.approx(score, abs=1e-12)
    assert parts.score == parts.confidence + parts.sources + parts.recency


def test_a_reinforcement_ahead_of_now_is_as_recent_as_one_of_now():
    assert noteworthiness(0.5, 0, at(1), at(0)).recency == 0.2


def test_the_clock_is_the_last_reinforcement():
    fact = a_fact(confidence=0.5, source_count=1, create_time=at(0), last_reinforce_time=at(-30))
    assert noteworthiness_of(fact, at(0)).recency == pytest.approx(0.2 / math.e)


@given(st.floats(0, 1), st.integers(0, 10**6), st.floats(0, 7 * 10**5))
def test_the_score_is_between_0_and_1(confidence, sources, days):
    assert 0 <= noteworthiness(confidence, sources, at(0), at(0) + timedelta(days=days)).score <= 1

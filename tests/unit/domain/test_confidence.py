"""Confidence (semantics, section 3)."""

from datetime import UTC, datetime, timedelta

import pytest
from concord_server.domain.confidence import confidence, event_credibility
from concord_server.domain.enums import Trust
from concord_server.domain.model import SourceInput
from hypothesis import given
from hypothesis import strategies as st

NOW = datetime(2026, 3, 1, tzinfo=UTC)
UNIT = st.floats(0, 1)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


@pytest.mark.parametrize(
    ("credibilities", "newest", "corroboration", "expected"),
    [
        pytest.param([], None, 0.0, 0.7, id="no source"),
        pytest.param([], None, 1.0, 0.8, id="no source, corroborated"),
        pytest.param([0.9], ago(0), 0.0, 0.88, id="one at 0.9, today"),
        pytest.param([0.7, 0.7], ago(0), 0.0, 0.94, id="two at 0.7"),
        pytest.param([0.8] * 3, ago(10), 0.0, 0.96, id="three at 0.8, 10 days"),
        pytest.param([0.0, 0.0], ago(30), 0.0, 0.7, id="two at 0, 30 days"),
        pytest.param([0.5], ago(2.5), 1.0, 0.875, id="one at 0.5, 2.5 days, corroborated"),
        pytest.param([1.0] * 20, ago(0), 1.0, 1.0, id="never above 1"),
        pytest.param([0.9], NOW + timedelta(days=3), 0.0, 0.88, id="a source from the future is of today"),
        pytest.param([0.0] * 4, ago(30), 0.0, 0.8, id="more than three sources add nothing"),
    ],
)
def test_examples(credibilities, newest, corroboration, expected):
    assert confidence(credibilities, newest, corroboration, NOW) == pytest.approx(expected, abs=1e-9)


@given(st.lists(UNIT, max_size=30), st.none() | st.floats(-1000, 10_000), UNIT)
def test_within_zero_and_one(credibilities, days, corroboration):
    newest = None if days is None else ago(days)
    assert 0.0 <= confidence(credibilities, newest, corroboration, NOW) <= 1.0


@given(st.lists(UNIT, min_size=1, max_size=5), st.floats(0, 20), st.floats(0, 20), UNIT)
def test_age_never_adds(credibilities, first, second, corroboration):
    older, newer = max(first, second), min(first, second)
    of_older = confidence(credibilities, ago(older), corroboration, NOW)
    assert of_older <= confidence(credibilities, ago(newer), corroboration, NOW)


@given(st.permutations([0.1, 0.4, 0.9, 0.9]))
def test_the_order_of_sources_never_matters(credibilities):
    expected = confidence([0.1, 0.4, 0.9, 0.9], ago(1), 0.0, NOW)
    assert confidence(credibilities, ago(1), 0.0, NOW) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("trust", "expected"),
    [(Trust.TRUSTED, 0.8), (Trust.SEMI_TRUSTED, 0.6), (Trust.THIRD_PARTY, 0.4), (Trust.UNTRUSTED, 0.2)],
)
def test_credibility_of_an_event_follows_its_trust(trust, expected):
    assert event_credibility(trust) == expected


@pytest.mark.parametrize(("given_as", "expected"), [(None, 0.5), (0.0, 0.0), (0.9, 0.9)])
def test_credibility_of_a_source_is_the_one_given_else_a_half(given_as, expected):
    assert SourceInput(url="u", credibility=given_as).effective_credibility == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (SourceInput(external_id="e", url="u"), SourceInput(external_id="e", url="v"), True),
        (SourceInput(url="u", title="t"), SourceInput(url="u", title="s"), True),
        (SourceInput(source_type="a", title="t"), SourceInput(source_type="a", title="t"), True),
        (SourceInput(source_type="a", title="t"), SourceInput(source_type="b", title="t"), False),
        (SourceInput(source_type="ab", title="c"), SourceInput(source_type="a", title="bc"), False),
        (SourceInput(external_id="x"), SourceInput(url="x"), False),
        (SourceInput(url="x"), SourceInput(title="x"), False),
    ],
)
def test_identity_of_a_source_is_its_external_id_else_url_else_type_and_title(one, other, same):
    assert (one.identity == other.identity) is same

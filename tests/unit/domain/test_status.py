"""Steps between statuses (semantics, section 6) and freshness (section 11)."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from concord_server.domain.enums import FactStatus, Freshness, Volatility
from concord_server.domain.errors import IllegalStatusTransitionError
from concord_server.domain.freshness import freshness
from concord_server.domain.status import check_transition

P, A, D, S, X, R, E = (
    FactStatus.PENDING,
    FactStatus.ACTIVE,
    FactStatus.DISPUTED,
    FactStatus.SUPERSEDED,
    FactStatus.ARCHIVED,
    FactStatus.RETRACTED,
    FactStatus.DELETED,
)
ALLOWED = {
    P: {S, D, X, R, E},
    A: {S, D, X, R, E},
    S: {D, X, R, E},
    D: {A, S, X, R, E},
    X: {A, E},
    R: {A, E},
    E: set(),
}
STEPS = [(old, new) for old, new in product(FactStatus, FactStatus)]


@pytest.mark.parametrize(("old", "new"), [step for step in STEPS if step[1] in ALLOWED[step[0]]])
def test_steps_that_a_caller_may_ask_for(old, new):
    check_transition(old, new)


@pytest.mark.parametrize(("old", "new"), [step for step in STEPS if step[1] not in ALLOWED[step[0]]])
def test_steps_that_a_caller_may_not_ask_for(old, new):
    with pytest.raises(IllegalStatusTransitionError) as caught:
        check_transition(old, new)
    assert caught.value.reason == "ILLEGAL_STATUS_TRANSITION"
    assert old.value in str(caught.value)
    assert new.value in str(caught.value)


@pytest.mark.parametrize(
    ("volatility", "days", "expected"),
    [
        (Volatility.STABLE, 100_000, Freshness.FRESH),
        (Volatility.SLOW, 365, Freshness.FRESH),
        (Volatility.SLOW, 365.01, Freshness.UNCONFIRMED),
        (Volatility.VOLATILE, 60, Freshness.FRESH),
        (Volatility.VOLATILE, 60.01, Freshness.STALE),
        (Volatility.EPHEMERAL, 7, Freshness.FRESH),
        (Volatility.EPHEMERAL, 7.01, Freshness.STALE),
        (Volatility.EPHEMERAL, -30, Freshness.FRESH),
    ],
)
def test_freshness_ends_past_the_horizon(volatility, days, expected):
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert freshness(volatility, now - timedelta(days=days), now) is expected

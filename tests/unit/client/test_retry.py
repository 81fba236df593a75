from __future__ import annotations

from typing import Any

import pytest
from concord import (
    AbortedError,
    ConcordError,
    NotFoundError,
    ResourceExhaustedError,
    RetryPolicy,
    UnavailableError,
)
from concord._retry import Attempts, RetryBudget

DOWN = UnavailableError("down")


def attempts(
    policy: RetryPolicy, time: Any, *, timeout: float | None = 100, budget: RetryBudget | None = None
) -> Attempts:
    return Attempts(policy, budget or RetryBudget(policy), timeout=timeout, clock=time.clock, chance=lambda: 1.0)


def test_pauses_grow_up_to_the_longest(fake_time: Any) -> None:
    call = attempts(RetryPolicy(initial_backoff=1, multiplier=2, max_backoff=5), fake_time)
    assert [call.wait_after(DOWN) for _ in range(4)] == [1, 2, 4, 5]


def test_chance_shortens_a_pause_to_no_less_than_half() -> None:
    policy = RetryPolicy(initial_backoff=1, multiplier=2, max_backoff=100)
    assert [policy.backoff(3, chance) for chance in (0.0, 0.5, 1.0)] == [2, 3, 4]


def test_a_pause_after_endless_failures_is_still_a_number() -> None:
    assert RetryPolicy().backoff(1_000_000, 1.0) == RetryPolicy().max_backoff


def test_the_last_attempt_raises_its_error(fake_time: Any) -> None:
    call = attempts(RetryPolicy(max_attempts=3), fake_time)
    call.wait_after(DOWN)
    call.wait_after(DOWN)
    with pytest.raises(UnavailableError) as raised:
        call.wait_after(DOWN)
    assert raised.value is DOWN


@pytest.mark.parametrize(
    "error",
    [
        NotFoundError("x"),
        ResourceExhaustedError("x", retry_delay=1),
        AbortedError("stale etag"),
        ConcordError("x"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_that_another_attempt_cannot_help_are_raised_at_once(error: ConcordError, fake_time: Any) -> None:
    with pytest.raises(type(error)):
        attempts(RetryPolicy(), fake_time).wait_after(error)


def test_an_aborted_call_is_repeated_when_the_service_says_after_what_time(fake_time: Any) -> None:
    call = attempts(RetryPolicy(initial_backoff=1), fake_time)
    assert call.wait_after(AbortedError("busy", retry_delay=7)) == 7
    assert call.wait_after(AbortedError("busy", retry_delay=0.001)) == 2


def test_no_pause_reaches_past_the_deadline(fake_time: Any) -> None:
    call = attempts(RetryPolicy(initial_backoff=4, multiplier=1), fake_time, timeout=10)
    assert call.remaining() == 10
    fake_time.sleep(call.wait_after(DOWN))
    assert call.remaining() == 6
    fake_time.sleep(call.wait_after(DOWN))
    assert call.remaining() == 2
    with pytest.raises(UnavailableError):
        call.wait_after(DOWN)


def test_time_that_is_up_leaves_nothing_rather_than_a_negative(fake_time: Any) -> None:
    call = attempts(RetryPolicy(), fake_time, timeout=1)
    fake_time.sleep(5)
    assert call.remaining() == 0


def test_without_a_timeout_there_is_no_deadline(fake_time: Any) -> None:
    assert attempts(RetryPolicy(), fake_time, timeout=None).remaining() is None


def test_calls_share_a_budget_that_successes_refill(fake_time: Any) -> None:
    policy = RetryPolicy(budget=2, budget_refill=0.5)
    budget = RetryBudget(policy)
    attempts(policy, fake_time, budget=budget).wait_after(DOWN)
    attempts(policy, fake_time, budget=budget).wait_after(DOWN)
    with pytest.raises(UnavailableError):
        attempts(policy, fake_time, budget=budget).wait_after(DOWN)
    for _ in range(2):
        attempts(policy, fake_time, budget=budget).succeeded()
    attempts(policy, fake_time, budget=budget).wait_after(DOWN)
    with pytest.raises(UnavailableError):
        attempts(policy, fake_time, budget=budget).wait_after(DOWN)


def test_a_budget_does_not_grow_past_its_size() -> None:
    policy = RetryPolicy(budget=1, budget_refill=1)
    budget = RetryBudget(policy)
    for _ in range(5):
        budget.earn()
    assert [budget.spend(), budget.spend()] == [True, False]


def test_a_success_lets_failures_count_from_the_start(fake_time: Any) -> None:
    call = attempts(RetryPolicy(max_attempts=2, initial_backoff=1), fake_time)
    assert call.wait_after(DOWN) == 1
    call.succeeded()
    assert call.wait_after(DOWN) == 1


@pytest.mark.parametrize(
    "wrong", [{"max_attempts": 0}, {"multiplier": 0.5}, {"initial_backoff": -1}, {"budget": -1}], ids=str
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        RetryPolicy(**wrong)

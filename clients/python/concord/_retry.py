"""When to try again, and for how long. Pure but for the clock and the dice, which are parameters."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from concord.errors import AbortedError, ConcordError, UnavailableError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How a client repeats calls that failed without doing harm.

    A call is repeated when the server was UNAVAILABLE, or ABORTED it with a delay after which to try again.
    That is safe for reads, and for writes because the client sends each with a request id, under which the
    service does it once. The deadline covers all attempts together.

    Attributes:
        max_attempts: attempts of one call, the first one included; 1 never repeats.
        initial_backoff: seconds before the second attempt, shortened by chance to no less than half.
        max_backoff: seconds between two attempts at most.
        multiplier: growth of the backoff from one attempt to the next.
        budget: retries that a client may make at once when calls keep failing. Each retry takes one.
        budget_refill: what a call that succeeds gives back, so that retries stay a small share of all calls.
    """

    max_attempts: int = 6
    initial_backoff: float = 0.1
    max_backoff: float = 5.0
    multiplier: float = 2.0
    budget: float = 20.0
    budget_refill: float = 0.1

    def __post_init__(self) -> None:
        if self.max_attempts < 1 or self.multiplier < 1:
            raise ValueError("max_attempts and multiplier must be at least 1")
        if min(self.initial_backoff, self.max_backoff, self.budget, self.budget_refill) < 0:
            raise ValueError("backoffs and budget must not be negative")

    def backoff(self, failures: int, chance: float) -> float:
        """Returns the seconds to wait after so many failures in a row; ``chance`` is in [0, 1]."""
        # The exponent is capped because a watcher may fail for days, and floats overflow.
        longest = min(self.max_backoff, self.initial_backoff * self.multiplier ** min(failures - 1, 64))
        return longest * (0.5 + 0.5 * chance)


class RetryBudget:
    """The retries that a client has left, shared by all its calls and threads.

    Without it every caller of a server in trouble multiplies the load that it is in trouble with.
    """

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._tokens = policy.budget
        self._lock = threading.Lock()

    def spend(self) -> bool:
        """Takes one retry, and returns whether there was one."""
        with self._lock:
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def earn(self) -> None:
        """Gives back what a success is worth."""
        with self._lock:
            self._tokens = min(self._policy.budget, self._tokens + self._policy.budget_refill)


class Attempts:
    """The attempts of one call."""

    def __init__(
        self,
        policy: RetryPolicy,
        budget: RetryBudget,
        *,
        timeout: float | None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy
        self._budget = budget
        self._clock = clock
        self._chance = chance
        self._deadline = None if timeout is None else clock() + timeout
        self._failures = 0

    def remaining(self) -> float | None:
        """Returns the seconds that the next attempt may take, None for any number."""
        return None if self._deadline is None else max(self._deadline - self._clock(), 0.0)

    def succeeded(self) -> None:
        """Notes an answer: the budget recovers, and failures count from the start again."""
        self._budget.earn()
        self._failures = 0

    def wait_after(self, error: ConcordError) -> float:
        """Returns the seconds to wait before the next attempt.

        Raises:
            ConcordError: ``error`` itself, when there must not be another attempt.
        """
        self._failures += 1
        if not may_help(error) or self._failures >= self._policy.max_attempts:
            raise error
        delay = max(self._policy.backoff(self._failures, self._chance()), error.retry_delay or 0.0)
        remaining = self.remaining()
        if (remaining is not None and delay >= remaining) or not self._budget.spend():
            raise error
        return delay


def may_help(error: ConcordError) -> bool:
    """Whether the same call may succeed a little later."""
    return isinstance(error, UnavailableError) or (
        isinstance(error, AbortedError) and error.retry_delay is not None
    )

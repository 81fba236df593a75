"""What a client keeps between calls, and how its methods come from the builders of calls."""

from __future__ import annotations

import functools
import inspect
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from concord._call import Call
from concord._channel import call_metadata
from concord._retry import Attempts, RetryBudget, RetryPolicy

DEFAULT_TIMEOUT = 30.0
"""Seconds for a unary call, all attempts together, as the server's own."""

P = ParamSpec("P")
M = TypeVar("M", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Session:
    """The settings of a client, with its budget of retries."""

    metadata: tuple[tuple[str, str], ...]
    timeout: float
    policy: RetryPolicy
    budget: RetryBudget
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random

    @classmethod
    def of(cls, project: str, api_key: str, timeout: float, policy: RetryPolicy) -> Session:
        """Makes the session of a client.

        Raises:
            ValueError: the timeout is not positive.
        """
        if timeout <= 0:
            raise ValueError("timeout must be positive")
        return cls(call_metadata(project, api_key), timeout, policy, RetryBudget(policy))

    def attempts(self, timeout: float | None) -> Attempts:
        """Starts the attempts of a call that may take so many seconds; None for any number."""
        return Attempts(self.policy, self.budget, timeout=timeout, clock=self.clock, chance=self.chance)

    def attempts_of(self, call: Call[Any]) -> Attempts:
        """Starts the attempts of a call, within its own timeout or the client's default."""
        default = self.timeout + call.extra_time
        return self.attempts(default if call.timeout is None else call.timeout)


def method_like(build: Callable[P, Any], result: str) -> Callable[[M], M]:
    """Gives a method the name, documentation and signature of the builder of its call.

    Args:
        build: the builder, whose return annotation is "Call[X]" or the like.
        result: the annotation of what the method returns, with "{}" in place of X.
    """

    def decorate(method: M) -> M:
        wrapped = functools.wraps(build)(method)
        signature = inspect.signature(build)
        inner = str(signature.return_annotation).partition("[")[2].removesuffix("]")
        receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        wrapped.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[receiver, *signature.parameters.values()],
            return_annotation=result.format(inner),
        )
        return wrapped  # type: ignore[return-value]

    return decorate

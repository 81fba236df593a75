"""What a model's failure means for a run: the event tries again later, or the run cannot go on."""

from __future__ import annotations

from datetime import datetime, timedelta

from concord_server.domain.enums import RunState
from concord_server.domain.events import Failure
from concord_server.domain.runs import Interruption
from concord_server.ports.language_model import (
    ModelBudgetSpentError,
    ModelDeniedError,
    ModelError,
    ModelRateLimitedError,
)

DEFAULT_WAIT = timedelta(minutes=1)
"""How long to wait where the model's endpoint does not say."""


def interruption_of(error: ModelError, now: datetime) -> Interruption | None:
    """Returns why a run cannot go on after a failure; ``None`` where it concerns the event in hand alone."""
    failure = Failure(error.reason, str(error))
    if isinstance(error, ModelRateLimitedError | ModelBudgetSpentError):
        wait = DEFAULT_WAIT if error.retry_after is None else error.retry_after
        return Interruption(RunState.RATE_LIMITED, failure, now + wait)
    if isinstance(error, ModelDeniedError):
        return Interruption(RunState.FAILED, failure)
    return None

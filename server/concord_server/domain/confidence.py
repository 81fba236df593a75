"""How far the ledger trusts a fact, from the number, credibility and age of its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from concord_server.domain.enums import Trust

DEFAULT_CREDIBILITY = 0.5
"""Credibility of a source that Reconcile was given none for, and the mean without sources."""

_EVENT_CREDIBILITY = {
    Trust.TRUSTED: 0.8,
    Trust.SEMI_TRUSTED: 0.6,
    Trust.THIRD_PARTY: 0.4,
    Trust.UNTRUSTED: 0.2,
}


@dataclass(frozen=True, slots=True)
class SourceStatistics:
    """What confidence needs of a fact's sources."""

    credibilities: tuple[float, ...] = ()
    newest_time: datetime | None = None


def confidence(
    credibilities: Sequence[float], newest_source_time: datetime | None, corroboration: float, now: datetime
) -> float:
    """Returns the confidence of a fact, in [0, 1].

    ``clamp01(0.5 + min(n/10, 0.3) + 0.2·mean credibility + max(0, 0.1 - 0.01·days) + 0.1·corroboration)``

    Args:
        credibilities: one value in [0, 1] per distinct source.
        newest_source_time: time of the newest source, ``None`` without sources (``days`` is 0 then).
        corroboration: the caller's corroboration score, in [0, 1].
        now: the time at which the confidence is asked for.
    """
    count = len(credibilities)
    mean = sum(credibilities) / count if count else DEFAULT_CREDIBILITY
    days = 0.0 if newest_source_time is None else max((now - newest_source_time) / timedelta(days=1), 0.0)
    recency = max(0.0, 0.1 - 0.01 * days)
    score = 0.5 + min(count / 10, 0.3) + 0.2 * mean + recency + 0.1 * corroboration
    return min(max(score, 0.0), 1.0)


def event_credibility(trust: Trust) -> float:
    """Returns the credibility of an event as a source when it states none of its own."""
    return _EVENT_CREDIBILITY[trust]

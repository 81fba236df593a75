"""How much a fact deserves to be told first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from concord_server.domain.model import Fact

CONFIDENCE_WEIGHT = 0.5
SOURCE_WEIGHT = 0.3
RECENCY_WEIGHT = 0.2

ENOUGH_SOURCES = 5
"""Number of distinct sources from which more of them count for nothing."""

FADING = timedelta(days=30)
"""Time since the last reinforcement in which the part of recency falls to 1/e."""

FADED = 700.0
"""Multiple of :data:`FADING` from which nothing fades further: the database refuses an exp() that underflows."""


@dataclass(frozen=True, slots=True)
class Noteworthiness:
    """The score of a fact in its parts, which are weighted already."""

    confidence: float
    sources: float
    recency: float

    @property
    def score(self) -> float:
        """The sum of the parts, in [0, 1]."""
        return self.confidence + self.sources + self.recency


@dataclass(frozen=True, slots=True)
class RankedFact:
    """A fact with how noteworthy it is."""

    fact: Fact
    noteworthiness: Noteworthiness


def noteworthiness(
    confidence: float, sources: int, last_reinforce_time: datetime, now: datetime
) -> Noteworthiness:
    """Returns 0.5·confidence + 0.3·min(sources/5, 1) + 0.2·exp(-days/30), in its parts.

    Args:
        confidence: in [0, 1].
        sources: number of distinct sources.
        last_reinforce_time: since when ``days`` count, fractional and never negative.
        now: when the score is asked for.
    """
    faded = min(max((now - last_reinforce_time) / FADING, 0.0), FADED)
    return Noteworthiness(
        confidence=CONFIDENCE_WEIGHT * confidence,
        sources=SOURCE_WEIGHT * min(sources / ENOUGH_SOURCES, 1.0),
        recency=RECENCY_WEIGHT * math.exp(-faded),
    )


def noteworthiness_of(fact: Fact, now: datetime) -> Noteworthiness:
    """Returns how noteworthy a fact is at ``now``, with its confidence as it is stored."""
    return noteworthiness(fact.confidence, fact.source_count, fact.last_reinforce_time, now)

"""Whether a fact is still within the horizon of its volatility."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from concord_server.domain.enums import Freshness, Volatility

STALE_ONES = (Volatility.VOLATILE, Volatility.EPHEMERAL)
"""Those that are STALE past their horizon, and not merely UNCONFIRMED."""


@dataclass(frozen=True, slots=True)
class Horizons:
    """Time since the last reinforcement after which a fact is no longer fresh; STABLE facts stay fresh."""

    slow: timedelta = timedelta(days=365)
    volatile: timedelta = timedelta(days=60)
    ephemeral: timedelta = timedelta(days=7)

    def of(self, volatility: Volatility) -> timedelta | None:
        """Returns the horizon of a volatility, ``None`` where there is none."""
        match volatility:
            case Volatility.SLOW:
                return self.slow
            case Volatility.VOLATILE:
                return self.volatile
            case Volatility.EPHEMERAL:
                return self.ephemeral
            case Volatility.STABLE:
                return None

    def oldest_fresh(self, volatility: Volatility, moment: datetime) -> datetime | None:
        """Returns the earliest last reinforcement that is fresh at a moment, ``None`` where every one is."""
        horizon = self.of(volatility)
        if horizon is None:
            return None
        earliest = datetime.min.replace(tzinfo=moment.tzinfo)
        return moment - horizon if moment - earliest > horizon else earliest


DEFAULT_HORIZONS = Horizons()


def freshness(
    volatility: Volatility, last_reinforce_time: datetime, now: datetime, horizons: Horizons = DEFAULT_HORIZONS
) -> Freshness:
    """Returns how fresh a fact is at ``now``.

    Past its horizon a SLOW fact is UNCONFIRMED; a VOLATILE or EPHEMERAL one is STALE and left out of
    current reads.
    """
    horizon = horizons.of(volatility)
    if horizon is None or now - last_reinforce_time <= horizon:
        return Freshness.FRESH
    return Freshness.STALE if volatility in STALE_ONES else Freshness.UNCONFIRMED

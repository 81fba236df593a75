"""Whether a fact is still within the horizon of its volatility."""

from __future__ import annotations

from datetime import datetime, timedelta

from concord_server.domain.enums import Freshness, Volatility

HORIZONS = {
    Volatility.SLOW: timedelta(days=365),
    Volatility.VOLATILE: timedelta(days=60),
    Volatility.EPHEMERAL: timedelta(days=7),
}
"""Time since the last reinforcement after which a fact is no longer fresh; STABLE facts stay fresh."""

STALE_AFTER = {volatility: HORIZONS[volatility] for volatility in (Volatility.VOLATILE, Volatility.EPHEMERAL)}
"""The horizons past which facts are STALE, and not merely UNCONFIRMED."""


def freshness(volatility: Volatility, last_reinforce_time: datetime, now: datetime) -> Freshness:
    """Returns how fresh a fact is at ``now``.

    Past its horizon a SLOW fact is UNCONFIRMED; a VOLATILE or EPHEMERAL one is STALE and left out of
    current reads.
    """
    horizon = HORIZONS.get(volatility)
    if horizon is None or now - last_reinforce_time <= horizon:
        return Freshness.FRESH
    return Freshness.UNCONFIRMED if volatility is Volatility.SLOW else Freshness.STALE

"""By which horizons the call that runs sees how fresh facts are: those of its caller's project."""

from __future__ import annotations

from contextvars import ContextVar

from concord_server.domain.freshness import DEFAULT_HORIZONS, Horizons

_current: ContextVar[Horizons] = ContextVar("concord_horizons", default=DEFAULT_HORIZONS)


def enter_horizons(horizons: Horizons) -> None:
    """Makes these the horizons of the running task; every call runs in a task of its own."""
    _current.set(horizons)


def current_horizons() -> Horizons:
    """Returns the horizons of the call that runs, the defaults outside of calls."""
    return _current.get()

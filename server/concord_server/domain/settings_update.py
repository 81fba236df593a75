"""Changing what a project has set for itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from concord_server.domain.commands import Violations
from concord_server.domain.project_settings import MAX_PROMPT_BYTES, SETTABLE, OwnSettings
from concord_server.domain.text import characters_problem

MAX_HORIZON = timedelta(days=36_500)
"""Longest horizon: a hundred years."""

_HORIZONS = {f"{name}_horizon": f"volatility_horizons.{name}" for name in ("slow", "volatile", "ephemeral")}

PATHS = {name: f"settings.{_HORIZONS.get(name, name)}" for name in SETTABLE}
"""Where a request for the change has each setting."""

_THRESHOLDS = ("conflict_threshold", "similarity_threshold")


@dataclass(frozen=True, slots=True)
class SettingsUpdate:
    """What to change: only what ``names`` has counts.

    Attributes:
        names: members of ``SETTABLE``.
        values: the new values; ``None`` returns to the default.
    """

    names: frozenset[str]
    values: OwnSettings

    def validate(self, found: Violations) -> None:
        """Adds what is wrong with the new values, each by itself."""
        for name in sorted(self.names):
            value = getattr(self.values, name)
            path = PATHS[name]
            if isinstance(value, float):
                found.unit_interval(path, value)
            elif isinstance(value, timedelta):
                if not timedelta() < value <= MAX_HORIZON:
                    found.add(path, f"must be more than 0 and at most {MAX_HORIZON.days} days")
            elif isinstance(value, int):
                if value < 0:
                    found.add(path, "must not be negative")
            elif isinstance(value, str):
                _validate_text(path, value, found)

    def applied_to(self, own: OwnSettings, now: datetime) -> OwnSettings:
        """Returns what is set afterwards; what was set before, if nothing changes.

        Raises:
            InvalidFieldsError: the thresholds that would be in force are not in order.
        """
        changed = own.with_values(self.values, self.names)
        if changed == own:
            return own
        thresholds = changed.in_force().thresholds
        if thresholds.conflict > thresholds.similarity:
            named = next((name for name in _THRESHOLDS if name in self.names), _THRESHOLDS[0])
            found = Violations()
            order = f"conflict_threshold {thresholds.conflict:g}, similarity_threshold {thresholds.similarity:g}"
            found.add(
                PATHS[named], f"conflict_threshold must be at most similarity_threshold; they would be {order}"
            )
            found.raise_if_any()
        return replace(changed, update_time=now, revision=own.revision + 1)


def _validate_text(path: str, text: str, found: Violations) -> None:
    problem = characters_problem(text)
    if problem:
        found.add(path, problem)  # also what cannot be counted in UTF-8
        return
    size = len(text.encode())
    if size > MAX_PROMPT_BYTES:
        found.add(path, f"must have at most {MAX_PROMPT_BYTES} bytes of UTF-8, has {size}")

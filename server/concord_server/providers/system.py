"""The system's clock, and time-ordered ids."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import uuid_utils


class SystemClock:
    """Tells the system's time in UTC."""

    def now(self) -> datetime:
        """Returns the current time, aware, with microseconds."""
        return datetime.now(UTC)


class TimeOrderedIds:
    """Makes UUIDv7s; those of one process are in the order of their making."""

    def new(self) -> UUID:
        """Returns a new UUIDv7."""
        return UUID(bytes=uuid_utils.uuid7().bytes)

"""The ports behind which time and ids are made."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol
from uuid import UUID


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Returns the current time, aware, in UTC."""


class Ids(Protocol):
    """Makes ids."""

    def new(self) -> UUID:
        """Returns a new UUIDv7, later than every one made before it in this process."""

"""The port behind which is found what has been kept for long enough."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Expiry:
    """From when on things are kept.

    Attributes:
        requests: answers to repeated requests.
        changes: the change log; ``None`` keeps all of it.
    """

    requests: datetime
    changes: datetime | None


class UpkeepAgenda(Protocol):
    """Finds work across projects. Reads only, and outside of any session."""

    async def overdue_project(self, expiry: Expiry, *, after: str) -> str | None:
        """Returns the first project after ``after`` that keeps something for too long, ``None`` without one."""

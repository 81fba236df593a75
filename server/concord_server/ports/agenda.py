"""The ports behind which background work is found and shared among processes.

Its state is in the database alone: which facts are scheduled, and which wait for their embedding. So nothing is
lost when a process ends, and every process may look for work at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from concord_server.domain.model import Partition


@dataclass(frozen=True, slots=True)
class DueSlot:
    """A timeline with a scheduled fact whose time has come."""

    project: str
    slot_id: UUID
    partition: Partition


@dataclass(frozen=True, slots=True)
class UnembeddedFact:
    """A fact that was stored while the embedder was unavailable.

    Attributes:
        undecided: whether it was only created for want of a comparison with what was known.
    """

    project: str
    fact_id: UUID
    partition: Partition
    text: str
    undecided: bool


class Agenda(Protocol):
    """Finds work across projects. Reads only, and outside of any session."""

    async def due_slots(self, now: datetime, *, after: DueSlot | None, limit: int) -> list[DueSlot]:
        """Returns timelines with work that is due, by project and id; a page after ``after``."""

    async def next_due(self, now: datetime) -> datetime | None:
        """Returns when the next scheduled fact after ``now`` is due, ``None`` without one."""

    async def unembedded(self, *, after: UnembeddedFact | None, limit: int) -> list[UnembeddedFact]:
        """Returns facts that wait for their embedding, by project and creation; a page after ``after``."""


class WorkRepository(Protocol):
    """Shares work: each piece is done by one session at a time, and not again once it is done.

    Write sessions only, before partitions are locked.
    """

    async def take_slot(self, slot_id: UUID, now: datetime) -> bool:
        """Takes a timeline until the session ends; false when nothing on it is due, or another has it."""

    async def take_upkeep(self) -> bool:
        """Takes the upkeep of the project until the session ends; false when another has it."""

    async def take_fact(self, fact_id: UUID) -> bool:
        """Takes a fact until the session ends; false when it has its embedding, or another has it."""

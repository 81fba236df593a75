"""The port behind which it is kept what language models cost, and budgets are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from concord_server.ports.language_model import ModelStage, Usage


class SpentBudget(StrEnum):
    """A budget that allows no further call."""

    DAY = "DAY"
    """The tokens of the project and day."""
    RUN = "RUN"
    """The calls of the run."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """What may be spent; 0 is no limit.

    Attributes:
        calls_per_run: calls of one run, all stages together.
        tokens_per_day: tokens in and out of one project and day (UTC).
    """

    calls_per_run: int = 0
    tokens_per_day: int = 0


@dataclass(frozen=True, slots=True)
class DaySpend:
    """What one stage spent with one model on one day (UTC)."""

    day: date
    stage: ModelStage
    model: str
    usage: Usage


class ModelSpendRepository(Protocol):
    """What models cost one project."""

    async def admit(self, run_id: UUID | None, day: date, budgets: Budgets) -> SpentBudget | None:
        """Counts a call of a run before it is made; returns the budget that forbids it, and counts nothing then.

        Calls of a run never exceed their budget. Tokens are known only afterwards: calls that are under way when the
        day's budget is reached still end.
        """

    async def record(self, spent: DaySpend, run_id: UUID | None, *, counted: int) -> None:
        """Adds what a call cost, ``counted`` of whose calls :meth:`admit` counted already."""

    async def of_days(self, first: date, last: date) -> Sequence[DaySpend]:
        """Returns what was spent on the days from ``first`` to ``last``, by day, stage and model."""

    async def of_run(self, run_id: UUID) -> Usage:
        """Returns what a run has spent in all."""

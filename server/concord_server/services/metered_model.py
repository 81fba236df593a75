"""A language model whose calls are admitted by budgets, and whose cost is recorded before anyone reads the answer."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from concord_server.ports.clock import Clock
from concord_server.ports.language_model import (
    LanguageModel,
    ModelAnswer,
    ModelBudgetSpentError,
    ModelError,
    ModelRequest,
    Usage,
)
from concord_server.ports.ledger import Ledger
from concord_server.ports.model_spend import Budgets, DaySpend, SpentBudget
from concord_server.ports.project_settings import SettingsOfProjects


def until_next_day(now: datetime) -> timedelta:
    """Returns the time until the next day begins, in UTC."""
    moment = now.astimezone(UTC)
    return datetime.combine(moment.date() + timedelta(days=1), time(), UTC) - moment


class MeteredModel:
    """Implements :class:`~concord_server.ports.language_model.LanguageModel` over another one.

    Each transaction of its own is short, and none is open while the model is asked.
    """

    def __init__(self, model: LanguageModel, ledger: Ledger, settings: SettingsOfProjects, clock: Clock) -> None:
        self._model = model
        self._ledger = ledger
        self._settings = settings
        self._clock = clock

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        """Returns the answer, paid for.

        Raises:
            ModelBudgetSpentError: a budget is spent; the model was not asked.
            ModelError: as of the model; what the asking cost is recorded all the same.
            UnavailableError: the database cannot be reached.
        """
        counted = await self._admit(request)
        try:
            answer = await self._model.ask(request)
        except ModelError as error:
            await self._record(request, self._model.name, error.usage, counted)
            raise
        await self._record(request, answer.model, answer.usage, counted)
        return answer

    async def _admit(self, request: ModelRequest) -> int:
        """Returns how many calls were counted in advance."""
        settings = await self._settings.of(request.project)
        budgets = Budgets(settings.max_model_calls_per_run, settings.daily_token_budget)
        if budgets == Budgets():
            return 0
        now = self._clock.now()
        async with self._ledger.write(request.project) as session:
            spent = await session.model_spend.admit(request.run_id, now.astimezone(UTC).date(), budgets)
        if spent is SpentBudget.DAY:
            raise ModelBudgetSpentError(
                f"the day's budget of {budgets.tokens_per_day} tokens is spent", until_next_day(now)
            )
        if spent is SpentBudget.RUN:
            raise ModelBudgetSpentError(
                f"the run's budget of {budgets.calls_per_run} model calls is spent", timedelta(0)
            )
        return 1 if request.run_id is not None else 0

    async def _record(self, request: ModelRequest, model: str, usage: Usage, counted: int) -> None:
        if usage == Usage() and not counted:
            return
        day = self._clock.now().astimezone(UTC).date()
        spent = DaySpend(day, request.stage, model, usage)
        async with self._ledger.write(request.project) as session:
            await session.model_spend.record(spent, request.run_id, counted=counted)

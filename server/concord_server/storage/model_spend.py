"""What language models cost, by project and day, and by run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import Table, func, select, update
from sqlalchemy.dialects.postgresql import insert

from concord_server.ports.language_model import ModelStage, Usage
from concord_server.ports.model_spend import Budgets, DaySpend, SpentBudget
from concord_server.storage.event_tables import runs
from concord_server.storage.spend_tables import COUNTS, model_spend, run_spend
from concord_server.storage.statements import SessionContext

_AMOUNTS = (*COUNTS, "cost")


class PostgresModelSpend:
    """Implements :class:`~concord_server.ports.model_spend.ModelSpendRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def admit(self, run_id: UUID | None, day: date, budgets: Budgets) -> SpentBudget | None:
        """Counts a call of a run before it is made; returns the budget that forbids it, and counts nothing then."""
        if budgets.tokens_per_day and await self._tokens(day) >= budgets.tokens_per_day:
            return SpentBudget.DAY
        if run_id is None:
            return None
        limit = budgets.calls_per_run
        begun = insert(run_spend).values(
            project_id=self._context.project, run_id=run_id, **_amounts(Usage(calls=1))
        )
        counted = begun.on_conflict_do_update(
            index_elements=["project_id", "run_id"],
            set_={"calls": run_spend.c.calls + 1},
            where=run_spend.c.calls < limit if limit else None,
        ).returning(run_spend.c.calls)
        row = await self._context.statements.first(counted)
        return SpentBudget.RUN if row is None else None

    async def record(self, spent: DaySpend, run_id: UUID | None, *, counted: int) -> None:
        """Adds what a call cost, ``counted`` of whose calls :meth:`admit` counted already."""
        by_day = {"day": spent.day, "stage": spent.stage.value, "model": spent.model}
        await self._add(model_spend, by_day, _amounts(spent.usage))
        if run_id is None:
            return
        amounts = _amounts(spent.usage)
        await self._add(run_spend, {"run_id": run_id}, amounts | {"calls": max(spent.usage.calls - counted, 0)})
        if spent.stage is ModelStage.EXTRACT:
            await self._show(run_id, spent.usage)

    async def of_days(self, first: date, last: date) -> Sequence[DaySpend]:
        """Returns what was spent on the days from ``first`` to ``last``, by day, stage and model."""
        query = (
            select(model_spend)
            .where(model_spend.c.project_id == self._context.project, model_spend.c.day.between(first, last))
            .order_by(model_spend.c.day, model_spend.c.stage, model_spend.c.model)
        )
        rows = await self._context.statements.rows(query)
        return [DaySpend(row.day, ModelStage(row.stage), row.model, _usage(row)) for row in rows]

    async def of_run(self, run_id: UUID) -> Usage:
        """Returns what a run has spent in all."""
        query = select(run_spend).where(
            run_spend.c.project_id == self._context.project, run_spend.c.run_id == run_id
        )
        row = await self._context.statements.first(query)
        return _usage(row) if row else Usage()

    async def _tokens(self, day: date) -> int:
        tokens = func.coalesce(func.sum(model_spend.c.input_tokens + model_spend.c.output_tokens), 0)
        query = select(tokens).where(model_spend.c.project_id == self._context.project, model_spend.c.day == day)
        return int((await self._context.statements.execute(query)).scalar_one())

    async def _add(self, table: Table, of: dict[str, Any], amounts: dict[str, Any]) -> None:
        values = {"project_id": self._context.project, **of, **amounts}
        begun = insert(table).values(values)
        more = {name: table.c[name] + begun.excluded[name] for name in _AMOUNTS}
        await self._context.statements.execute(
            begun.on_conflict_do_update(index_elements=["project_id", *of], set_=more)
        )

    async def _show(self, run_id: UUID, usage: Usage) -> None:
        """Lets the run's progress show what extracting cost."""
        more = {
            "model_calls": usage.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
        }
        this = (runs.c.project_id == self._context.project) & (runs.c.run_id == run_id) & ~runs.c.told
        await self._context.statements.execute(
            update(runs).where(this).values({name: runs.c[name] + count for name, count in more.items()})
        )


def _amounts(usage: Usage) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in _AMOUNTS}


def _usage(row: Any) -> Usage:  # noqa: ANN401 - a row
    return Usage(*(getattr(row, name) for name in _AMOUNTS))

"""What models cost is counted exactly, and budgets hold when many ask at once."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta
from uuid import UUID

from concord_server.domain.enums import RunState
from concord_server.domain.runs import Run, RunScope
from concord_server.ports.language_model import ModelStage, Usage
from concord_server.ports.model_spend import Budgets, DaySpend, SpentBudget
from concord_server.providers.system import TimeOrderedIds
from concord_server.storage.sessions import PostgresLedger

from tests.support.facts import NOON

TODAY = date(2026, 6, 1)
SPENT = DaySpend(TODAY, ModelStage.EXTRACT, "m", Usage(1, 100, 10, 0.5))


async def a_run(ledger: PostgresLedger, project: str) -> UUID:
    run_id = TimeOrderedIds().new()
    async with ledger.write(project) as session:
        await session.runs.add(Run(run_id, RunState.QUEUED, RunScope(), NOON), "tester")
    return run_id


async def admit(ledger: PostgresLedger, project: str, run_id: UUID | None, budgets: Budgets) -> SpentBudget | None:
    async with ledger.write(project) as session:
        return await session.model_spend.admit(run_id, TODAY, budgets)


async def record(
    ledger: PostgresLedger, project: str, spent: DaySpend = SPENT, run_id: UUID | None = None, counted: int = 0
) -> None:
    async with ledger.write(project) as session:
        await session.model_spend.record(spent, run_id, counted=counted)


async def test_calls_add_up_by_day_stage_and_model(ledger: PostgresLedger, project: str):
    judged = DaySpend(TODAY, ModelStage.JUDGE, "m", Usage(2, 7, 3, 0.25))
    tomorrow = DaySpend(TODAY + timedelta(days=1), ModelStage.EXTRACT, "m", Usage(1, 1, 1, 0.0))
    await asyncio.gather(*(record(ledger, project, each) for each in (SPENT, judged, SPENT, tomorrow, SPENT)))
    async with ledger.read(project) as session:
        assert await session.model_spend.of_days(TODAY, TODAY) == [
            DaySpend(TODAY, ModelStage.EXTRACT, "m", Usage(3, 300, 30, 1.5)),
            judged,
        ]
        assert await session.model_spend.of_days(TODAY, date(2027, 1, 1)) != []
    async with ledger.read(f"{project}-other") as session:
        assert await session.model_spend.of_days(TODAY, TODAY) == []


async def test_a_runs_calls_never_exceed_their_budget(ledger: PostgresLedger, project: str):
    run_id = await a_run(ledger, project)
    answers = await asyncio.gather(*(admit(ledger, project, run_id, Budgets(calls_per_run=5)) for _ in range(15)))
    assert (answers.count(None), answers.count(SpentBudget.RUN)) == (5, 10)
    other = await a_run(ledger, project)
    assert await admit(ledger, project, other, Budgets(calls_per_run=5)) is None


async def test_an_admitted_call_is_counted_once(ledger: PostgresLedger, project: str):
    run_id = await a_run(ledger, project)
    assert await admit(ledger, project, run_id, Budgets(calls_per_run=5)) is None
    await record(ledger, project, run_id=run_id, counted=1)
    await record(ledger, project, run_id=run_id)
    async with ledger.read(project) as session:
        assert await session.model_spend.of_run(run_id) == Usage(2, 200, 20, 1.0)
        run = await session.runs.get(run_id)
    assert run is not None
    assert (run.extract.model_calls, run.extract.input_tokens, run.extract.output_tokens) == (2, 200, 20)


async def test_the_days_tokens_are_a_budget_of_the_day(ledger: PostgresLedger, project: str):
    budgets = Budgets(tokens_per_day=220)
    await record(ledger, project)
    assert await admit(ledger, project, None, budgets) is None
    await record(ledger, project, DaySpend(TODAY, ModelStage.JUDGE, "other", Usage(1, 100, 10)))
    assert await admit(ledger, project, None, budgets) is SpentBudget.DAY
    async with ledger.write(project) as session:
        assert await session.model_spend.admit(None, TODAY + timedelta(days=1), budgets) is None

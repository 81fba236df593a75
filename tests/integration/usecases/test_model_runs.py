"""Runs whose events a model works: what its failures and its budgets do to events and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import CandidateOutcome, EventState, FactStatus, RunState
from concord_server.domain.events import Event, EventCandidate, NewEvent
from concord_server.domain.model import EntityRef
from concord_server.domain.project_settings import OwnSettings
from concord_server.domain.runs import EventOutcome, Run, RunScope
from concord_server.ports.events import Extraction, ExtractionError, RejectedCandidate
from concord_server.ports.language_model import (
    ModelDeniedError,
    ModelFailedError,
    ModelRateLimitedError,
    ModelRequest,
    ModelStage,
    Usage,
)
from concord_server.services.metered_model import MeteredModel
from concord_server.services.runs import StartRun
from concord_server.services.settings_cache import CachedSettings
from concord_server.services.statuses import UpdateFactStatus
from concord_server.storage.sessions import PostgresLedger

from tests.support.language_models import ScriptedModel
from tests.support.runs import DAY, START, Bench, at_work, said


@dataclass
class AskingExtractor:
    """Takes one candidate for each event, whose value is what a metered model says."""

    model: MeteredModel
    rejected: Sequence[RejectedCandidate] = ()
    partial: bool = False
    seen: list[UUID | None] = field(default_factory=list)

    async def extract(self, project: str, run_id: UUID | None, event: Event) -> Extraction:
        self.seen.append(run_id)
        request = ModelRequest(ModelStage.EXTRACT, project, "s", event.text, "facts", {}, run_id)
        answer = await self.model.ask(request)
        if answer.text == "nonsense":
            raise ExtractionError("the model gave no JSON at all")
        candidate = EventCandidate(ClaimInput("", event.kind or "city", answer.text))
        return Extraction((candidate,), self.rejected, self.partial, answer.usage)


class ModelBench(Bench):
    """A bench whose model is scripted."""

    def __init__(self, ledger: PostgresLedger, project: str) -> None:
        super().__init__(ledger, project)
        self.model = ScriptedModel("Lagos")
        metered = MeteredModel(self.model, ledger, CachedSettings(ledger, kept_seconds=0.0), self.clock)
        self.asking = AskingExtractor(metered)
        self.extractor = self.asking  # type: ignore[assignment]

    async def told_by_users(self, count: int) -> list[UUID]:
        """Appends that many events of as many subjects, each without candidates."""
        new = [
            NewEvent(EntityRef("User", f"u{n}"), text=f"event {n}", occur_time=START + n * DAY)
            for n in range(count)
        ]
        return [one.event_id for one in await self.append(*new)]

    async def set(self, settings: OwnSettings) -> None:
        async with self.ledger.write(self.project) as session:
            await session.settings.lock()
            await session.settings.save(settings)

    async def states(self, events: Sequence[UUID]) -> list[tuple[EventState, int]]:
        found = [await self.event(event_id) for event_id in events]
        return [(event.state, event.attempts) for event in found]


@pytest.fixture
def bench(ledger: PostgresLedger, project: str) -> ModelBench:
    return ModelBench(ledger, project)


PENDING, DONE = (EventState.PENDING, 0), (EventState.DONE, 1)


class TestInterruptions:
    async def test_a_limit_of_rate_ends_the_run_and_nothing_is_lost(self, bench: ModelBench):
        events = await bench.told_by_users(4)
        bench.model.script.extend(["Lagos", "Oslo", ModelRateLimitedError("slow down", timedelta(seconds=90))])
        before = bench.clock.now()
        summary, outcomes = await bench.worked(bench.worker(1))
        assert summary.state is RunState.RATE_LIMITED
        assert summary.error is not None
        assert summary.error.reason == "RATE_LIMITED"
        assert summary.retry_time is not None
        assert timedelta(seconds=90) <= summary.retry_time - before < timedelta(seconds=150)
        assert sorted(await bench.states(events), key=str) == [DONE, DONE, PENDING, PENDING]
        assert (len(outcomes), len(bench.model.asked), len(await bench.facts())) == (2, 3, 2)
        summary, _ = await bench.worked()
        assert (summary.state, summary.extract.processed) == (RunState.SUCCEEDED, 2)
        assert await bench.states(events) == [DONE] * 4

    async def test_without_a_time_of_its_own_a_limit_has_one_all_the_same(self, bench: ModelBench):
        await bench.told_by_users(1)
        bench.model.answer = ModelRateLimitedError("slow down")
        summary, _ = await bench.worked()
        assert summary.retry_time is not None
        assert summary.retry_time > bench.clock.now()

    async def test_many_workers_that_meet_the_limit_at_once_end_the_run_once(self, bench: ModelBench):
        events = await bench.told_by_users(12)
        bench.model.answer = ModelRateLimitedError("slow down")
        run = await bench.start()
        async with at_work(bench.worker(), bench.worker()):
            told = await bench.told(run)
        assert [m.last for m in told] == [False] * (len(told) - 1) + [True]
        assert await bench.states(events) == [PENDING] * 12

    async def test_a_refused_key_fails_the_run_and_events_wait(self, bench: ModelBench):
        events = await bench.told_by_users(3)
        bench.model.answer = ModelDeniedError("the model's endpoint refuses the key (401)")
        summary, _ = await bench.worked(bench.worker(1))
        assert summary.state is RunState.FAILED
        assert summary.error is not None
        assert (summary.error.reason, "401" in summary.error.message) == ("MODEL_DENIED", True)
        assert (summary.retry_time, len(bench.model.asked)) == (None, 1)
        assert await bench.states(events) == [PENDING] * 3

    async def test_events_with_candidates_wait_too_and_are_done_by_the_next_run(self, bench: ModelBench):
        await bench.told_by_users(1)
        await bench.append(said("Oslo", 5))
        bench.model.answer = ModelDeniedError("refused")
        await bench.worked(bench.worker(1))
        bench.model.answer = "Lagos"
        summary, _ = await bench.worked()
        assert (summary.state, summary.extract.processed) == (RunState.SUCCEEDED, 2)


class TestFailures:
    @pytest.mark.parametrize("failure", [ModelFailedError("no answer within 60 s"), "nonsense"])
    async def test_a_failure_counts_against_its_event_alone(self, bench: ModelBench, failure: str | Exception):
        bench.model.script.append(failure)
        events = await bench.told_by_users(2)
        summary, _ = await bench.worked(bench.worker(1))
        assert (summary.state, summary.extract.failed) == (RunState.SUCCEEDED, 1)
        failed, done = sorted([await bench.event(e) for e in events], key=lambda e: e.state is EventState.DONE)
        assert (failed.state, failed.attempts, done.state) == (EventState.FAILED, 1, EventState.DONE)
        assert failed.last_error is not None
        assert failed.last_error.reason == "MODEL_FAILED"

    async def test_an_event_is_given_up_after_five_attempts_of_one_call_each(self, bench: ModelBench):
        [event_id] = await bench.told_by_users(1)
        bench.model.answer = ModelFailedError("broken")
        for _ in range(7):
            await bench.worked()
            await make_due(bench, event_id)
        assert (await bench.event(event_id)).state is EventState.DEAD
        assert len(bench.model.asked) == 5


async def make_due(bench: Bench, event_id: UUID) -> None:
    """Lets a failed event's rest be over."""
    from concord_server.storage.event_tables import events
    from sqlalchemy import update

    async with bench.ledger._engine.begin() as connection:
        due = update(events).where(events.c.event_id == event_id, events.c.retry_time.is_not(None))
        await connection.execute(due.values(retry_time=START))


class TestBudgets:
    async def test_a_runs_calls_stop_at_their_budget_and_the_run_says_so(self, bench: ModelBench):
        await bench.set(OwnSettings(max_model_calls_per_run=3, revision=1))
        events = await bench.told_by_users(5)
        summary, _ = await bench.worked(bench.worker(), bench.worker())
        assert summary.state is RunState.RATE_LIMITED
        assert summary.error is not None
        assert (summary.error.reason, len(bench.model.asked)) == ("BUDGET_EXHAUSTED", 3)
        assert "3 model calls" in summary.error.message
        assert (summary.extract.model_calls, summary.extract.input_tokens, summary.extract.output_tokens) == (
            3,
            300,
            30,
        )
        summary, _ = await bench.worked()
        assert (summary.state, summary.extract.model_calls) == (RunState.SUCCEEDED, 2)
        assert await bench.states(events) == [DONE] * 5

    async def test_the_days_tokens_stop_at_their_budget_until_the_next_day(self, bench: ModelBench):
        await bench.set(OwnSettings(daily_token_budget=200, revision=1))
        events = await bench.told_by_users(4)
        summary, _ = await bench.worked(bench.worker(1))
        assert (summary.state, len(bench.model.asked)) == (RunState.RATE_LIMITED, 2)
        assert summary.retry_time is not None
        tomorrow = (datetime.now(UTC) + DAY).replace(hour=0, minute=0, second=0, microsecond=0)
        assert abs(summary.retry_time - tomorrow) < timedelta(seconds=5)
        summary, _ = await bench.worked()
        assert (summary.state, summary.extract.processed, len(bench.model.asked)) == (RunState.RATE_LIMITED, 0, 2)
        assert sorted(await bench.states(events), key=str) == [DONE, DONE, PENDING, PENDING]

    async def test_an_answer_that_cannot_be_read_is_paid_for(self, bench: ModelBench):
        await bench.told_by_users(1)
        bench.model.answer = "nonsense"
        summary, _ = await bench.worked()
        assert (summary.extract.failed, summary.extract.model_calls, summary.extract.input_tokens) == (1, 1, 100)

    async def test_a_failed_call_is_paid_for(self, bench: ModelBench):
        await bench.told_by_users(1)
        error = ModelFailedError("timed out")
        error.usage = Usage(1, 40, 0)
        bench.model.answer = error
        summary, _ = await bench.worked()
        assert (summary.extract.model_calls, summary.extract.input_tokens) == (1, 40)


class TestTelling:
    async def test_what_was_refused_is_told_with_its_words(self, bench: ModelBench):
        bench.asking.rejected = [RejectedCandidate("likes: green tea", "no_evidence_span")]
        [event_id] = await bench.told_by_users(1)
        summary, [outcome] = await bench.worked()
        created, refused = outcome.candidates
        assert (created.outcome, created.fact is not None) == (CandidateOutcome.CREATED, True)
        assert created.claim is not None
        assert (created.claim.value, created.text) == ("Lagos", "u0 city Lagos")
        assert (refused.outcome, refused.text) == (CandidateOutcome.REJECTED, "likes: green tea")
        assert (refused.reason, summary.extract.rejected) == ("no_evidence_span", 1)
        assert not (await bench.event(event_id)).partial

    async def test_an_answer_that_was_cut_off_marks_its_event(self, bench: ModelBench):
        bench.asking.partial = True
        [event_id] = await bench.told_by_users(1)
        await bench.worked()
        assert (await bench.event(event_id)).partial

    async def test_erasing_a_fact_takes_the_words_that_were_refused_beside_it(self, bench: ModelBench):
        bench.asking.rejected = [RejectedCandidate("moved from Lagos", "no_evidence_span")]
        await bench.told_by_users(1)
        run = await bench.start()
        async with at_work(bench.worker()):
            await bench.told(run)
        [fact] = await bench.facts()
        erase = UpdateFactStatus(bench.ledger, bench.clock, bench.ids)
        await erase.execute(bench.context, fact.fact_id, FactStatus.DELETED, "asked for", "")
        assert "Lagos" not in repr([m for m in await bench.told(run) if not isinstance(m.update, Run)])

    async def test_a_second_pass_over_the_same_events_asks_nothing(self, bench: ModelBench):
        await bench.told_by_users(3)
        await bench.worked()
        summary, _ = await bench.worked()
        assert (summary.state, summary.extract.total, len(bench.model.asked)) == (RunState.SUCCEEDED, 0, 3)
        assert None not in bench.asking.seen


class TestDryRuns:
    def planner(self, bench: ModelBench) -> StartRun:
        return StartRun(bench.ledger, bench.consolidate, bench.clock, bench.ids)

    async def test_what_a_model_takes_is_shown_with_its_cost_and_nothing_is_stored(self, bench: ModelBench):
        bench.asking.rejected = [RejectedCandidate("likes: tea", "no_evidence_span")]
        events = await bench.told_by_users(2)
        messages = await self.planner(bench).plan(bench.context, RunScope())
        outcomes = [m.update for m in messages if isinstance(m.update, EventOutcome)]
        assert [[c.text for c in one.candidates] for one in outcomes] == [["city Lagos", "likes: tea"]] * 2
        summary = messages[-1].update
        assert isinstance(summary, Run)
        assert (summary.extract.created, summary.extract.rejected, summary.extract.model_calls) == (2, 2, 2)
        assert (await bench.facts(), await bench.states(events)) == ([], [PENDING, PENDING])

    async def test_an_interruption_is_told_as_of_a_run(self, bench: ModelBench):
        await bench.told_by_users(3)
        bench.model.script.extend(["Lagos", ModelRateLimitedError("slow down")])
        summary = (await self.planner(bench).plan(bench.context, RunScope()))[-1].update
        assert isinstance(summary, Run)
        assert (summary.state, summary.extract.created) == (RunState.RATE_LIMITED, 1)
        assert summary.retry_time is not None

    async def test_an_event_whose_answer_is_broken_is_told_as_failed(self, bench: ModelBench):
        await bench.told_by_users(2)
        bench.model.script.append("nonsense")
        messages = await self.planner(bench).plan(bench.context, RunScope())
        outcomes = [m.update.state for m in messages if isinstance(m.update, EventOutcome)]
        assert outcomes == [EventState.FAILED, EventState.PENDING]

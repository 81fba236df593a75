"""Events and runs on a real Postgres: leases, order, sharing, cancelling, failures, dry runs."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import (
    CandidateOutcome,
    ContradictionPolicy,
    EventState,
    FactStatus,
    RunState,
    Trust,
)
from concord_server.domain.errors import IdempotencyKeyReusedError, LeaseLostError, RunAlreadyFinishedError
from concord_server.domain.events import NewEvent
from concord_server.domain.model import EntityRef
from concord_server.domain.project_settings import OwnSettings
from concord_server.domain.runs import EventOutcome, Run, RunMessage, RunScope
from concord_server.ports.embedder import EmbedderOverloadedError
from concord_server.services.events import Requeued, RetryEvents
from concord_server.services.runs import CancelRun, GetRun, StartRun
from concord_server.services.statuses import UpdateFactStatus
from concord_server.storage.sessions import PostgresLedger

from tests.support.runs import DAY, LEASE, START, Bench, ScriptedExtractor, at_work, said, taken


def _id(message: RunMessage) -> tuple[object, ...]:
    update = message.update
    return (message.sequence, type(update), getattr(update, "event_id", None), message.last)


class TestAppending:
    async def test_the_same_key_twice_in_a_batch_is_one_event(self, bench: Bench):
        once = said("Lagos", idempotency_key="k", digest="d")
        first, second = await bench.append(once, once)
        assert (first.duplicate, second.duplicate) == (False, True)
        assert first.event_id == second.event_id

    async def test_a_batch_with_a_reused_key_stores_nothing(self, bench: Bench):
        await bench.append(said("Lagos", idempotency_key="k", digest="d"))
        with pytest.raises(IdempotencyKeyReusedError):
            await bench.append(said("Oslo"), said("Porto", idempotency_key="k", digest="other"))
        summary, _ = await bench.worked()
        assert summary.extract.total == 1

    async def test_batches_that_share_keys_in_any_order_end_with_one_event_each(self, bench: Bench):
        batch = [said("x", idempotency_key=f"k{n}", digest="d") for n in range(40)]
        results = await asyncio.gather(*(bench.append(*order) for order in (batch, batch[::-1], batch)))
        assert len({one.event_id for result in results for one in result}) == 40
        assert sum(not one.duplicate for result in results for one in result) == 40


class TestRuns:
    async def test_events_of_a_subject_are_worked_in_the_order_of_their_times(self, bench: Bench):
        await bench.append(said("C", 3), said("A", 1), said("B", 2))
        summary, outcomes = await bench.worked(bench.worker(8), bench.worker(8))
        assert [one.candidates[0].outcome.name for one in outcomes] == ["CREATED", "SUPERSEDED", "SUPERSEDED"]
        facts = await bench.facts()
        assert [f.claim.value for f in facts if f.claim] == ["A", "B", "C"]
        assert [f.valid_to for f in facts] == [START + 2 * DAY, START + 3 * DAY, None]
        assert summary.state is RunState.SUCCEEDED

    async def test_two_runs_at_once_share_the_work_and_do_nothing_twice(self, bench: Bench):
        await bench.append(*(said("x", n % 3, subject=f"s{n}", predicate=f"p{n}") for n in range(60)))
        first, second = await bench.start(), await bench.start()
        async with at_work(bench.worker(), bench.worker()):
            told = await asyncio.gather(bench.told(first), bench.told(second))
        worked = [m.update.event_id for messages in told for m in messages if isinstance(m.update, EventOutcome)]
        assert len(worked) == len(set(worked)) == 60
        summaries = [messages[-1].update for messages in told]
        assert sum(s.extract.processed for s in summaries if isinstance(s, Run)) == 60
        assert len(await bench.facts()) == 60

    async def test_a_watcher_that_comes_back_misses_and_repeats_nothing(self, bench: Bench):
        await bench.append(*(said(n, n) for n in range(5)))
        run = await bench.start()
        async with at_work(bench.worker()):
            told = await bench.told(run)
        for after in range(len(told)):
            again = await bench.told(run, after)
            assert [_id(m) for m in again] == [_id(m) for m in told[after:]]
        assert [m.sequence for m in told] == list(range(1, len(told) + 1))
        assert await bench.told(run, len(told)) == []

    async def test_events_appended_later_do_not_prolong_a_run(self, bench: Bench):
        await bench.append(said("A"))
        run = await bench.start()
        await bench.append(said("B", 1))
        async with at_work(bench.worker()):
            told = await bench.told(run)
        assert isinstance(told[-1].update, Run)
        assert told[-1].update.extract.total == 1

    async def test_a_run_is_confined_to_its_subject_and_number_of_events(self, bench: Bench):
        await bench.append(said("A"), said("B", 1), said("C", 2), said("A", subject="u2"))
        scope = RunScope(subject=EntityRef("User", "u1"), max_events=2)
        summary, _ = await bench.worked(scope=scope)
        assert summary.extract.processed == 2
        assert [f.claim.value for f in await bench.facts() if f.claim] == ["A", "B"]

    async def test_the_same_candidate_twice_in_an_event_is_applied_once(self, bench: Bench):
        event = said("A")
        await bench.append(replace(event, candidates=event.candidates * 2))
        summary, _ = await bench.worked()
        assert (summary.extract.created, summary.extract.duplicate) == (1, 1)
        [fact] = await bench.facts()
        assert (fact.source_count, fact.reinforcement_count) == (1, 0)

    async def test_what_a_candidate_does_against_another_value_is_the_projects_to_say(self, bench: Bench):
        await bench.append(said("pro", 0), said("free", 1, supersede=False))
        _, outcomes = await bench.worked()
        assert outcomes[1].candidates[0].outcome.name == "CONFLICTED"
        async with bench.ledger.write(bench.project) as session:
            await session.settings.lock()
            await session.settings.save(OwnSettings(candidate_policy=ContradictionPolicy.SUPERSEDE))
        await bench.append(said("pro", 0, subject="u2"), said("free", 1, subject="u2", supersede=False))
        _, outcomes = await bench.worked()
        assert outcomes[1].candidates[0].outcome.name == "SUPERSEDED"

    async def test_lower_trust_waits_and_a_trusted_statement_of_it_activates_it(self, bench: Bench):
        await bench.append(
            said("pro", 0, trust=Trust.SEMI_TRUSTED),
            said("free", 1, trust=Trust.UNTRUSTED),
            said("free", 2, trust=Trust.TRUSTED),
        )
        _, outcomes = await bench.worked()
        assert [one.candidates[0].outcome.name for one in outcomes] == ["CREATED", "CONFLICTED", "SUPERSEDED"]
        [active] = await bench.facts(FactStatus.ACTIVE)
        assert active.claim is not None
        assert (active.claim.value, active.conflict_id) == ("free", None)

    async def test_any_order_of_arrival_gives_the_same_timeline(self, ledger: PostgresLedger, project: str):
        timelines = set()
        for number, order in enumerate(itertools.permutations(range(3))):
            bench = Bench(ledger, f"{project}-{number}")
            for day in order:
                await bench.append(said("ABA"[day], day))
                await bench.worked()
            facts = await bench.facts()
            timelines.add(tuple((f.claim.value, f.valid_from, f.valid_to, f.status) for f in facts if f.claim))
        assert len(timelines) == 1
        assert [value for value, *_ in timelines.pop()] == ["A", "B", "A"]


class TestCancelling:
    async def test_a_cancelled_run_leaves_the_rest_waiting(self, bench: Bench):
        [appended] = await bench.append(said("A"))
        run = await bench.start()
        cancel = CancelRun(bench.ledger, bench.clock)
        cancelled = await cancel.execute(bench.context, run.run_id)  # type: ignore[arg-type]
        assert isinstance(cancelled, Run)
        assert cancelled.state is RunState.CANCELLED
        told = await bench.told(run)
        assert told[-1].last
        assert (await bench.event(appended.event_id)).state is EventState.PENDING
        with pytest.raises(RunAlreadyFinishedError):
            await cancel.execute(bench.context, run.run_id)  # type: ignore[arg-type]
        summary, _ = await bench.worked()
        assert summary.extract.created == 1

    async def test_the_event_in_hand_is_still_finished_and_told_before_the_end(self, bench: Bench):
        await bench.append(said("A"), said("B", 1))
        run = await bench.start()
        lease, event = await taken(bench, run)
        await CancelRun(bench.ledger, bench.clock).execute(bench.context, run.run_id)  # type: ignore[arg-type]
        await bench.consolidate.execute(bench.project, lease, event)
        async with bench.ledger.write(bench.project) as session:
            assert await session.leases.next_event(lease, has_model=False) is None
            await session.leases.release(lease)
        async with at_work(bench.worker()):
            told = await bench.told(run)
        assert [type(m.update).__name__ for m in told] == ["Run", "EventOutcome", "ProgressReport", "Run"]


class TestLeases:
    async def test_a_subject_is_one_workers_alone(self, bench: Bench):
        await bench.append(said("A"), said("B", 1))
        run = await bench.start()
        await taken(bench, run)
        async with bench.ledger.write(bench.project) as session:
            assert await session.leases.take(run.run_id, bench.ids.new(), LEASE, has_model=False) is None  # type: ignore[arg-type]

    async def test_what_a_dead_worker_had_in_hand_is_taken_up_again_with_its_attempt_counted(self, bench: Bench):
        [appended] = await bench.append(said("A"))
        run = await bench.start()
        await taken(bench, run, lease=timedelta(0))
        async with at_work(bench.worker()):
            await bench.told(run)
        event = await bench.event(appended.event_id)
        assert (event.state, event.attempts) == (EventState.DONE, 2)
        assert len(await bench.facts()) == 1

    async def test_a_worker_that_lost_its_lease_writes_nothing(self, bench: Bench):
        await bench.append(said("A"))
        run = await bench.start()
        lease, event = await taken(bench, run, lease=timedelta(0))
        other, again = await taken(bench, run)
        with pytest.raises(LeaseLostError):
            await bench.consolidate.execute(bench.project, lease, event)
        assert await bench.facts() == []
        await bench.consolidate.execute(bench.project, other, again)
        assert len(await bench.facts()) == 1

    async def test_an_extended_lease_is_kept(self, bench: Bench):
        await bench.append(said("A"))
        run = await bench.start()
        lease, _ = await taken(bench, run, lease=timedelta(0))
        async with bench.ledger.write(bench.project) as session:
            await session.leases.extend([lease.lease_id], LEASE)
            assert await session.leases.take(lease.run_id, bench.ids.new(), LEASE, has_model=False) is None

    async def test_an_event_that_ends_its_workers_is_given_up(self, bench: Bench):
        [appended] = await bench.append(said("A"))
        run = await bench.start()
        for _ in range(5):
            await taken(bench, run, lease=timedelta(0))
        async with at_work(bench.worker()):
            await bench.told(run)
        assert (await bench.event(appended.event_id)).state is EventState.DEAD


class TestFailures:
    async def test_a_failed_event_harms_no_neighbour_and_the_run_succeeds(self, bench: Bench):
        bench.extractor = ScriptedExtractor({"good": list(said("A").candidates)})
        bad, good = await bench.append(
            NewEvent(EntityRef("User", "u1"), text="bad", occur_time=START),
            NewEvent(EntityRef("User", "u1"), text="good", occur_time=START + DAY),
        )
        summary, _ = await bench.worked()
        assert (summary.state, summary.extract.failed, summary.extract.created) == (RunState.SUCCEEDED, 1, 1)
        failed = await bench.event(bad.event_id)
        assert (failed.state, failed.attempts) == (EventState.FAILED, 1)
        assert failed.last_error is not None
        assert failed.retry_time is not None
        assert (await bench.event(good.event_id)).state is EventState.DONE

    async def test_a_failed_event_rests_and_retrying_makes_it_wait_again(self, bench: Bench):
        bench.embedder.error = EmbedderOverloadedError("busy")
        [appended] = await bench.append(said("A"))
        await bench.worked()
        bench.embedder.error = None
        summary, _ = await bench.worked()
        assert summary.extract.total == 0
        assert await RetryEvents(bench.ledger, bench.clock).execute(bench.context, (), None) == Requeued(1)
        summary, _ = await bench.worked()
        assert summary.extract.created == 1
        assert (await bench.event(appended.event_id)).attempts == 1

    async def test_a_defect_fails_its_event_alone(self, bench: Bench):
        bench.embedder.error = ZeroDivisionError("a defect")
        [appended] = await bench.append(said("A"))
        summary, _ = await bench.worked()
        assert (summary.state, summary.extract.failed) == (RunState.SUCCEEDED, 1)
        failed = await bench.event(appended.event_id)
        assert failed.last_error is not None
        assert failed.last_error.reason == "INTERNAL"
        assert "defect" not in failed.last_error.message

    async def test_without_a_model_text_waits_and_the_rest_is_done(self, bench: Bench):
        plain, _ = await bench.append(NewEvent(EntityRef("User", "u1"), text="I like jazz"), said("A"))
        summary, _ = await bench.worked()
        assert summary.state is RunState.FAILED
        assert summary.error is not None
        assert (summary.error.reason, summary.extract.created) == ("NO_MODEL", 1)
        waiting = await bench.event(plain.event_id)
        assert (waiting.state, waiting.attempts) == (EventState.PENDING, 0)


class TestDryRuns:
    async def test_later_events_see_what_earlier_ones_would_write_and_nothing_is_written(self, bench: Bench):
        await bench.append(said("A"), said("B", 1))
        start = StartRun(bench.ledger, bench.consolidate, bench.clock, bench.ids)
        messages = await start.plan(bench.context, RunScope())
        outcomes = [m.update.candidates[0].outcome for m in messages if isinstance(m.update, EventOutcome)]
        assert outcomes == [CandidateOutcome.CREATED, CandidateOutcome.SUPERSEDED]
        assert await bench.facts() == []

    async def test_a_stored_dry_run_can_be_watched(self, bench: Bench):
        await bench.append(said("A"))
        start = StartRun(bench.ledger, bench.consolidate, bench.clock, bench.ids)
        run = await start.plan_stored(bench.context, RunScope())
        assert isinstance(run, Run)
        told = await bench.told(run)
        [outcome] = [m.update for m in told if isinstance(m.update, EventOutcome)]
        assert (outcome.state, outcome.candidates[0].claim) == (EventState.PENDING, ClaimInput("u1", "city", "A"))
        assert await GetRun(bench.ledger).execute(bench.context, run.run_id) == run  # type: ignore[arg-type]
        assert await bench.facts() == []


async def test_erasing_a_fact_takes_its_words_out_of_what_runs_told(bench: Bench):
    await bench.append(said("secret"))
    run = await bench.start()
    async with at_work(bench.worker()):
        await bench.told(run)
    [fact] = await bench.facts()
    statuses = UpdateFactStatus(bench.ledger, bench.clock, bench.ids)
    await statuses.execute(bench.context, fact.fact_id, FactStatus.DELETED, "asked for", "")
    assert "secret" not in repr([m for m in await bench.told(run) if not isinstance(m.update, Run)])

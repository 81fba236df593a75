"""Puts together what turns events into facts: the use cases of the edge, and the workers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from concord_server.api.consolidate_usecases import ConsolidateUseCases
from concord_server.config import Settings
from concord_server.ports.embedder import Embedder
from concord_server.ports.events import Extractor
from concord_server.ports.ledger import Ledger
from concord_server.ports.project_settings import SettingsOfProjects
from concord_server.providers.system import SystemClock, TimeOrderedIds
from concord_server.services.append_events import AppendEvents
from concord_server.services.consolidate import ConsolidateEvent
from concord_server.services.events import GetEvent, ListEvents, RetryEvents
from concord_server.services.judging.project_judge import ProjectJudge
from concord_server.services.observations import GetObservation, ListObservations, ListObservationVersions
from concord_server.services.observe import ObserveGroup
from concord_server.services.observe_answers import Answerer, LocalAnswerer
from concord_server.services.propose_predicates import PredicateProposer
from concord_server.services.runs import CancelRun, GetRun, ListRuns, StartRun
from concord_server.services.search_events import SearchEvents
from concord_server.services.signals import ChangeSignals
from concord_server.services.watch_run import WatchRun
from concord_server.storage.sessions import PostgresLedger
from concord_server.worker.background import Background, Recurring, Step
from concord_server.worker.worker import Doorbell, Worker, WorkerOptions


class Workers:
    """The workers of one process, at work."""

    def __init__(self, workers: Sequence[Worker], grace_seconds: float) -> None:
        """Starts them in the running event loop.

        Args:
            grace_seconds: how long events in hand may take once the workers are stopped.
        """
        self._workers = tuple(workers)
        self._grace_seconds = grace_seconds
        # A worker that ends by a defect is started again.
        self._background = Background([Recurring("worker", _step(worker)) for worker in self._workers])
        self._background.start()

    async def close(self) -> None:
        """Lets them finish the events in hand; what takes too long is left for others to take up."""
        for worker in self._workers:
            worker.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._grace_seconds):
                for worker in self._workers:
                    await worker.finished.wait()
        await self._background.close()


def _step(worker: Worker) -> Step:
    async def step() -> timedelta:
        await worker.run()
        return timedelta(days=1)  # it was stopped

    return step


def consolidate_use_cases(
    ledger: Ledger,
    embedder: Embedder,
    signals: ChangeSignals,
    bell: Doorbell,
    project_settings: SettingsOfProjects,
    proposer: PredicateProposer,
    extractor: Extractor | None = None,
) -> ConsolidateUseCases:
    """Returns the use cases of ConsolidateService.

    Args:
        signals: wake watches when a run has told something.
        bell: wakes the workers of this process when there is a run.
        proposer: finds which predicate a claim by a new name means.
        extractor: takes facts from events; without it, those without candidates wait.
    """
    clock, ids = SystemClock(), TimeOrderedIds()
    consolidate = ConsolidateEvent(ledger, embedder, clock, ids, extractor, project_settings, proposer)
    return ConsolidateUseCases(
        append_events=AppendEvents(ledger, clock, ids),
        start_run=StartRun(ledger, consolidate, clock, ids, bell.ring),
        get_run=GetRun(ledger),
        list_runs=ListRuns(ledger),
        cancel_run=CancelRun(ledger, clock, has_model=consolidate.has_model, bell=bell.ring),
        watch_run=WatchRun(ledger, signals),
        get_event=GetEvent(ledger),
        list_events=ListEvents(ledger),
        search_events=SearchEvents(ledger, embedder),
        retry_events=RetryEvents(ledger, clock),
        list_observations=ListObservations(ledger),
        get_observation=GetObservation(ledger),
        list_observation_versions=ListObservationVersions(ledger),
    )


def start_workers(
    settings: Settings,
    ledger: PostgresLedger,
    embedder: Embedder,
    judge: ProjectJudge,
    bell: Doorbell,
    project_settings: SettingsOfProjects,
    extractor: Extractor | None = None,
    answerer: Answerer | None = None,
) -> Workers:
    """Returns as many workers as the settings ask for, at work; close them in the end.

    Args:
        extractor: takes facts from events; without it, those without candidates wait.
        answerer: says what facts show together; without it, embedder and judge do.
    """
    clock, ids = SystemClock(), TimeOrderedIds()
    proposer = PredicateProposer(ledger, embedder, judge, fallback=judge.local, clock=clock)
    options = WorkerOptions(concurrency=settings.concurrency, lease=timedelta(seconds=settings.lease_seconds))
    workers = [
        Worker(
            ledger=ledger,
            queue=ledger.run_queue,
            consolidate=ConsolidateEvent(ledger, embedder, clock, ids, extractor, project_settings, proposer),
            observe=ObserveGroup(
                ledger, embedder, judge.local, answerer or LocalAnswerer(judge.local), clock, ids
            ),
            clock=clock,
            ids=ids,
            bell=bell,
            options=options,
        )
        for _ in range(settings.workers)
    ]
    return Workers(workers, settings.grace_seconds)

"""A project with what appends events, starts runs and works them, on a real Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import CandidateAction, FactStatus
from concord_server.domain.events import Appended, Event, EventCandidate, NewEvent
from concord_server.domain.judgement import Judgement, Relation
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.queries import FactFilter, FactOrder
from concord_server.domain.runs import EventOutcome, Run, RunMessage, RunScope
from concord_server.ports.embedder import Vector
from concord_server.ports.events import Extraction, ExtractionError, Lease
from concord_server.ports.judge import JudgePair
from concord_server.providers.system import SystemClock, TimeOrderedIds
from concord_server.services.append_events import AppendEvents
from concord_server.services.consolidate import ConsolidateEvent
from concord_server.services.context import CallContext, Replay
from concord_server.services.events import GetEvent
from concord_server.services.observe import ObserveGroup
from concord_server.services.observe_answers import Answerer, LocalAnswerer
from concord_server.services.propose_predicates import PredicateProposer
from concord_server.services.runs import StartRun
from concord_server.services.settings_cache import CachedSettings
from concord_server.services.signals import ChangeSignals
from concord_server.services.watch_run import WatchRun
from concord_server.storage.sessions import PostgresLedger
from concord_server.worker.worker import Doorbell, Worker, WorkerOptions

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
LEASE = timedelta(seconds=30)


@dataclass
class FlatEmbedder:
    """Gives every text the same vector; raises what it is told to."""

    error: Exception | None = None
    name: str = "flat"
    dimension: int = 384

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.error is not None:
            raise self.error
        vector = np.zeros(self.dimension, np.float32)
        vector[0] = 1.0
        return [vector for _ in texts]


@dataclass
class AloofJudge:
    """Finds that nothing belongs together, but for what it is told; pairs are (statement, known)."""

    relations: dict[tuple[str, str], Relation] = field(default_factory=dict)
    name: str = "aloof"

    async def judge(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        return [Judgement({self.relations.get((p.statement, p.known), Relation.DISTINCT): 1.0}) for p in pairs]

    def relate(self, relation: Relation, *texts: str) -> None:
        """Relates every two of these texts, in both directions."""
        for one in texts:
            self.relations |= {(one, other): relation for other in texts if other != one}


@dataclass
class ScriptedExtractor:
    """Takes from an event what the test says, or fails."""

    answers: dict[str, list[EventCandidate]] = field(default_factory=dict)

    async def extract(self, project: str, run_id: UUID | None, event: Event) -> Extraction:
        if event.text not in self.answers:
            raise ExtractionError("the model gave no JSON at all")
        return Extraction(self.answers[event.text])


class Bench:
    """A project with what appends, runs and works; ``worker`` makes one more worker."""

    def __init__(self, ledger: PostgresLedger, project: str) -> None:
        self.ledger, self.project = ledger, project
        self.context = CallContext(project, actor="tester")
        self.clock, self.ids, self.bell = SystemClock(), TimeOrderedIds(), Doorbell()
        self.embedder = FlatEmbedder()
        self.extractor: ScriptedExtractor | None = None
        self.proposer: PredicateProposer | None = None
        self.judge = AloofJudge()
        self.answerer: Answerer = LocalAnswerer(self.judge)
        self.signals = ChangeSignals()

    @property
    def consolidate(self) -> ConsolidateEvent:
        settings = CachedSettings(self.ledger, kept_seconds=0.0)
        return ConsolidateEvent(
            self.ledger, self.embedder, self.clock, self.ids, self.extractor, settings, self.proposer
        )

    def worker(self, concurrency: int = 4, lease: timedelta = LEASE) -> Worker:
        options = WorkerOptions(concurrency, lease, poll=0.05)
        queue = OneProject(self.ledger, self.project)
        observe = ObserveGroup(self.ledger, self.embedder, self.judge, self.answerer, self.clock, self.ids)
        return Worker(self.ledger, queue, self.consolidate, observe, self.clock, self.ids, self.bell, options)

    async def append(self, *events: NewEvent) -> Sequence[Appended]:
        appended = await AppendEvents(self.ledger, self.clock, self.ids).execute(self.context, events)
        assert not isinstance(appended, Replay)
        return appended

    async def start(self, scope: RunScope | None = None) -> Run:
        start = StartRun(self.ledger, self.consolidate, self.clock, self.ids, self.bell.ring)
        run = await start.execute(self.context, scope or RunScope())
        assert not isinstance(run, Replay)
        return run

    async def told(self, run: Run, after: int = 0) -> list[RunMessage]:
        """What a run tells until its summary."""
        assert run.run_id is not None
        watch = WatchRun(self.ledger, self.signals, poll=0.05)
        return [message async for message in await watch.execute(self.context, run.run_id, after)]

    async def worked(self, *workers: Worker, scope: RunScope | None = None) -> tuple[Run, list[EventOutcome]]:
        """Runs to the end; returns the summary and the outcomes."""
        run = await self.start(scope)
        async with at_work(*(workers or [self.worker()])):
            messages = await self.told(run)
        outcomes = [m.update for m in messages if isinstance(m.update, EventOutcome)]
        assert isinstance(messages[-1].update, Run)
        return messages[-1].update, outcomes

    async def event(self, event_id: object) -> Event:
        return await GetEvent(self.ledger).execute(self.context, event_id)  # type: ignore[arg-type]

    async def facts(self, *statuses: FactStatus) -> list[Fact]:
        async with self.ledger.read(self.project) as session:
            order = FactOrder("valid_from", descending=False)
            page = await session.facts.list(FactFilter(statuses=statuses), order, after=None, size=500)
        return list(page.items)


@dataclass
class OneProject:
    """The queue without the runs of other tests."""

    ledger: PostgresLedger
    project: str

    async def open_runs(self):
        return [run for run in await self.ledger.run_queue.open_runs() if run.project == self.project]


class at_work:  # noqa: N801 - reads like a word
    """Runs workers for the length of a block, and lets them finish."""

    def __init__(self, *workers: Worker) -> None:
        self._workers = workers

    async def __aenter__(self) -> None:
        self._tasks = [asyncio.create_task(worker.run()) for worker in self._workers]

    async def __aexit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()
        await asyncio.gather(*self._tasks)


def said(
    value: object,
    day: int = 0,
    *,
    subject: str = "u1",
    predicate: str = "city",
    supersede: bool = True,
    **more: object,
) -> NewEvent:
    """An event with one candidate."""
    action = CandidateAction.SUPERSEDE if supersede else CandidateAction.CREATE
    candidate = EventCandidate(ClaimInput(subject, predicate, value), action=action)  # type: ignore[arg-type]
    return NewEvent(
        EntityRef("User", subject),
        occur_time=START + day * DAY,
        candidates=(candidate,),
        **more,  # type: ignore[arg-type]
    )


async def taken(bench: Bench, run: Run, lease: timedelta = LEASE) -> tuple[Lease, Event]:
    """Takes a subject and its next event, as a worker does."""
    assert run.run_id is not None
    async with bench.ledger.write(bench.project) as session:
        held = await session.leases.take(run.run_id, bench.ids.new(), lease, has_model=False)
        assert held is not None
        event = await session.leases.next_event(held, has_model=False)
    assert event is not None
    return held, event

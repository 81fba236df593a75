"""Runs: starting, reading and cancelling them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from uuid import UUID

from concord_server.domain.consolidation import rendered
from concord_server.domain.enums import EventState, RunStage, RunState
from concord_server.domain.errors import RunAlreadyFinishedError, RunNotFoundError
from concord_server.domain.events import Event, EventCandidate, Failure
from concord_server.domain.queries import Cursor, Page
from concord_server.domain.runs import (
    CandidateResult,
    EventOutcome,
    Interruption,
    ObserveProgress,
    Progress,
    Run,
    RunMessage,
    RunScope,
    progress_of,
)
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.language_model import Usage
from concord_server.ports.ledger import Ledger
from concord_server.services import idempotency as repeats
from concord_server.services.consolidate import ConsolidateEvent, Planned
from concord_server.services.context import CallContext, Idempotency, Replay

MAX_PLANNED = 10_000
"""Events that a dry run plans at most."""

NO_MODEL = "NO_MODEL"

Bell = Callable[[], None]
"""Wakes the workers of this process."""


def _silent() -> None:
    """Rings for nobody."""


class StartRun:
    """Starts runs, which workers then execute."""

    def __init__(
        self, ledger: Ledger, consolidate: ConsolidateEvent, clock: Clock, ids: Ids, bell: Bell = _silent
    ) -> None:
        self._ledger = ledger
        self._consolidate = consolidate
        self._clock = clock
        self._ids = ids
        self._bell = bell

    async def execute(
        self, context: CallContext, scope: RunScope, idempotency: Idempotency[Run] | None = None
    ) -> Run | Replay:
        """Returns the new run, queued, with the events that wait within its scope before it.

        Raises:
            RequestIdReusedError: the request id was used for another request.
        """
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        now = self._clock.now()
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            run = await session.runs.add(Run(self._ids.new(), RunState.QUEUED, scope, now), context.actor)
            await repeats.complete(session, idempotency, run, [])
        self._bell()
        return run

    async def plan(self, context: CallContext, scope: RunScope) -> list[RunMessage]:
        """Returns what a run would tell, and writes nothing; the run has no id."""
        _, _, messages = await self._planned(context, scope)
        return messages

    async def plan_stored(
        self, context: CallContext, scope: RunScope, idempotency: Idempotency[Run] | None = None
    ) -> Run | Replay:
        """Plans a run, writes nothing but what it would tell, and returns it, ended."""
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        run, planned, _ = await self._planned(context, scope, self._ids.new())
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, run.create_time)
            if known is not None:
                return known
            settled = [(one.event.event_id, [each.settled for each in one.applied]) for one in planned]
            await session.runs.add_planned(run, context.actor, settled)
            await repeats.complete(session, idempotency, run, [])
        return run

    async def _planned(
        self, context: CallContext, scope: RunScope, run_id: UUID | None = None
    ) -> tuple[Run, list[Planned], list[RunMessage]]:
        now = self._clock.now()
        events: Sequence[Event] = []
        if RunStage.EXTRACT in scope.stages:
            async with self._ledger.read(context.project) as session:
                events = await session.events.waiting(scope, min(scope.max_events or MAX_PLANNED, MAX_PLANNED))
        workable = [event for event in events if event.candidates or self._consolidate.has_model]
        planned: list[Planned] = []
        interruption = None
        for _, group in groupby(sorted(workable, key=_subject), key=_subject):
            planning = await self._consolidate.plan(context.project, list(group))
            planned.extend(planning.planned)
            interruption = planning.interruption
            if interruption is not None:
                break
        if interruption is None and len(workable) < len(events):
            interruption = _no_model(len(events) - len(workable))
        run = self._ended(scope, run_id, len(events), planned, interruption)
        if RunStage.OBSERVE in scope.stages:
            async with self._ledger.read(context.project) as session:
                run = replace(run, observe=ObserveProgress(total=await session.observing.waiting(scope)))
        told: list[Run | EventOutcome] = [Run(run_id, RunState.RUNNING, scope, now, validate_only=True)]
        told += [_outcome(one) for one in planned]
        messages = [RunMessage(sequence, update) for sequence, update in enumerate(told, start=1)]
        return run, planned, [*messages, RunMessage(len(told) + 1, run, last=True)]

    def _ended(
        self,
        scope: RunScope,
        run_id: UUID | None,
        total: int,
        planned: Sequence[Planned],
        interruption: Interruption | None,
    ) -> Run:
        counts, spent = Progress(total=total), Usage()
        for one in planned:
            outcomes = [each.settled.outcome for each in one.applied]
            counts = counts.plus(progress_of(outcomes, failed=one.failure is not None))
            spent = spent.plus(one.usage)
        now = self._clock.now()
        return Run(
            run_id=run_id,
            state=interruption.state if interruption else RunState.SUCCEEDED,
            scope=scope,
            create_time=now,
            validate_only=True,
            extract=replace(
                counts,
                model_calls=spent.calls,
                input_tokens=spent.input_tokens,
                output_tokens=spent.output_tokens,
            ),
            error=interruption.error if interruption else None,
            retry_time=interruption.retry_time if interruption else None,
            start_time=now,
            end_time=now,
        )


def _no_model(count: int) -> Interruption:
    failure = Failure(NO_MODEL, f"no model is configured, and {count} events came without candidates")
    return Interruption(RunState.FAILED, failure)


def _subject(event: Event) -> tuple[str, str]:
    return (event.subject.entity_type, event.subject.entity_id)


def _outcome(one: Planned) -> EventOutcome:
    """Returns what would become of an event. The fact is left out: none is stored."""
    results = [
        CandidateResult(each.settled.outcome, each.candidate.claim, _text(each.candidate), each.settled.reason)
        for each in one.applied
    ]
    state = EventState.PENDING if one.failure is None else EventState.FAILED
    return EventOutcome(one.event.event_id, state, tuple(results))


def _text(candidate: EventCandidate) -> str:
    return candidate.text or ("" if candidate.claim is None else rendered(candidate.claim))


class GetRun:
    """Reads a run."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(self, context: CallContext, run_id: UUID) -> Run:
        """Returns a run.

        Raises:
            RunNotFoundError: no such run in the project.
        """
        async with self._ledger.read(context.project) as session:
            run = await session.runs.get(run_id)
        if run is None:
            raise RunNotFoundError(str(run_id))
        return run


class ListRuns:
    """Lists runs, newest first."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(
        self, context: CallContext, states: Sequence[RunState], after: Cursor | None, size: int
    ) -> Page[Run]:
        """Returns a page of runs in some states, of all where none is named."""
        async with self._ledger.read(context.project) as session:
            return await session.runs.list(states, after=after, size=size)


class CancelRun:
    """Stops a run between two events."""

    def __init__(self, ledger: Ledger, clock: Clock, *, has_model: bool = False, bell: Bell = _silent) -> None:
        self._ledger = ledger
        self._clock = clock
        self._has_model = has_model
        self._bell = bell

    async def execute(
        self, context: CallContext, run_id: UUID, idempotency: Idempotency[Run] | None = None
    ) -> Run | Replay:
        """Returns the cancelled run. Events in hand are still finished, and the run tells its end after them.

        Raises:
            RunNotFoundError: no such run in the project.
            RunAlreadyFinishedError: the run is over.
        """
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        now = self._clock.now()
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            run = await session.runs.cancel(run_id, now)
            if run is None:
                found = await session.runs.get(run_id)
                if found is None:
                    raise RunNotFoundError(str(run_id))
                raise RunAlreadyFinishedError(f"run {run_id} is over: {found.state.value}")
            await session.leases.close(run_id, now, has_model=self._has_model)
            run = await session.runs.get(run_id)
            assert run is not None
            await repeats.complete(session, idempotency, run, [])
        self._bell()
        return run

"""What the edge needs of the services for ConsolidateService."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from concord_server.domain.enums import EventState, RunState
from concord_server.domain.event_search import EventMatch, EventQuery
from concord_server.domain.events import Appended, Event, EventFilter, NewEvent
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.observations import Observation, ObservationFilter, ObservationVersion
from concord_server.domain.queries import Cursor, FactOrder, Page
from concord_server.domain.runs import Run, RunMessage, RunScope
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.events import Requeued


class AppendEvents(Protocol):
    """Stores events."""

    async def execute(
        self,
        context: CallContext,
        events: Sequence[NewEvent],
        idempotency: Idempotency[Sequence[Appended]] | None,
        /,
    ) -> Sequence[Appended] | Replay:
        """Returns what became of each, in order, or the stored answer of a repeated request."""


class StartRun(Protocol):
    """Starts and plans runs."""

    async def execute(
        self, context: CallContext, scope: RunScope, idempotency: Idempotency[Run] | None, /
    ) -> Run | Replay:
        """Returns the new run, or the stored answer of a repeated request."""

    async def plan(self, context: CallContext, scope: RunScope, /) -> list[RunMessage]:
        """Returns what a run would tell, and writes nothing."""

    async def plan_stored(
        self, context: CallContext, scope: RunScope, idempotency: Idempotency[Run] | None, /
    ) -> Run | Replay:
        """Plans a run, writes nothing but what it would tell, and returns it, ended."""


class GetRun(Protocol):
    """Reads a run."""

    async def execute(self, context: CallContext, run_id: UUID, /) -> Run:
        """Returns the run."""


class ListRuns(Protocol):
    """Lists runs, newest first."""

    async def execute(
        self, context: CallContext, states: Sequence[RunState], after: Cursor | None, size: int, /
    ) -> Page[Run]:
        """Returns a page."""


class CancelRun(Protocol):
    """Stops a run."""

    async def execute(
        self, context: CallContext, run_id: UUID, idempotency: Idempotency[Run] | None, /
    ) -> Run | Replay:
        """Returns the cancelled run, or the stored answer of a repeated request."""


class WatchRun(Protocol):
    """Tells what a run tells."""

    async def execute(
        self, context: CallContext, run_id: UUID, after_sequence: int, /
    ) -> AsyncIterator[RunMessage]:
        """Starts a watch after a sequence and returns what it tells."""


class GetEvent(Protocol):
    """Reads an event."""

    async def execute(self, context: CallContext, event_id: UUID, /) -> Event:
        """Returns the event."""


class ListEvents(Protocol):
    """Lists events."""

    async def execute(
        self, context: CallContext, where: EventFilter, order: FactOrder, after: Cursor | None, size: int, /
    ) -> Page[Event]:
        """Returns a page."""


class SearchEvents(Protocol):
    """Finds events by meaning and by words."""

    async def execute(self, context: CallContext, query: EventQuery, /) -> Sequence[EventMatch]:
        """Returns what was found, best first."""


class RetryEvents(Protocol):
    """Gives failed events another chance."""

    async def execute(
        self,
        context: CallContext,
        states: Sequence[EventState],
        subject: EntityRef | None,
        idempotency: Idempotency[Requeued] | None,
        /,
    ) -> Requeued | Replay:
        """Returns how many wait again, or the stored answer of a repeated request."""


class ListObservations(Protocol):
    """Lists observations."""

    async def execute(
        self, context: CallContext, where: ObservationFilter, order: FactOrder, after: Cursor | None, size: int, /
    ) -> Page[Observation]:
        """Returns a page."""


class GetObservation(Protocol):
    """Reads an observation."""

    async def execute(self, context: CallContext, observation_id: UUID, /) -> tuple[Observation, Sequence[Fact]]:
        """Returns the observation with the facts that it rests on, oldest first."""


class ListObservationVersions(Protocol):
    """Reads how an observation came to be what it is."""

    async def execute(
        self, context: CallContext, observation_id: UUID, after: Cursor | None, size: int, /
    ) -> Page[ObservationVersion]:
        """Returns a page of its recorded states, oldest first."""


@dataclass(frozen=True, slots=True)
class ConsolidateUseCases:
    """What ConsolidateService calls."""

    append_events: AppendEvents
    start_run: StartRun
    get_run: GetRun
    list_runs: ListRuns
    cancel_run: CancelRun
    watch_run: WatchRun
    get_event: GetEvent
    list_events: ListEvents
    search_events: SearchEvents
    retry_events: RetryEvents
    list_observations: ListObservations
    get_observation: GetObservation
    list_observation_versions: ListObservationVersions

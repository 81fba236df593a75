"""The ports behind which events and runs are kept, and events are leased to workers.

A worker takes a *subject*: for as long as it keeps the lease, it alone works the subject's events, one after
another. What it writes about an event is fenced: :meth:`LeaseRepository.hold` fails once somebody else has the lease.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from concord_server.domain.consolidation import Setback
from concord_server.domain.enums import CandidateOutcome, EventState, RunState
from concord_server.domain.events import Appended, Event, EventCandidate, EventFilter, Failure
from concord_server.domain.model import EntityRef
from concord_server.domain.queries import Cursor, FactOrder, Page
from concord_server.domain.runs import Interruption, Run, RunMessage, RunScope
from concord_server.ports.language_model import Usage


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that is not over, or whose end was not told yet."""

    project: str
    run_id: UUID


@dataclass(frozen=True, slots=True)
class Lease:
    """A subject that is taken for a run; ``lease_id`` is new with every taking."""

    run_id: UUID
    subject: EntityRef
    lease_id: UUID


@dataclass(frozen=True, slots=True)
class Settled:
    """One candidate of an event, settled.

    Attributes:
        key: of :func:`~concord_server.domain.consolidation.candidate_key`.
        fact_id: the fact that carries it, if any.
        text: its words, where neither a fact nor the event has them: a model took it, and it was refused.
    """

    key: str
    outcome: CandidateOutcome
    reason: str = ""
    fact_id: UUID | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class RejectedCandidate:
    """Something in an answer that cannot be a candidate: its words, as far as they can be told, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was taken from an event.

    Attributes:
        candidates: valid ones, in the order of the answer.
        rejected: what the answer held besides; ``reason`` is a word in lower snake case.
        partial: whether the answer was cut off, and only what was finished of it is here.
        usage: of all calls that it took.
    """

    candidates: Sequence[EventCandidate] = ()
    rejected: Sequence[RejectedCandidate] = ()
    partial: bool = False
    usage: Usage = field(default_factory=Usage)


class Extractor(Protocol):
    """Takes candidates from an event that came without any."""

    async def extract(self, project: str, run_id: UUID | None, event: Event) -> Extraction:
        """Returns what the event holds; nothing is an answer. No transaction is open.

        Args:
            run_id: on whose account; ``None`` for a dry run.

        Raises:
            ExtractionError: the answer cannot be used; the event is taken up again later.
            ModelError: there was no answer: of any of its kinds.
        """


class ExtractionError(Exception):
    """The model gave no answer that can be used.

    Attributes:
        usage: what the answer cost all the same.
    """

    reason = "MODEL_FAILED"
    usage = Usage()


class EventRepository(Protocol):
    """Events, which are never changed but for their state."""

    async def append(self, events: Sequence[tuple[Event, str]]) -> list[Appended]:
        """Stores events, each with the digest of its content, and returns what became of each, in order.

        Raises:
            IdempotencyKeyReusedError: a key stands for other content.
        """

    async def get(self, event_id: UUID) -> Event | None:
        """Returns the event."""

    async def list(self, where: EventFilter, order: FactOrder, *, after: Cursor | None, size: int) -> Page[Event]:
        """Returns a page of events; the order is by ``create_time`` or ``occur_time``, then id."""

    async def retry(self, states: Sequence[EventState], subject: EntityRef | None, now: datetime) -> int:
        """Makes events in these states wait again, their attempts forgotten; returns how many."""

    async def waiting(self, scope: RunScope, limit: int) -> Sequence[Event]:
        """Returns events that wait within a scope, in the order of their times and ids."""

    async def extraction(self, event_id: UUID) -> Extraction | None:
        """Returns what a model took from an event that is not done, if it is kept."""

    async def keep_extraction(self, event_id: UUID, extraction: Extraction) -> None:
        """Keeps what a model took from an event until it is done; what it cost is not kept."""


class RunRepository(Protocol):
    """Runs and what they tell."""

    async def add(self, run: Run, actor: str) -> Run:
        """Stores a new run with the events that wait within its scope, tells it, and returns it with their number."""

    async def add_planned(self, run: Run, actor: str, outcomes: Sequence[tuple[UUID, Sequence[Settled]]]) -> None:
        """Stores a dry run that is over, and everything that it tells."""

    async def get(self, run_id: UUID) -> Run | None:
        """Returns the run."""

    async def list(self, states: Sequence[RunState], *, after: Cursor | None, size: int) -> Page[Run]:
        """Returns a page of runs, newest first."""

    async def cancel(self, run_id: UUID, now: datetime) -> Run | None:
        """Ends an unfinished run and returns it, ``None`` when it was over already. Its end is told by ``close``."""

    async def interrupt(self, run_id: UUID, why: Interruption, now: datetime) -> None:
        """Ends a run that cannot go on, unless it is over already. Its end is told by ``close``."""

    async def messages(self, run_id: UUID, after: int, limit: int) -> Sequence[RunMessage]:
        """Returns what the run told after a sequence, in order."""

    async def is_told(self, run_id: UUID, after: int) -> bool:
        """Tells whether the run has told its summary, and nothing after a sequence."""


class LeaseRepository(Protocol):
    """Events as workers take them."""

    async def begin(self, run_id: UUID, now: datetime) -> None:
        """Marks a queued run as running."""

    async def take(self, run_id: UUID, lease_id: UUID, lease: timedelta, *, has_model: bool) -> Lease | None:
        """Takes the subject with the earliest event that the run has before it, among those that are free.

        Args:
            has_model: whether events without candidates can be worked.
        """

    async def next_event(self, lease: Lease, *, has_model: bool) -> Event | None:
        """Takes up the subject's next event of the run, which counts as an attempt; ``None`` when there is none."""

    async def release(self, lease: Lease) -> None:
        """Lets the subject go."""

    async def extend(self, lease_ids: Sequence[UUID], lease: timedelta) -> None:
        """Keeps the leases that were not lost for this long from now."""

    async def hold(self, lease: Lease, event: Event) -> frozenset[str]:
        """Makes sure that the event is this worker's until the session ends; write sessions only, first of all.

        Returns the keys of its candidates that were applied before.

        Raises:
            LeaseLostError: somebody else has the subject.
        """

    async def settle(
        self, lease: Lease, event: Event, settled: Sequence[Settled], now: datetime, *, partial: bool = False
    ) -> None:
        """Marks the event done, keeps what became of its candidates, and lets its run tell so; last of all.

        Args:
            partial: whether the answer about the event was cut off.
        """

    async def fail(self, lease: Lease, event: Event, setback: Setback, failure: Failure, now: datetime) -> None:
        """Marks the attempt failed, and lets the run tell so; last of all."""

    async def put_back(self, lease: Lease, event: Event, now: datetime) -> None:
        """Lets the event wait again, as if it had not been taken up; after :meth:`hold`."""

    async def close(self, run_id: UUID, now: datetime, *, has_model: bool) -> bool:
        """Ends the run and tells its summary if nothing is left of it; returns whether it is over."""


class RunQueue(Protocol):
    """Where workers find runs."""

    async def open_runs(self) -> list[OpenRun]:
        """Returns the open runs of every project, oldest first.

        Raises:
            UnavailableError: the database cannot be reached.
        """

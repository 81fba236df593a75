"""A worker: takes subjects and groups of open runs under leases, and works them, many at once."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog

from concord_server.domain.errors import AbortedError, LeaseLostError, UnavailableError
from concord_server.domain.events import Event, Failure
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.events import Lease, OpenRun, RunQueue
from concord_server.ports.ledger import Ledger
from concord_server.ports.observations import GroupLease
from concord_server.services.consolidate import ConsolidateEvent
from concord_server.services.observe import ObserveGroup

SUBJECT_TURN = 100
"""Events of one subject that are worked before others get a turn."""

_TRANSIENT = (UnavailableError, AbortedError)
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker works.

    Attributes:
        concurrency: subjects at once.
        lease: how long a subject stays taken after its worker's last sign of life.
        poll: seconds between two looks for work when nobody rings.
    """

    concurrency: int = 4
    lease: timedelta = timedelta(seconds=15)
    poll: float = 1.0

    @property
    def heartbeat(self) -> float:
        """Seconds between two signs of life."""
        return self.lease.total_seconds() / 3


class Doorbell:
    """Tells the workers of this process that there may be work."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wakes whoever waits, or whoever waits next."""
        self._rung.set()

    async def wait(self, seconds: float) -> None:
        """Returns when it rings, or after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        self._rung.clear()


@dataclass(slots=True)
class _Held:
    """A subject of events, or a group of facts, in hand."""

    open_run: OpenRun
    lease: Lease | GroupLease


@dataclass(slots=True)
class Worker:
    """Executes runs, together with any number of other workers on the same database.

    Attributes:
        ledger: where events and facts are.
        queue: where runs are found.
        consolidate: what is done with an event.
        observe: what is done with the next facts of a group.
        bell: rings when there may be work.
        finished: set once it was stopped and has nothing in hand.
    """

    ledger: Ledger
    queue: RunQueue
    consolidate: ConsolidateEvent
    observe: ObserveGroup
    clock: Clock
    ids: Ids
    bell: Doorbell
    options: WorkerOptions = WorkerOptions()
    _held: dict[UUID, _Held] = field(default_factory=dict)
    _turn: int = 0
    _stopping: bool = False

    finished: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self) -> None:
        """Lets :meth:`run` return once the events in hand are finished."""
        self._stopping = True
        self.bell.ring()

    async def run(self) -> None:
        """Works until it is stopped, and sets ``finished`` then.

        When it is cancelled, the events in hand are left for others to take up.
        """
        heartbeat = asyncio.create_task(self._beat())
        try:
            async with asyncio.TaskGroup() as group:
                while not self._stopping:
                    if len(self._held) < self.options.concurrency and await self._dispatch(group):
                        continue
                    await self.bell.wait(self.options.poll)
            self.finished.set()
        finally:
            heartbeat.cancel()
            await asyncio.gather(heartbeat, return_exceptions=True)

    async def _dispatch(self, group: asyncio.TaskGroup) -> bool:
        """Takes a subject or a group of an open run, if one is free, and has it worked; returns whether one was."""
        try:
            taken = await self._take()
        except _TRANSIENT as error:
            _log.warning("no work could be looked for", error=str(error))
            return False
        if taken is None:
            return False
        self._held[taken.lease.lease_id] = taken
        group.create_task(self._work(taken))
        return True

    async def _take(self) -> _Held | None:
        """Returns what was taken; ends runs of which nothing is left."""
        found = await self.queue.open_runs()
        self._turn += 1
        for open_run in _rotated(found, self._turn):
            lease = await self._take_of(open_run)
            if lease is not None:
                return _Held(open_run, lease)
            if not any(held.open_run == open_run for held in self._held.values()):
                await self._close(open_run)
        return None

    async def _take_of(self, open_run: OpenRun) -> Lease | GroupLease | None:
        has_model = self.consolidate.has_model
        async with self.ledger.write(open_run.project) as session:
            lease: Lease | GroupLease | None = await session.leases.take(
                open_run.run_id, self.ids.new(), self.options.lease, has_model=has_model
            )
            if lease is None:
                lease = await session.observing.take(open_run.run_id, self.ids.new(), self.options.lease)
            if lease is not None:
                await session.leases.begin(open_run.run_id, self.clock.now())
        return lease

    async def _close(self, open_run: OpenRun) -> None:
        async with self.ledger.write(open_run.project) as session:
            over = await session.leases.close(
                open_run.run_id, self.clock.now(), has_model=self.consolidate.has_model
            )
        if over:
            _log.info("run ended", project=open_run.project, run_id=str(open_run.run_id))

    async def _work(self, held: _Held) -> None:
        if isinstance(held.lease, GroupLease):
            await self._work_group(held.open_run.project, held.lease)
        else:
            await self._work_subject(held.open_run.project, held.lease)

    async def _work_subject(self, project: str, lease: Lease) -> None:
        """Works the events of a subject in their order, and lets it go."""
        try:
            for _ in range(SUBJECT_TURN):
                if self._stopping:
                    break
                async with self.ledger.write(project) as session:
                    event = await session.leases.next_event(lease, has_model=self.consolidate.has_model)
                if event is None or not await self._work_event(project, lease, event):
                    break
        except _TRANSIENT as error:
            _log.warning("a subject was left", project=project, error=str(error))
        finally:
            await self._release(project, lease)

    async def _work_group(self, project: str, lease: GroupLease) -> None:
        """Works one batch of a group, and lets it go: the group that waited for longest is next.

        A defect fails the facts that it shows in, never other groups.
        """
        try:
            error = await _ended(self.observe.execute(project, lease))
            if isinstance(error, LeaseLostError):
                _log.warning("a lease was lost", project=project, group_id=str(lease.group.group_id))
            elif isinstance(error, _TRANSIENT):
                _log.warning("a group was left", project=project, error=str(error))
                await asyncio.sleep(self.options.poll)
            elif error is not None:
                _tell_defect(error, project=project, group_id=str(lease.group.group_id))
                failure = Failure("INTERNAL", "internal error; the worker's log has it under the fact's group")
                await self.observe.record_failure(project, lease, failure)
        except _TRANSIENT as error:
            _log.warning("a group was left", project=project, error=str(error))
        finally:
            await self._release(project, lease)

    async def _release(self, project: str, lease: Lease | GroupLease) -> None:
        try:
            async with self.ledger.write(project) as session:
                if isinstance(lease, GroupLease):
                    await session.observing.release(lease)
                else:
                    await session.leases.release(lease)
        except _TRANSIENT as error:
            _log.warning("what was in hand stays taken until its lease is over", project=project, error=str(error))
        finally:
            del self._held[lease.lease_id]
            self.bell.ring()

    async def _work_event(self, project: str, lease: Lease, event: Event) -> bool:
        """Works an event; returns whether the subject's next one may follow.

        A defect fails the one event that it shows in, never its neighbours.
        """
        error = await _ended(self.consolidate.execute(project, lease, event))
        if error is None:
            return True
        if isinstance(error, LeaseLostError):
            _log.warning("a lease was lost", project=project, event_id=str(event.event_id))
            return False
        if isinstance(error, _TRANSIENT):
            _log.warning("an event was left", project=project, event_id=str(event.event_id), error=str(error))
            return False
        _tell_defect(error, project=project, event_id=str(event.event_id))
        failure = Failure("INTERNAL", f"internal error; the worker's log has it under event {event.event_id}")
        await self.consolidate.record_failure(project, lease, event, failure)
        return True

    async def _beat(self) -> None:
        """Gives signs of life for everything in hand."""
        while True:
            await asyncio.sleep(self.options.heartbeat)
            for project, lease_ids in self._by_project().items():
                try:
                    async with self.ledger.write(project) as session:
                        await session.leases.extend(lease_ids, self.options.lease)
                        await session.observing.extend(lease_ids, self.options.lease)
                except _TRANSIENT as error:
                    _log.warning("leases could not be extended", project=project, error=str(error))

    def _by_project(self) -> dict[str, list[UUID]]:
        grouped: dict[str, list[UUID]] = {}
        for lease_id, held in self._held.items():
            grouped.setdefault(held.open_run.project, []).append(lease_id)
        return grouped


async def _ended(work: Coroutine[Any, Any, None]) -> BaseException | None:
    """Does work whose failure must not take other work down; returns how it failed."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()
    return task.exception()


def _tell_defect(error: BaseException, **where: str) -> None:
    # Formatted here: a renderer of tracebacks may print local variables too, and those hold events.
    _log.error("internal error", **where, traceback="".join(traceback.format_exception(error)))


def _rotated(found: Sequence[OpenRun], turn: int) -> list[OpenRun]:
    """Returns the runs from another one on each turn, so that none keeps the others waiting."""
    if not found:
        return []
    start = turn % len(found)
    return [*found[start:], *found[:start]]

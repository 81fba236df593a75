"""Reading events, and giving failed ones another chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from concord_server.domain.enums import EventState
from concord_server.domain.errors import EventNotFoundError
from concord_server.domain.events import Event, EventFilter
from concord_server.domain.model import EntityRef
from concord_server.domain.queries import Cursor, FactOrder, Page
from concord_server.ports.clock import Clock
from concord_server.ports.ledger import Ledger
from concord_server.services import idempotency as repeats
from concord_server.services.context import CallContext, Idempotency, Replay

RETRYABLE = (EventState.FAILED, EventState.DEAD)
"""States of events that can be given another chance."""


@dataclass(frozen=True, slots=True)
class Requeued:
    """How many events and facts wait again."""

    events: int
    facts: int = 0


class GetEvent:
    """Reads an event."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(self, context: CallContext, event_id: UUID) -> Event:
        """Returns an event.

        Raises:
            EventNotFoundError: no such event in the project.
        """
        async with self._ledger.read(context.project) as session:
            event = await session.events.get(event_id)
        if event is None:
            raise EventNotFoundError(str(event_id))
        return event


class ListEvents:
    """Lists events."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(
        self, context: CallContext, where: EventFilter, order: FactOrder, after: Cursor | None, size: int
    ) -> Page[Event]:
        """Returns a page of events, ordered by ``create_time`` or ``occur_time``."""
        async with self._ledger.read(context.project) as session:
            return await session.events.list(where, order, after=after, size=size)


class RetryEvents:
    """Makes failed events wait again."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def execute(
        self,
        context: CallContext,
        states: Sequence[EventState],
        subject: EntityRef | None,
        idempotency: Idempotency[Requeued] | None = None,
    ) -> Requeued | Replay:
        """Returns what waits again: events, and facts that the stage OBSERVE failed on. Attempts are counted anew.

        Args:
            states: of :data:`RETRYABLE`; none means all of them.
        """
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        now = self._clock.now()
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            events = await session.events.retry(states or RETRYABLE, subject, now)
            requeued = Requeued(events, await session.observing.retry(states, subject))
            await repeats.complete(session, idempotency, requeued, [])
            return requeued

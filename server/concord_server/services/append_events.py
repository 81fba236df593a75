"""AppendEvents: keeps events until a run takes them."""

from __future__ import annotations

from collections.abc import Sequence

from concord_server.domain.commands import Violations
from concord_server.domain.events import Appended, NewEvent, recorded, validate_events
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.ledger import Ledger
from concord_server.services import idempotency as repeats
from concord_server.services.context import CallContext, Idempotency, Replay


class AppendEvents:
    """Stores events, all of a batch or none."""

    def __init__(self, ledger: Ledger, clock: Clock, ids: Ids) -> None:
        self._ledger = ledger
        self._clock = clock
        self._ids = ids

    async def execute(
        self,
        context: CallContext,
        events: Sequence[NewEvent],
        idempotency: Idempotency[Sequence[Appended]] | None = None,
    ) -> Sequence[Appended] | Replay:
        """Returns what became of each event, in order: an idempotency key that is known is the event it was.

        Raises:
            InvalidFieldsError: an event is malformed; nothing was stored.
            IdempotencyKeyReusedError: a key stands for other content; nothing was stored.
            RequestIdReusedError: the request id was used for another request.
        """
        now = self._clock.now()
        found = Violations()
        validate_events(events, now, found)
        found.raise_if_any()
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        stored = [(recorded(event, self._ids.new(), context.trust_cap, now), event.digest) for event in events]
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            appended = await session.events.append(stored)
            await repeats.complete(session, idempotency, appended, [])
            return appended

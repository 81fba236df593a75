"""The schedule: facts that are to hold from some time on become active when it comes."""

from __future__ import annotations

from datetime import datetime

from concord_server.domain.conflicts import review
from concord_server.domain.errors import ConcurrentUpdateError
from concord_server.domain.settlement import settle
from concord_server.ports.agenda import Agenda, DueSlot
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.ledger import Ledger
from concord_server.services.timeline_writer import TimelineChange, TimelineWriter

ACTOR = "scheduler"
"""Who is recorded with what the schedule changes."""

_PAGE = 100


class ActivateScheduled:
    """Settles every timeline on which a scheduled fact is due.

    Any number of processes may do so at once: each timeline is taken by one of them, and is settled under its
    partition's lock like by any other writer.
    """

    def __init__(self, ledger: Ledger, agenda: Agenda, clock: Clock, ids: Ids) -> None:
        self._ledger = ledger
        self._agenda = agenda
        self._clock = clock
        self._ids = ids
        self._writer = TimelineWriter(ids)

    async def execute(self) -> datetime | None:
        """Does what is due in all projects; returns when the next scheduled fact is, ``None`` without one.

        A timeline that is lost to other writers is due again the next time.

        Raises:
            UnavailableError: the database cannot be reached; what was done before is kept.
        """
        now = self._clock.now()
        after: DueSlot | None = None
        while True:
            due = await self._agenda.due_slots(now, after=after, limit=_PAGE)
            for slot in due:
                await self._settle(slot)
            if len(due) < _PAGE:
                return await self._agenda.next_due(now)
            after = due[-1]

    async def _settle(self, slot: DueSlot) -> None:
        try:
            async with self._ledger.write(slot.project) as session:
                now = self._clock.now()
                if not await session.work.take_slot(slot.slot_id, now):
                    return
                locked = await session.partitions.lock(slot.partition, now)
                before = await session.slots.timeline(slot.slot_id)
                if any(fact.partition != slot.partition for fact in before.facts):
                    return  # it was moved meanwhile, and is due there
                after = settle(before, now, self._ids.new)
                change = TimelineChange(
                    before=before,
                    after=after,
                    review=review(before, after),
                    actor=ACTOR,
                    reason="its time has come",
                )
                await self._writer.write(session, locked, change)
        except ConcurrentUpdateError:
            return

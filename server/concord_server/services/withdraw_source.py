"""WithdrawSource: takes a source away from every fact, as if it had never said anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from uuid import UUID

from concord_server.domain.commands import MAX_URL, Violations
from concord_server.domain.conflicts import review
from concord_server.domain.enums import FactStatus
from concord_server.domain.errors import SourceNotFoundError
from concord_server.domain.model import Fact
from concord_server.domain.settlement import settle
from concord_server.domain.text import label_problem
from concord_server.domain.timeline import Assertion, AssertionState
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.ledger import Ledger, LockedPartition, WriteSession
from concord_server.ports.sources import SourceName, SourceUse
from concord_server.services import idempotency as repeats
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.timeline_writer import TimelineChange, TimelineWriter

_TAKEN_BACK = frozenset({AssertionState.ADMITTED, AssertionState.QUARANTINED, AssertionState.SUSPENDED})
"""States of statements that count, or would count again; what a person decided against stays decided."""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """What a withdrawal did.

    Attributes:
        affected_count: number of facts that lost the source.
        disputed_fact_ids: those of them that are left without any support, and were not before.
    """

    affected_count: int
    disputed_fact_ids: tuple[UUID, ...]


class WithdrawSource:
    """Removes a source with its evidence and what was stated by it, and re-folds every timeline that it was on."""

    def __init__(self, ledger: Ledger, clock: Clock, ids: Ids) -> None:
        self._ledger = ledger
        self._clock = clock
        self._ids = ids
        self._writer = TimelineWriter(ids)

    async def execute(
        self,
        context: CallContext,
        source: SourceName,
        reason: str,
        idempotency: Idempotency[Withdrawal] | None = None,
    ) -> Withdrawal | Replay:
        """Returns what became of the facts that rested on the source; all in one transaction.

        Statements that the source makes afterwards count again: withdrawing is about what was said.

        Raises:
            InvalidFieldsError: not exactly one name of the source is given.
            SourceNotFoundError: no fact of the project rests on it.
        """
        _validate(source)
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        now = self._clock.now()
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            changed: list[tuple[Fact, Fact]] = []
            # Facts may move to another partition until theirs is locked, so look again until none is left.
            while partitions := await session.sources.partitions(source):
                for _, partition in sorted(partitions.items()):
                    locked = await session.partitions.lock(partition, now)
                    uses = await session.sources.uses(source, locked.partition_id)
                    changed += await self._withdraw(session, locked, context, uses, reason, now)
            if not changed:
                raise SourceNotFoundError(source.external_id or source.url)
            withdrawal = Withdrawal(len(changed), tuple(sorted(_left_without_support(changed))))
            await repeats.complete(session, idempotency, withdrawal, [])
            return withdrawal

    async def _withdraw(
        self,
        session: WriteSession,
        locked: LockedPartition,
        context: CallContext,
        uses: Sequence[SourceUse],
        reason: str,
        now: datetime,
    ) -> list[tuple[Fact, Fact]]:
        """Withdraws the source within a partition; returns each fact that lost it, before and after."""
        source_ids = frozenset(use.source_id for use in uses)
        slots = groupby(uses, key=lambda use: use.slot_id)
        affected = {slot_id: frozenset(use.fact_id for use in of_slot) for slot_id, of_slot in slots}
        timelines = [await session.slots.timeline(slot_id) for slot_id in affected]
        await session.sources.remove(sorted(source_ids))
        changed: list[tuple[Fact, Fact]] = []
        for before in timelines:
            facts = {f.fact_id: f for f in before.facts if f.fact_id in affected[before.slot_id]}
            assertions = tuple(_withdrawn(a) if a.source_id in source_ids else a for a in before.assertions)
            after = settle(replace(before, assertions=assertions), now, self._ids.new)
            written = await self._writer.write(
                session,
                locked,
                TimelineChange(
                    before=before,
                    after=after,
                    review=review(before, after),
                    actor=context.actor,
                    reason=reason or "a source was withdrawn",
                    drafts=facts,
                    refreshed=frozenset(facts),
                ),
            )
            changed += [(facts[fact_id], written.facts[fact_id]) for fact_id in facts]
        return changed


def _validate(source: SourceName) -> None:
    found = Violations()
    if not source.external_id and not source.url:
        found.add("external_id", "must be given, or url")
    elif source.external_id and source.url:
        found.add("url", "must not be given besides external_id")
    found.add("external_id", label_problem(source.external_id, max_length=MAX_URL))
    found.add("url", label_problem(source.url, max_length=MAX_URL))
    found.raise_if_any()


def _withdrawn(assertion: Assertion) -> Assertion:
    state = AssertionState.WITHDRAWN if assertion.state in _TAKEN_BACK else assertion.state
    return replace(assertion, state=state, source_id=None)


def _left_without_support(changed: Sequence[tuple[Fact, Fact]]) -> list[UUID]:
    return [
        after.fact_id
        for before, after in changed
        if after.status is FactStatus.DISPUTED and after.off_timeline and not before.off_timeline
    ]

"""Changing a fact's status by hand: dispute, retract, archive, restore, end, erase."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.conflicts import review
from concord_server.domain.enums import FactChange, FactStatus
from concord_server.domain.errors import EtagMismatchError, FactNotFoundError
from concord_server.domain.model import Fact
from concord_server.domain.settlement import Timeline, settle
from concord_server.domain.status import check_transition
from concord_server.domain.timeline import Assertion, AssertionKind, AssertionState
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.ledger import Ledger, LockedPartition, WriteSession
from concord_server.services import idempotency as repeats
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.locking import lock_fact
from concord_server.services.timeline_writer import TimelineChange, TimelineWriter, text_digest

_WAITING = AssertionState.QUARANTINED
_TAKING_BACK = frozenset({FactStatus.RETRACTED, FactStatus.ARCHIVED, FactStatus.DELETED})


@dataclass(frozen=True, slots=True)
class _Step:
    """A status change in terms of the timeline: the slot with the fact and its assertions changed."""

    timeline: Timeline
    contests_active: bool = False


class UpdateFactStatus:
    """Moves a fact to another status and re-folds what depends on it."""

    def __init__(self, ledger: Ledger, clock: Clock, ids: Ids) -> None:
        self._ledger = ledger
        self._clock = clock
        self._ids = ids
        self._writer = TimelineWriter(ids)

    async def execute(
        self,
        context: CallContext,
        fact_id: UUID,
        status: FactStatus,
        reason: str,
        etag: str = "",
        idempotency: Idempotency[Fact] | None = None,
    ) -> Fact | Replay:
        """Returns the fact as it is afterwards.

        A way back to ACTIVE into an occupied slot gives PENDING with a conflict instead. DELETED erases.

        Raises:
            FactNotFoundError: no such fact.
            EtagMismatchError: the fact changed since the caller read it.
            IllegalStatusTransitionError: the fact cannot go there from where it is.
        """
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        now = self._clock.now()
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            fact = await self._change(session, context, fact_id, status, reason, etag, now)
            await repeats.complete(session, idempotency, fact, [fact_id])
            return fact

    async def _change(
        self,
        session: WriteSession,
        context: CallContext,
        fact_id: UUID,
        status: FactStatus,
        reason: str,
        etag: str,
        now: datetime,
    ) -> Fact:
        locked, fact = await lock_fact(session, fact_id, now)
        check_etag(etag, fact.etag)
        check_transition(fact.status, status)
        before = await session.slots.timeline(fact.slot_id)
        step = self._step(before, fact, status, context, now)
        after = settle(step.timeline, now, self._ids.new)
        changed = next(f for f in step.timeline.facts if f.fact_id == fact_id)
        written = await self._writer.write(
            session,
            locked,
            TimelineChange(
                before=before,
                after=after,
                review=review(before, after, contests_active=step.contests_active),
                actor=context.actor,
                reason=reason,
                conflict_reason=reason or "restored into an occupied slot",
                drafts={fact_id: changed},
                changes={fact_id: _named(status)},
                refreshed=frozenset({fact_id}),
            ),
        )
        result = written.facts[fact_id]
        if status is not FactStatus.DELETED:
            return result
        return await self._erased(session, locked, context, result, reason)

    def _step(
        self, before: Timeline, fact: Fact, status: FactStatus, context: CallContext, now: datetime
    ) -> _Step:
        if status in _TAKING_BACK:
            assertions = _own_states(
                before,
                fact.fact_id,
                {
                    AssertionState.ADMITTED: AssertionState.SUSPENDED,
                    _WAITING: AssertionState.SUSPENDED,
                },
            )
            deleted = now if status is FactStatus.DELETED else fact.delete_time
            return _with_fact(before, replace(fact, status=status, delete_time=deleted), assertions)
        if status is FactStatus.DISPUTED:
            return _with_fact(before, replace(fact, status=status), before.assertions)
        if status is FactStatus.SUPERSEDED:
            return self._end(before, fact, context, now)
        return self._restore(before, fact, context)

    def _end(self, before: Timeline, fact: Fact, context: CallContext, now: datetime) -> _Step:
        """Ends a fact that holds; one that only waits, or is off the timeline, never held."""
        own = [a for a in before.assertions if a.fact_id == fact.fact_id]
        on_timeline = any(a.state is AssertionState.ADMITTED for a in own)
        ended = replace(fact, status=FactStatus.SUPERSEDED)
        if not on_timeline or fact.valid_from >= now:
            states = dict.fromkeys((AssertionState.ADMITTED, _WAITING), AssertionState.OVERRULED)
            states[AssertionState.WITHDRAWN] = AssertionState.OVERRULED
            return _with_fact(before, ended, _own_states(before, fact.fact_id, states))
        end = now if fact.valid_to is None or fact.valid_to > now else fact.valid_to
        amend = self._by_hand(fact, context, AssertionKind.AMEND, end=end)
        return _with_fact(before, ended, (*before.assertions, amend))

    def _restore(self, before: Timeline, fact: Fact, context: CallContext) -> _Step:
        active = before.active()
        occupied = active is not None and active.fact_id != fact.fact_id
        back = _WAITING if occupied else AssertionState.ADMITTED
        assertions = _own_states(
            before,
            fact.fact_id,
            {AssertionState.SUSPENDED: back, AssertionState.ADMITTED: back, _WAITING: back},
        )
        statements = (a for a in assertions if a.kind is not AssertionKind.AMEND)
        if not any(a.fact_id == fact.fact_id and a.state is back for a in statements):
            again = self._by_hand(fact, context, AssertionKind.STATE)
            assertions = (*assertions, replace(again, state=back))
        status = FactStatus.PENDING if occupied else FactStatus.ACTIVE
        restored = replace(fact, status=status, off_timeline=False)
        step = _with_fact(before, restored, assertions)
        return replace(step, contests_active=occupied)

    def _by_hand(
        self, fact: Fact, context: CallContext, kind: AssertionKind, end: datetime | None = None
    ) -> Assertion:
        return Assertion(
            assertion_id=self._ids.new(),
            fact_id=fact.fact_id,
            time=fact.valid_from,
            value_key=fact.value_key,
            value=fact.claim.value if fact.claim else None,
            kind=kind,
            trust=context.trust_cap,
            end=end,
            ends=end is not None,
        )

    async def _erased(
        self, session: WriteSession, locked: LockedPartition, context: CallContext, fact: Fact, reason: str
    ) -> Fact:
        """Erases the words of a fact, and those that it took over from others which said the same."""
        for twin in await session.facts.absorbed(fact.fact_id):
            gone = replace(
                twin,
                status=FactStatus.DELETED,
                delete_time=fact.delete_time,
                version=twin.version + 1,
                update_time=locked.recorded_time,
                partition_revision=locked.revision,
            )
            await session.facts.save(
                gone,
                FactChange.ERASED,
                actor=context.actor,
                reason=reason,
                partition_id=locked.partition_id,
                text_digest=text_digest(gone.text),
            )
            await session.facts.erase(twin.fact_id)
        await session.facts.erase(fact.fact_id)
        erased = await session.facts.get(fact.fact_id)
        if erased is None:
            raise FactNotFoundError(str(fact.fact_id))
        return erased


def check_etag(given: str, current: str) -> None:
    """Checks the etag of a write; an empty one is no check.

    Raises:
        EtagMismatchError: the resource changed since the caller read it.
    """
    if given and given != current:
        raise EtagMismatchError(f"the etag is {current} now, not {given}; read again")


def _named(status: FactStatus) -> FactChange:
    return FactChange.ERASED if status is FactStatus.DELETED else FactChange.STATUS_CHANGED


def _with_fact(before: Timeline, fact: Fact, assertions: tuple[Assertion, ...]) -> _Step:
    facts = tuple(fact if f.fact_id == fact.fact_id else f for f in before.facts)
    return _Step(replace(before, facts=facts, assertions=assertions))


def _own_states(
    before: Timeline, fact_id: UUID, states: dict[AssertionState, AssertionState]
) -> tuple[Assertion, ...]:
    return tuple(
        replace(a, state=states[a.state]) if a.fact_id == fact_id and a.state in states else a
        for a in before.assertions
    )

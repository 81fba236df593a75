"""Where a statement about a slot goes: the outcome of a candidate, the first rule that applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from concord_server.domain.enums import SUPPRESSING_STATUSES, FactStatus, Trust
from concord_server.domain.model import Fact
from concord_server.domain.settlement import Timeline, current_index
from concord_server.domain.timeline import (
    Assertion,
    AssertionKind,
    AssertionState,
    Segment,
    effective,
    fold,
    holding_at,
)
from concord_server.domain.values import Json


class Outcome(StrEnum):
    """What a statement did to its slot."""

    REINFORCED = "REINFORCED"
    SUPERSEDED = "SUPERSEDED"
    CONFLICTED = "CONFLICTED"
    CREATED = "CREATED"
    SUPPRESSED = "SUPPRESSED"
    HISTORICAL = "HISTORICAL"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement about a slot, before it is placed.

    Attributes:
        time: since when it says that the value holds.
        supersede: whether it means to replace another value, rather than to stand beside it for review.
        correct: whether it declares what was said an error (and so wins at the same instant).
        whole: whether an object stands for itself also where it supersedes; nothing is carried forward then.
        new_fact_id: id of the fact that it becomes, should it become one.
    """

    assertion_id: UUID
    new_fact_id: UUID
    time: datetime
    value_key: str
    value: Json = None
    supersede: bool = True
    correct: bool = False
    whole: bool = False
    trust: Trust = Trust.TRUSTED
    end: datetime | None = None
    ends: bool = False

    def assertion(self, fact_id: UUID, state: AssertionState) -> Assertion:
        """Returns the assertion that records the statement in support of ``fact_id``."""
        kind = AssertionKind.STATE
        if self.correct:
            kind = AssertionKind.CORRECT
        elif self.supersede and not self.whole and isinstance(self.value, dict):
            kind = AssertionKind.PATCH
        return Assertion(
            assertion_id=self.assertion_id,
            fact_id=fact_id,
            time=self.time,
            value_key=self.value_key,
            value=self.value,
            kind=kind,
            trust=self.trust,
            state=state,
            end=self.end,
            ends=self.ends,
        )


@dataclass(frozen=True, slots=True)
class Placing:
    """Outcome of :func:`place`.

    Attributes:
        fact_id: the fact that the statement supports now; new when ``is_new``.
        met_fact_id: the fact that it corroborates, replaces or disputes, if any.
        assertions: those of the slot, with the statement's own and with changed states.
        previous_fact_id, next_fact_id: its neighbours in time, for HISTORICAL.
        contests_active: whether a challenge is to the fact that holds now.
        reason: one line for people.
    """

    outcome: Outcome
    fact_id: UUID
    is_new: bool
    assertions: tuple[Assertion, ...]
    met_fact_id: UUID | None = None
    previous_fact_id: UUID | None = None
    next_fact_id: UUID | None = None
    contests_active: bool = False
    reason: str = ""


def place(timeline: Timeline, statement: Statement, now: datetime) -> Placing:
    """Decides the outcome of a statement about a slot that may hold one value at a time.

    The rules, the first that applies (their numbers are those of the semantics, §4): 3 suppressed, 4 reinforced,
    5 a waiting challenger's value, 6 conflict by trust or instant, 7 late history, 8 supersede, 9 conflict,
    10 created.
    """
    return _Placer(timeline, statement, now).place()


def challenge(timeline: Timeline, statement: Statement, now: datetime, reason: str) -> Placing:
    """Puts a statement beside what holds, for review, whatever the rules would say."""
    return _Placer(timeline, statement, now).challenge(reason)


class _Placer:
    """One use of :func:`place`: the snapshot in the terms that its rules speak of."""

    def __init__(self, timeline: Timeline, statement: Statement, now: datetime) -> None:
        self.timeline = timeline
        self.statement = statement
        self.segments = fold(timeline.assertions)
        self.holding = holding_at(self.segments, statement.time)
        proposed = statement.assertion(statement.new_fact_id, AssertionState.ADMITTED)
        self.key, _ = effective(proposed, self.holding.value if self.holding is not None else None)
        index = current_index(self.segments, now)
        self.current = self.segments[index] if index >= 0 else None
        self.owners = _owners(self.segments)

    def place(self) -> Placing:
        rules = (
            self._suppressed,
            self._reinforced,
            self._disputed_twin,
            self._waiting_challenger,
            self._conflict_by_trust_or_instant,
            self._historical,
            self._against_what_holds,
        )
        for rule in rules:
            placing = rule()
            if placing is not None:
                return placing
        return self._new(Outcome.CREATED, reason="nothing held there")

    def _suppressed(self) -> Placing | None:
        if self._equal(self.holding):
            return None
        fact = self._fact_of_value(lambda f: f.status in SUPPRESSING_STATUSES)
        if fact is None:
            return None
        return self._attach(
            Outcome.SUPPRESSED,
            fact.fact_id,
            AssertionState.SUSPENDED,
            f"the same was {fact.status.value.lower()} before",
        )

    def _reinforced(self) -> Placing | None:
        if self.holding is not None and self._equal(self.holding):
            return self._attach(
                Outcome.REINFORCED,
                self.owners[id(self.holding)],
                AssertionState.ADMITTED,
                "the same value holds",
            )
        ended = next((s for s in self.segments if s.end == self.statement.time and self._equal(s)), None)
        if ended is not None and self.holding is None:
            return self._attach(
                Outcome.REINFORCED,
                self.owners[id(ended)],
                AssertionState.ADMITTED,
                "the same value goes on where it had ended",
            )
        following = self._next_segment()
        if following is None or not self._equal(following) or self._forbidden():
            return None
        return self._attach(
            Outcome.REINFORCED,
            self.owners[id(following)],
            AssertionState.ADMITTED,
            "the same value holds next; it now begins earlier",
        )

    def _disputed_twin(self) -> Placing | None:
        fact = self._fact_of_value(lambda f: f.off_timeline)
        if fact is None:
            return None
        return self._attach(
            Outcome.REINFORCED, fact.fact_id, AssertionState.QUARANTINED, "the same is known and disputed"
        )

    def _waiting_challenger(self) -> Placing | None:
        waiting = _waiting(self.timeline)
        fact = self._fact_of_value(lambda f: f.fact_id in waiting)
        if fact is None:
            return None
        if not self._activates():
            return self._attach(
                Outcome.REINFORCED,
                fact.fact_id,
                AssertionState.QUARANTINED,
                "the same value waits for review",
            )
        admitted = self.statement.assertion(fact.fact_id, AssertionState.ADMITTED)
        placing = self._attach(
            Outcome.SUPERSEDED,
            _touched((*self.timeline.assertions, admitted), admitted) or fact.fact_id,
            AssertionState.ADMITTED,
            "a trusted statement of a waiting value",
            trust=max(self.statement.trust, fact.trust),
        )
        met = self.owners[id(self.current)] if self.current is not None else None
        return replace(placing, met_fact_id=met, assertions=_release(placing.assertions, fact.fact_id))

    def _activates(self) -> bool:
        """Whether the statement lets a waiting challenger replace the incumbent, if there is one."""
        if not self.statement.supersede or self._forbidden():
            return False
        incumbent = self.current
        if incumbent is None or self._disputed(self.owners[id(incumbent)]):
            return True
        return self.statement.trust >= incumbent.trust and self.statement.time > incumbent.newest_time

    def _conflict_by_trust_or_instant(self) -> Placing | None:
        problem = self._forbidden()
        return self.challenge(problem) if problem else None

    def _historical(self) -> Placing | None:
        if self.current is None or self.statement.time >= self.current.newest_time:
            return None
        earlier = [s for s in self.segments if s.start < self.statement.time]
        later = [s for s in self.segments if s.newest_time > self.statement.time]
        split = [s for s in earlier if s in later]
        following = next((s for s in later if s not in split), None)
        placing = self._new(Outcome.HISTORICAL, reason="what holds now was stated later", met=self.current)
        if not placing.is_new:
            return placing
        return replace(
            placing,
            previous_fact_id=self.owners[id(earlier[-1])] if earlier else None,
            next_fact_id=self.owners[id(following)] if following and not split else None,
        )

    def _against_what_holds(self) -> Placing | None:
        if self.holding is None:
            return None
        if self._disputed(self.owners[id(self.holding)]):
            outcome = Outcome.SUPERSEDED if self.statement.supersede else Outcome.CREATED
            return self._new(outcome, reason="what held was disputed", met=self.holding)
        if not self.statement.supersede:
            return self.challenge("another value holds")
        return self._new(Outcome.SUPERSEDED, reason="newer by its time", met=self.holding)

    def _forbidden(self) -> str | None:
        """Returns why the statement must not end or shorten what holds at its time, or ``None``."""
        if not self.statement.correct and any(self._stands_at_instant(segment) for segment in self.segments):
            return "another value was stated for the same instant"
        holding = self.holding
        if holding is None or self._equal(holding) or self._disputed(self.owners[id(holding)]):
            return None
        higher = any(a.trust > self.statement.trust and a.time <= self.statement.time for a in holding.assertions)
        return "it would end what a higher trust said" if higher else None

    def _stands_at_instant(self, segment: Segment) -> bool:
        """Whether another value was stated for the statement's instant; a disputed one stands if it corrects."""
        disputed = self._disputed(self.owners[id(segment)])
        return not self._equal(segment) and any(
            a.time == self.statement.time and (a.kind is AssertionKind.CORRECT or not disputed)
            for a in segment.statements
        )

    def _equal(self, segment: Segment | None) -> bool:
        return segment is not None and segment.value_key == self.key

    def _disputed(self, fact_id: UUID) -> bool:
        fact = self.timeline.fact(fact_id)
        return fact is not None and fact.status is FactStatus.DISPUTED

    def _fact_of_value(self, where: Callable[[Fact], bool]) -> Fact | None:
        matching = [f for f in self.timeline.facts if f.value_key == self.key and where(f)]
        return max(matching, key=lambda f: (f.create_time, f.fact_id), default=None)

    def _next_segment(self) -> Segment | None:
        """Returns the segment that the next statement on the timeline opens, if the two can touch."""
        time, end = self.statement.time, self.statement.end
        segment = next((s for s in self.segments if s.newest_time > time), None)
        if segment is None or segment.start <= time or (end is not None and end < segment.start):
            return None
        return segment

    def _attach(
        self,
        outcome: Outcome,
        fact_id: UUID,
        state: AssertionState,
        reason: str,
        *,
        trust: Trust | None = None,
    ) -> Placing:
        """Places the statement in support of a known fact, with a higher ``trust`` than its own where given."""
        assertion = self.statement.assertion(fact_id, state)
        if trust is not None:
            assertion = replace(assertion, trust=trust)
        assertions = (*self.timeline.assertions, assertion)
        return Placing(outcome, fact_id, False, assertions, met_fact_id=fact_id, reason=reason)

    def _new(self, outcome: Outcome, *, reason: str, met: Segment | None = None) -> Placing:
        """Places the statement as a fact of its own, unless that would only lengthen one of the same value."""
        fact_id = self.statement.new_fact_id
        assertion = self.statement.assertion(fact_id, AssertionState.ADMITTED)
        assertions = (*self.timeline.assertions, assertion)
        touched = _touched(assertions, assertion)
        if touched is not None:
            return self._attach(
                Outcome.REINFORCED, touched, AssertionState.ADMITTED, "the same value holds right before or after"
            )
        met_fact_id = self.owners[id(met)] if met is not None else None
        return Placing(outcome, fact_id, True, assertions, met_fact_id=met_fact_id, reason=reason)

    def challenge(self, reason: str) -> Placing:
        fact_id = self.statement.new_fact_id
        assertion = self.statement.assertion(fact_id, AssertionState.QUARANTINED)
        contested = self.holding or self.current
        active = self.timeline.active()
        met = self.owners[id(contested)] if contested is not None else None
        return Placing(
            Outcome.CONFLICTED,
            fact_id,
            True,
            (*self.timeline.assertions, assertion),
            met_fact_id=met,
            contests_active=active is not None and met == active.fact_id,
            reason=reason,
        )


def _owners(segments: Sequence[Segment]) -> dict[int, UUID]:
    """Returns, by identity of the segment, the fact that stands for it."""
    taken: set[UUID] = set()
    owners: dict[int, UUID] = {}
    for segment in segments:
        free = (a.fact_id for a in segment.assertions if a.fact_id not in taken)
        owners[id(segment)] = next(free, segment.assertions[0].fact_id)
        taken.add(owners[id(segment)])
    return owners


def _touched(assertions: Sequence[Assertion], own: Assertion) -> UUID | None:
    """Returns the fact whose segment would take in the assertion, ``None`` if it gets one of its own."""
    segments = fold(assertions)
    owners = _owners(segments)
    segment = next((s for s in segments if own in s.assertions), None)
    if segment is None:
        return None
    elsewhere = {owners[id(s)] for s in segments if s is not segment}
    return next((a.fact_id for a in segment.assertions if a is not own and a.fact_id not in elsewhere), None)


def _waiting(timeline: Timeline) -> frozenset[UUID]:
    """Returns the facts that wait in a conflict as challengers."""
    return frozenset(a.fact_id for a in timeline.assertions if a.state is AssertionState.QUARANTINED) & frozenset(
        f.fact_id for f in timeline.facts if f.status is FactStatus.PENDING
    )


def _release(assertions: tuple[Assertion, ...], fact_id: UUID) -> tuple[Assertion, ...]:
    """Ends the waiting of a challenger: what it said before stays support, and places nothing."""
    return tuple(
        replace(a, state=AssertionState.OVERRULED)
        if a.fact_id == fact_id and a.state is AssertionState.QUARANTINED
        else a
        for a in assertions
    )

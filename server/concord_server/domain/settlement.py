"""What a timeline means for its facts: which fact stands for which segment, with which status and bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from concord_server.domain.enums import FactStatus, Trust
from concord_server.domain.model import Fact
from concord_server.domain.timeline import (
    Assertion,
    AssertionKind,
    AssertionState,
    Segment,
    effective,
    fold,
    holding_at,
    last_reinforce_time,
)
from concord_server.domain.values import Json

SCHEDULE_TOLERANCE = timedelta(minutes=5)
"""How far ahead of now a statement may start and still hold at once."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A slot with everything on it: the snapshot that decisions about it are made from.

    Attributes:
        facts: every fact of the slot, whatever its status, except erased ones.
        assertions: every assertion of the slot, in any order.
        conflict_id: its open conflict, if any.
    """

    slot_id: UUID
    facts: tuple[Fact, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    conflict_id: UUID | None = None

    def fact(self, fact_id: UUID) -> Fact | None:
        """Returns the fact of that id, if it is on this slot."""
        return next((fact for fact in self.facts if fact.fact_id == fact_id), None)

    def active(self) -> Fact | None:
        """Returns the fact that holds now, if any."""
        return next((fact for fact in self.facts if fact.status is FactStatus.ACTIVE), None)

    def with_states(self, state: AssertionState, where: Callable[[Assertion], bool]) -> tuple[Assertion, ...]:
        """Returns the assertions with ``state`` given to those that ``where`` selects."""
        return tuple(replace(a, state=state) if where(a) else a for a in self.assertions)


@dataclass(frozen=True, slots=True)
class FactState:
    """The part of a fact that follows from its timeline.

    Attributes:
        value: the claim's value; ``None`` on lines without claims.
        split_from: for a fact that the fold made: the one whose later part it is.
        joined_into: for a fact that lost its segment to another of the same value: that one.
    """

    fact_id: UUID
    status: FactStatus
    valid_from: datetime
    valid_to: datetime | None
    value_key: str
    value: Json
    trust: Trust
    reinforcement_count: int
    last_reinforce_time: datetime
    off_timeline: bool = False
    split_from: UUID | None = None
    joined_into: UUID | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """Outcome of :func:`settle`.

    Attributes:
        states: one per fact that the assertions are about, and one per fact that came to be. A fact that lost all
            its assertions to another one stays as that settlement left it.
        assertions: all of them, each with the fact that it supports now.
        segments: the folded timeline.
    """

    states: tuple[FactState, ...]
    assertions: tuple[Assertion, ...]
    segments: tuple[Segment, ...] = ()
    by_fact: dict[UUID, FactState] = field(default_factory=dict)

    def state(self, fact_id: UUID) -> FactState:
        """Returns the state of one fact."""
        return self.by_fact[fact_id]


def settle(timeline: Timeline, now: datetime, new_id: Callable[[], UUID]) -> Settlement:
    """Folds a timeline and says what every fact on it is.

    The segment that holds now (or the last one that did) is ACTIVE, earlier ones SUPERSEDED, ones that start
    later PENDING until then; what was disputed or ended by hand stays so. A fact keeps its id: a segment is that
    of the earliest of its assertions whose fact has no earlier segment; the later part of a split segment is a
    new fact.

    Args:
        timeline: the slot, with assertions already added or changed.
        now: the current time.
        new_id: makes ids for facts that come to be by a split.
    """
    segments = fold(timeline.assertions)
    current = current_index(segments, now)
    states: dict[UUID, FactState] = {}
    moved: dict[UUID, UUID] = {}
    for index, segment in enumerate(segments):
        owner = next((a.fact_id for a in segment.assertions if a.fact_id not in states), None)
        split_from = None
        if owner is None:
            owner, split_from = new_id(), segment.assertions[0].fact_id
        moved.update({a.assertion_id: owner for a in segment.assertions if a.fact_id != owner})
        status = _status_at(index, current)
        origin = timeline.fact(split_from or owner)
        if _stays_disputed(timeline, segment, origin):
            status = FactStatus.DISPUTED
        elif status is FactStatus.ACTIVE and _ended_by_hand(origin, segment, now):
            status = FactStatus.SUPERSEDED
        states[owner] = _placed(owner, segment, status, split_from)
    assertions = tuple(
        replace(a, fact_id=moved[a.assertion_id]) if a.assertion_id in moved else a for a in timeline.assertions
    )
    for fact_id, own in _by_fact(timeline.assertions).items():
        fact = timeline.fact(fact_id)
        if fact_id not in states and (fact is not None or _takes_part(own)):
            left = [a for a in own if a.assertion_id not in moved]
            joined = next((moved[a.assertion_id] for a in own if a.assertion_id in moved), None)
            states[fact_id] = replace(_unplaced(timeline, fact_id, left or own, segments), joined_into=joined)
    return Settlement(tuple(states.values()), assertions, segments, states)


def current_index(segments: Sequence[Segment], now: datetime) -> int:
    """Returns the position of the last segment that has started, -1 when none has."""
    limit = now + SCHEDULE_TOLERANCE
    return max((i for i, segment in enumerate(segments) if segment.start <= limit), default=-1)


def _status_at(index: int, current: int) -> FactStatus:
    if index == current:
        return FactStatus.ACTIVE
    return FactStatus.SUPERSEDED if index < current else FactStatus.PENDING


def _stays_disputed(timeline: Timeline, segment: Segment, origin: Fact | None) -> bool:
    """Whether a segment is of a disputed fact, or took in what a disputed one said.

    A disputed patch that restates nothing of a later value says another thing there than what was disputed.
    """
    if origin is not None and origin.status is FactStatus.DISPUTED:
        return True
    supported = (timeline.fact(a.fact_id) for a in segment.assertions)
    return any(
        f is not None and f.status is FactStatus.DISPUTED and f.value_key == segment.value_key for f in supported
    )


def _ended_by_hand(origin: Fact | None, segment: Segment, now: datetime) -> bool:
    """Whether a caller made ``origin`` SUPERSEDED by ending it, rather than another value that is gone now."""
    over = segment.end is not None and segment.end <= now
    return over and segment.amended and origin is not None and origin.status is FactStatus.SUPERSEDED


def _placed(fact_id: UUID, segment: Segment, status: FactStatus, split_from: UUID | None) -> FactState:
    return FactState(
        fact_id=fact_id,
        status=status,
        valid_from=segment.start,
        valid_to=segment.end,
        value_key=segment.value_key,
        value=segment.value,
        trust=segment.trust,
        reinforcement_count=_reinforcements(segment.assertions),
        last_reinforce_time=segment.last_reinforce_time,
        split_from=split_from,
    )


def _unplaced(
    timeline: Timeline, fact_id: UUID, own: Sequence[Assertion], segments: Sequence[Segment]
) -> FactState:
    """Returns the state of a fact that has no segment: it waits, was taken back, or never held."""
    fact = timeline.fact(fact_id)
    found = {assertion.state for assertion in own}
    status, off_timeline, never_held = _unplaced_status(fact, found)
    waiting = [a for a in own if a.state is AssertionState.QUARANTINED]
    first = (waiting or own)[0]
    valid_from = fact.valid_from if fact else first.time
    valid_to = fact.valid_to if fact else first.stated_end
    key, value = first.value_key, first.value
    if status is FactStatus.PENDING:
        holding = holding_at(segments, first.time)
        key, value = effective(first, holding.value if holding else None)
        valid_from, valid_to = _waiting_bounds(timeline, fact_id, key) or (valid_from, valid_to)
    elif fact is not None:
        key, value = fact.value_key, fact.claim.value if fact.claim else None
    return FactState(
        fact_id=fact_id,
        status=status,
        valid_from=valid_from,
        valid_to=valid_from if never_held else valid_to,
        value_key=key,
        value=value,
        trust=max(a.trust for a in own),
        reinforcement_count=_reinforcements(waiting or own),
        last_reinforce_time=last_reinforce_time(waiting or own),
        off_timeline=off_timeline,
    )


def _waiting_bounds(timeline: Timeline, fact_id: UUID, key: str) -> tuple[datetime, datetime | None] | None:
    """Returns from when until when a challenger would hold by its own statements, if it ever would."""
    alone = fold(
        replace(
            a,
            state=AssertionState.ADMITTED,
            kind=AssertionKind.STATE if a.kind is AssertionKind.PATCH else a.kind,
            value_key=key,
        )
        for a in timeline.assertions
        if a.fact_id == fact_id and a.state is AssertionState.QUARANTINED
    )
    return (alone[0].start, alone[0].end) if alone else None


def _unplaced_status(fact: Fact | None, found: set[AssertionState]) -> tuple[FactStatus, bool, bool]:
    """Returns status, whether it is off the timeline, and whether it never held."""
    if fact is not None and fact.status in _OUT_OF_PLAY:
        return fact.status, False, False
    if AssertionState.QUARANTINED in found:
        if fact is not None and fact.status is FactStatus.DISPUTED:
            return FactStatus.DISPUTED, True, False
        return FactStatus.PENDING, False, False
    if found & {AssertionState.ADMITTED, AssertionState.OVERRULED}:
        return FactStatus.SUPERSEDED, False, True
    return FactStatus.DISPUTED, True, False


_OUT_OF_PLAY = frozenset({FactStatus.RETRACTED, FactStatus.ARCHIVED, FactStatus.DELETED})


def _by_fact(assertions: Sequence[Assertion]) -> dict[UUID, list[Assertion]]:
    """Returns the statements about each fact, in order; amendments support nothing."""
    grouped: dict[UUID, list[Assertion]] = {}
    for assertion in sorted(assertions, key=lambda a: a.order):
        if assertion.kind is not AssertionKind.AMEND:
            grouped.setdefault(assertion.fact_id, []).append(assertion)
    return grouped


def _takes_part(own: Sequence[Assertion]) -> bool:
    """Whether an unknown fact is a new one, and not one that was erased."""
    return any(a.state in {AssertionState.ADMITTED, AssertionState.QUARANTINED} for a in own)


def _reinforcements(assertions: Sequence[Assertion]) -> int:
    return max(sum(a.kind is not AssertionKind.AMEND for a in assertions) - 1, 0)

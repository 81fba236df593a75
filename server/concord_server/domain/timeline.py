"""The timeline of a slot as a fold over its assertions.

A slot (or, for statements without a claim, a line of contradictions) keeps every accepted statement as an
:class:`Assertion`. Which value held when is never edited in place: it is folded anew from the admitted
assertions in (time, id) order. So superseding statements give the same timeline in whatever order they arrive,
and taking one away equals never having had it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from concord_server.domain.enums import Trust
from concord_server.domain.values import Json, carry_forward, value_key


class AssertionKind(StrEnum):
    """What a statement does to the timeline."""

    STATE = "STATE"
    """States the value as a whole."""
    PATCH = "PATCH"
    """Supersedes, carrying forward the keys of an object that it does not restate."""
    CORRECT = "CORRECT"
    """Declares what was said before an error; wins over others of the same instant."""
    AMEND = "AMEND"
    """A caller's decision about the bounds of a fact."""


class AssertionState(StrEnum):
    """Whether an assertion takes part in the fold."""

    ADMITTED = "ADMITTED"
    """Takes part."""
    QUARANTINED = "QUARANTINED"
    """Waits in a conflict."""
    SUSPENDED = "SUSPENDED"
    """Its fact was retracted, archived or erased; restoring the fact admits it again."""
    WITHDRAWN = "WITHDRAWN"
    """Its source was withdrawn; it never comes back."""
    OVERRULED = "OVERRULED"
    """A person decided against it; it never comes back."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """One accepted statement about a slot.

    Attributes:
        assertion_id: UUIDv7; breaks ties of time.
        fact_id: the fact it supports.
        time: since when the value holds.
        end: until when, where the statement says so (``ends`` is true then).
        ends: whether ``end`` counts; an AMEND with ``end=None`` reopens an interval.
        value_key: digest of the value that it states, for a PATCH of the value as stated.
        value: the value or patch; ``None`` with ``value_key`` alone on lines without claims.
    """

    assertion_id: UUID
    fact_id: UUID
    time: datetime
    value_key: str
    value: Json = None
    kind: AssertionKind = AssertionKind.STATE
    trust: Trust = Trust.TRUSTED
    state: AssertionState = AssertionState.ADMITTED
    end: datetime | None = None
    ends: bool = False
    source_id: UUID | None = None

    @property
    def order(self) -> tuple[datetime, bool, UUID]:
        """Position in the fold; a correction comes after other statements of its instant."""
        return (self.time, self.kind is AssertionKind.CORRECT, self.assertion_id)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of time in which one value holds.

    Attributes:
        start: closed; ``end``: open, ``None`` while nothing ends it.
        closed_by_successor: whether another value ended it, rather than its own stated end.
        assertions: those that support it, in order; the first one opened it.
    """

    value_key: str
    value: Json
    start: datetime
    end: datetime | None
    assertions: tuple[Assertion, ...]
    closed_by_successor: bool = False

    @property
    def trust(self) -> Trust:
        """The highest trust among its assertions."""
        return max(assertion.trust for assertion in self.assertions)

    @property
    def newest_time(self) -> datetime:
        """Time of its newest assertion."""
        return self.assertions[-1].time

    @property
    def last_reinforce_time(self) -> datetime:
        """Time of the newest assertion whose trust reaches that of all before it: lower trust moves no clock."""
        highest, newest = self.assertions[0].trust, self.assertions[0].time
        for assertion in self.assertions[1:]:
            if assertion.trust >= highest:
                highest, newest = assertion.trust, assertion.time
        return newest

    def holds_at(self, moment: datetime) -> bool:
        """Whether the value holds at ``moment``."""
        return self.start <= moment and (self.end is None or moment < self.end)


@dataclass(slots=True)
class _Open:
    """A segment under construction."""

    value_key: str
    value: Json
    start: datetime
    end: datetime | None
    assertions: list[Assertion]

    def close(self, at: datetime) -> Segment | None:
        """Returns the finished segment ended by a successor at ``at``; ``None`` when it never held."""
        if at <= self.start:
            return None
        by_successor = self.end is None or at <= self.end
        end = at if by_successor else self.end
        return Segment(self.value_key, self.value, self.start, end, tuple(self.assertions), by_successor)

    def finish(self) -> Segment:
        """Returns the finished segment that nothing succeeds."""
        return Segment(self.value_key, self.value, self.start, self.end, tuple(self.assertions))


def fold(assertions: Iterable[Assertion]) -> tuple[Segment, ...]:
    """Folds the admitted assertions into the segments of a timeline, in order of time.

    Segments never overlap and never invert; one that would never hold (another value at the same instant) is
    absent. Neighbouring statements of one value are one segment, unless a stated end lies between them.
    """
    segments: list[Segment] = []
    current: _Open | None = None
    for assertion in sorted(admitted(assertions), key=lambda a: a.order):
        key, value = _effective(assertion, current, segments)
        continues = current is not None and key == current.value_key
        if current is not None and continues and (current.end is None or assertion.time <= current.end):
            current.assertions.append(assertion)
            if assertion.ends or assertion.time == current.end:
                current.end = assertion.end
            continue
        if current is not None:
            closed = current.close(assertion.time)
            if closed is not None:
                segments.append(closed)
        current = _Open(key, value, assertion.time, assertion.end if assertion.ends else None, [assertion])
    if current is not None:
        segments.append(current.finish())
    return tuple(_join(segments))


def admitted(assertions: Iterable[Assertion]) -> list[Assertion]:
    """Returns the assertions that take part in the fold."""
    return [a for a in assertions if a.state is AssertionState.ADMITTED]


def holding_at(segments: Sequence[Segment], moment: datetime) -> Segment | None:
    """Returns the segment that holds at ``moment``, if any."""
    return next((segment for segment in segments if segment.holds_at(moment)), None)


def _effective(assertion: Assertion, current: _Open | None, segments: Sequence[Segment]) -> tuple[str, Json]:
    """Returns the value that holds after the assertion: a patch carries forward what it does not restate."""
    if assertion.kind is not AssertionKind.PATCH or not isinstance(assertion.value, dict):
        return assertion.value_key, assertion.value
    if current is not None and current.start == assertion.time and segments:
        previous: Json = segments[-1].value
    else:
        previous = current.value if current is not None else None
    value = carry_forward(previous, assertion.value)
    return value_key(value), value


def _join(segments: list[Segment]) -> list[Segment]:
    """Joins neighbours of one value that touch, which closing a segment that never held can leave."""
    joined: list[Segment] = []
    for segment in segments:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.closed_by_successor
            and last.value_key == segment.value_key
            and last.end == segment.start
        ):
            joined[-1] = Segment(
                segment.value_key,
                segment.value,
                last.start,
                segment.end,
                last.assertions + segment.assertions,
                segment.closed_by_successor,
            )
        else:
            joined.append(segment)
    return joined

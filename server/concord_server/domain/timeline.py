"""The timeline of a slot as a fold over its assertions.

A slot (or, for statements without a claim, a line of contradictions) keeps every accepted statement as an
:class:`Assertion`. Which value held when is never edited in place: it is folded anew from the admitted
assertions in (time, id) order. So superseding statements give the same timeline in whatever order they arrive,
and taking one away equals never having had it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
    """A caller's decision about the bounds of a fact; supports nothing by itself."""


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
        ends: whether ``end`` counts; an AMEND with ``end=None`` reopens an interval. An AMEND follows the last
            statement of its fact before the end that it sets, wherever the fold puts that.
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
    def order(self) -> tuple[datetime, int, UUID]:
        """Position in the fold; a correction comes after other statements of its instant."""
        return (self.time, _RANK_IN_INSTANT.get(self.kind, 0), self.assertion_id)

    @property
    def authority(self) -> Trust:
        """Trust that counts for where an interval ends: what a caller decided outranks what was stated."""
        return max(Trust) if self.kind is AssertionKind.AMEND else self.trust

    @property
    def stated_end(self) -> datetime | None:
        """Until when the value holds by this statement, ``None`` where it does not say."""
        return self.end if self.ends else None


_RANK_IN_INSTANT = {AssertionKind.CORRECT: 1, AssertionKind.AMEND: 2}


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
        """The highest trust among its statements."""
        return max(statement.trust for statement in self.statements)

    @property
    def statements(self) -> tuple[Assertion, ...]:
        """Its assertions without amendments, in order; never empty."""
        return tuple(a for a in self.assertions if a.kind is not AssertionKind.AMEND)

    @property
    def amended(self) -> bool:
        """Whether a caller decided about its bounds."""
        return any(a.kind is AssertionKind.AMEND for a in self.assertions)

    @property
    def newest_time(self) -> datetime:
        """Time of its newest statement."""
        return self.statements[-1].time

    @property
    def last_reinforce_time(self) -> datetime:
        """Time of the newest statement whose trust reaches that of all before it."""
        return last_reinforce_time(self.statements)

    def holds_at(self, moment: datetime) -> bool:
        """Whether the value holds at ``moment``."""
        return self.start <= moment and (self.end is None or moment < self.end)


@dataclass(slots=True)
class _Open:
    """A segment under construction; ``authority`` is the highest of its assertions."""

    value_key: str
    value: Json
    start: datetime
    end: datetime | None
    authority: Trust
    assertions: list[Assertion]

    def holds_at(self, moment: datetime) -> bool:
        """Whether the value holds at ``moment``, which is not before its newest assertion."""
        return self.end is None or moment < self.end

    def supports(self, fact_id: UUID) -> bool:
        """Whether one of its assertions is of the fact."""
        return any(assertion.fact_id == fact_id for assertion in self.assertions)

    def extend(self, assertion: Assertion) -> None:
        """Adds an assertion of its value; lower trust does not end what higher trust said."""
        authority = assertion.authority
        goes_on = assertion.time == self.end != self.start
        if goes_on or authority > self.authority or (assertion.ends and authority == self.authority):
            self.end = assertion.stated_end
        self.authority = max(authority, self.authority)
        self.assertions.append(assertion)

    def close(self, at: datetime | None) -> Segment | None:
        """Returns the finished segment, ended by a successor at ``at`` if any; ``None`` when it never held.

        What by its own words began and ended at one instant, as an occurrence may, did happen.
        """
        by_successor = at is not None and (self.end is None or at <= self.end)
        end = at if by_successor else self.end
        if end is not None and (end < self.start or (by_successor and end == self.start)):
            return None
        return Segment(self.value_key, self.value, self.start, end, tuple(self.assertions), by_successor)


def fold(assertions: Iterable[Assertion]) -> tuple[Segment, ...]:
    """Folds the admitted assertions into the segments of a timeline, in order of time.

    Segments never overlap and never invert; one that would never hold (another value at the same instant) is
    absent. Neighbouring statements of one value are one segment, unless a stated end lies between them.
    """
    closed: list[Segment | None] = []
    current: _Open | None = None
    for assertion in _in_order(assertions):
        if assertion.kind is AssertionKind.AMEND:
            if current is not None and current.supports(assertion.fact_id):
                current.extend(assertion)
            continue
        holds = current is not None and current.holds_at(assertion.time)
        key, value = effective(assertion, current.value if current is not None and holds else None)
        if current is not None and key == current.value_key and (holds or assertion.time == current.end):
            current.extend(assertion)
            continue
        if current is not None:
            closed.append(current.close(assertion.time))
        current = _Open(key, value, assertion.time, assertion.stated_end, assertion.authority, [assertion])
    if current is not None:
        closed.append(current.close(None))
    return tuple(_join([segment for segment in closed if segment is not None]))


def effective(assertion: Assertion, previous: Json) -> tuple[str, Json]:
    """Returns the value that holds after an assertion, with its digest.

    A patch carries forward what it does not restate; everything else states its value as a whole.

    Args:
        previous: the value that holds at the assertion's time without it, ``None`` if none does.
    """
    if assertion.kind is not AssertionKind.PATCH or not isinstance(assertion.value, dict):
        return assertion.value_key, assertion.value
    value = carry_forward(previous, assertion.value)
    return value_key(value), value


def last_reinforce_time(statements: Sequence[Assertion]) -> datetime:
    """Returns the time of the newest statement whose trust reaches that of all before it.

    So lower trust moves no clock.

    Args:
        statements: in order; at least one.
    """
    highest, newest = statements[0].trust, statements[0].time
    for statement in statements[1:]:
        if statement.trust >= highest:
            highest, newest = statement.trust, statement.time
    return newest


def admitted(assertions: Iterable[Assertion]) -> list[Assertion]:
    """Returns the assertions that take part in the fold."""
    return [a for a in assertions if a.state is AssertionState.ADMITTED]


def holding_at(segments: Sequence[Segment], moment: datetime) -> Segment | None:
    """Returns the segment that holds at ``moment``, if any."""
    return next((segment for segment in segments if segment.holds_at(moment)), None)


def _in_order(assertions: Iterable[Assertion]) -> list[Assertion]:
    """Returns the assertions that take part, in order; amendments without a statement to follow are left out."""
    taking_part = admitted(assertions)
    times: dict[UUID, list[datetime]] = {}
    for assertion in taking_part:
        if assertion.kind is not AssertionKind.AMEND:
            times.setdefault(assertion.fact_id, []).append(assertion.time)
    placed = []
    for assertion in taking_part:
        time, rank, assertion_id = assertion.order
        if assertion.kind is AssertionKind.AMEND:
            own = [t for t in times.get(assertion.fact_id, ()) if _begins_before(t, assertion)]
            if not own:
                continue
            time = max(own)
        placed.append(((time, rank, assertion_id), assertion))
    return [assertion for _, assertion in sorted(placed, key=lambda pair: pair[0])]


def _begins_before(time: datetime, amendment: Assertion) -> bool:
    """Whether a statement at ``time`` is one that an amendment ends; one of an instant ends when it begins."""
    at_instant = amendment.time == amendment.end == time
    return amendment.end is None or time < amendment.end or at_instant


def _join(segments: list[Segment]) -> list[Segment]:
    """Joins neighbours of one value that touch, which closing a segment that never held can leave."""
    joined: list[Segment] = []
    for segment in segments:
        last = joined[-1] if joined else None
        if last is not None and last.value_key == segment.value_key and last.end == segment.start:
            assertions = last.assertions + segment.assertions
            joined[-1] = replace(segment, start=last.start, assertions=assertions)
        else:
            joined.append(segment)
    return joined

"""What becomes of two timelines when the entities that they are about turn out to be one.

The timeline of the entity that stays is not rewritten: nobody reviewed that. What the other one says joins it where
the two agree or do not meet; where both say something about now, the other's becomes a challenger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.settlement import Timeline
from concord_server.domain.timeline import (
    Assertion,
    AssertionKind,
    AssertionState,
    Segment,
    fold,
    holding_at,
)


@dataclass(frozen=True, slots=True)
class JoinedTimeline:
    """Outcome of :func:`join`.

    Attributes:
        timeline: the staying one with the facts and assertions of both.
        contested: whether a value of the other one now challenges what holds.
    """

    timeline: Timeline
    contested: bool


def join(staying: Timeline, moving: Timeline, now: datetime) -> JoinedTimeline:
    """Joins a timeline into another one about the same slot.

    For each stretch of time in which a value held on the moving timeline, the first that applies:

    1. Nothing else held meanwhile: its statements count. Equal values become one stretch.
    2. It is over: it is overruled, and its facts remain as history that the timeline does not vouch for.
    3. The staying timeline says the same of now: its statements support that.
    4. The staying timeline says nothing of now: it counts from the end of what held meanwhile.
    5. Another value holds: it waits for review.

    A different value that only begins later, after now and after the stretch itself, will follow it in its time.

    Args:
        staying: stays as it is, whatever joins it.
        moving: its facts already as they are to be; its open conflict must be resolved by the caller.
        now: the current time.
    """
    established = fold(staying.assertions)
    segments = fold(moving.assertions)
    placed: dict[UUID, Assertion] = {}
    closing: list[Assertion] = []
    contested = False
    for index, segment in enumerate(segments):
        own, challenges = _placed(segment, established, now)
        placed.update({a.assertion_id: a for a in own})
        contested = contested or challenges
        follower = segments[index + 1] if index + 1 < len(segments) else None
        if follower is not None and segment.closed_by_successor and _stays_whole(segment, established):
            closing += _closed(segment, follower, established, now)
    assertions = [placed.get(a.assertion_id) or _never_held(a, established) for a in moving.assertions]
    assertions = [_settled_challenge(a, moving, established, now) for a in assertions]
    waiting = any(a.state is AssertionState.QUARANTINED for a in assertions)
    timeline = replace(
        staying,
        facts=(*staying.facts, *moving.facts),
        assertions=(*staying.assertions, *assertions, *closing),
    )
    return JoinedTimeline(timeline, contested or waiting)


def _never_held(assertion: Assertion, established: Sequence[Segment]) -> Assertion:
    """Returns an assertion that no stretch rests on: where it met nothing it must meet nothing new."""
    if assertion.state is not AssertionState.ADMITTED or not established:
        return assertion
    return replace(assertion, state=AssertionState.OVERRULED)


def _placed(segment: Segment, established: Sequence[Segment], now: datetime) -> tuple[list[Assertion], bool]:
    """Returns a stretch's assertions as they are to be, and whether they challenge what holds."""
    met = [other for other in established if _overlap(segment, other)]
    moment = max(now, segment.start)
    rivals = [other for other in met if other.value_key != segment.value_key and other.start <= moment]
    if not rivals:
        return ([*segment.assertions] if not met else _supporting(segment, segment.start)), False
    if segment.end is not None and segment.end <= now:
        return _overruled(segment.assertions), False
    holder = holding_at(established, moment)
    if holder is not None and holder.value_key == segment.value_key:
        return _supporting(segment, holder.start), False
    if holder is None:
        ends = [rival.end for rival in rivals if rival.end is not None]
        return _supporting(segment, max(ends, default=segment.start), keeps_end=True), False
    waiting = [replace(whole_statement(a, segment), state=AssertionState.QUARANTINED) for a in segment.statements]
    return [*waiting, *_overruled(_amendments(segment))], True


def _stays_whole(segment: Segment, established: Sequence[Segment]) -> bool:
    """Whether a stretch meets nothing on the staying timeline, and so keeps all of its statements."""
    return not any(_overlap(segment, other) for other in established)


def _closed(segment: Segment, follower: Segment, established: Sequence[Segment], now: datetime) -> list[Assertion]:
    """Returns what ends a stretch whose successor does not count: it must not go on because of that."""
    own, _ = _placed(follower, established, now)
    counts = any(a.state is AssertionState.ADMITTED and a.time == follower.start for a in own)
    if counts:
        return []
    last = segment.statements[-1]
    return [
        replace(
            last,
            assertion_id=derived_id(last.assertion_id),
            kind=AssertionKind.AMEND,
            end=segment.end,
            ends=True,
            source_id=None,
        )
    ]


def _supporting(segment: Segment, earliest: datetime, *, keeps_end: bool = False) -> list[Assertion]:
    """Returns a stretch's statements as support of a value that holds from ``earliest`` anyway.

    Where it ends is said by those who said that it holds; bounds set by hand were set for the old stretch.
    """
    statements = [replace(whole_statement(a, segment), time=max(a.time, earliest)) for a in segment.statements]
    if not keeps_end:
        statements = [replace(a, end=None, ends=False) for a in statements]
    return [*statements, *_overruled(_amendments(segment))]


def whole_statement(assertion: Assertion, segment: Segment) -> Assertion:
    """Returns a statement of the value that it had led to: what a patch carries forward differs elsewhere."""
    if assertion.kind is not AssertionKind.PATCH:
        return assertion
    return replace(assertion, kind=AssertionKind.STATE, value=segment.value, value_key=segment.value_key)


def _settled_challenge(
    assertion: Assertion, moving: Timeline, established: Sequence[Segment], now: datetime
) -> Assertion:
    """Lets a statement that waited on the moving timeline support the staying one where that says the same."""
    waited = {a.assertion_id for a in moving.assertions if a.state is AssertionState.QUARANTINED}
    holder = holding_at(established, now)
    if assertion.assertion_id not in waited or holder is None or holder.value_key != assertion.value_key:
        return assertion
    return replace(
        assertion,
        state=AssertionState.ADMITTED,
        time=max(assertion.time, holder.start),
        end=None,
        ends=False,
    )


def _overruled(assertions: Iterable[Assertion]) -> list[Assertion]:
    return [replace(a, state=AssertionState.OVERRULED) for a in assertions]


def _amendments(segment: Segment) -> list[Assertion]:
    return [a for a in segment.assertions if a.kind is AssertionKind.AMEND]


def _overlap(one: Segment, other: Segment) -> bool:
    """Whether both hold at some time; one of an instant holds at that instant."""
    if one.start == one.end or other.start == other.end:
        return _touches(one, other.start) if other.start == other.end else _touches(other, one.start)
    begins_in_time = other.end is None or one.start < other.end
    return begins_in_time and (one.end is None or other.start < one.end)


def _touches(segment: Segment, moment: datetime) -> bool:
    ended = segment.end is not None and segment.end <= moment
    return segment.start <= moment and (not ended or segment.start == moment)


def derived_id(assertion_id: UUID) -> UUID:
    """Returns another id that sorts right after the one given."""
    return UUID(int=assertion_id.int + 1)

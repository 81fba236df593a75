"""Short ways to say what happens on a timeline: times are days, values letters, ids count up."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from concord_server.domain.enums import Trust
from concord_server.domain.timeline import Assertion, AssertionKind, AssertionState, Segment
from concord_server.domain.values import Json, value_key

STATE, PATCH, CORRECT, AMEND = AssertionKind
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def at(day: float) -> datetime:
    """The time that many days after an arbitrary first day."""
    return EPOCH + timedelta(days=day)


def day(moment: datetime) -> float:
    """The inverse of :func:`at`."""
    return (moment - EPOCH) / timedelta(days=1)


def uid(number: int) -> UUID:
    """An id; larger numbers make later ids."""
    return UUID(int=number)


class Ids:
    """Makes ids that count up, as UUIDv7 do."""

    def __init__(self, start: int = 10_000) -> None:
        self._next = start

    def new(self) -> UUID:
        """Returns the next id."""
        self._next += 1
        return uid(self._next)


def said(
    number: int,
    value: Json,
    time: float,
    *,
    end: float | None = None,
    kind: AssertionKind = STATE,
    trust: Trust = Trust.TRUSTED,
    state: AssertionState = AssertionState.ADMITTED,
    fact: int | None = None,
) -> Assertion:
    """Assertion ``number`` about ``value`` since ``time``; of a fact of its own unless ``fact`` says of which."""
    return Assertion(
        assertion_id=uid(number),
        fact_id=uid(1000 + (number if fact is None else fact)),
        time=at(time),
        value_key=value_key(value),
        value=value,
        kind=kind,
        trust=trust,
        state=state,
        end=None if end is None else at(end),
        ends=end is not None,
    )


def reopened(number: int, value: Json, time: float, fact: int) -> Assertion:
    """A caller's decision that a fact has no end."""
    return Assertion(uid(number), uid(1000 + fact), at(time), value_key(value), value, AMEND, ends=True)


def shape(segments: Sequence[Segment]) -> list[tuple[Json, float, float | None]]:
    """The (value, from, to) of a timeline."""
    return [(s.value, day(s.start), None if s.end is None else day(s.end)) for s in segments]

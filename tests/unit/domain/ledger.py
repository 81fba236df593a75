"""A ledger of one slot in memory: places, settles and reviews as the service does, and checks itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from uuid import UUID

from concord_server.domain.conflicts import ConflictReview, review
from concord_server.domain.enums import SUPPRESSING_STATUSES, EvolutionType, FactStatus, Trust, Volatility
from concord_server.domain.model import Claim, Fact, Partition
from concord_server.domain.placement import Outcome, Placing, Statement, place
from concord_server.domain.resolution import keeping_none, keeping_one
from concord_server.domain.settlement import FactState, Settlement, Timeline, settle
from concord_server.domain.timeline import Assertion, AssertionState, fold
from concord_server.domain.values import Json, value_key

from tests.unit.domain.builders import Ids, at, day, shape, uid

ACTIVE, PENDING, DISPUTED, SUPERSEDED = (
    FactStatus.ACTIVE,
    FactStatus.PENDING,
    FactStatus.DISPUTED,
    FactStatus.SUPERSEDED,
)
ADMITTED, WAITING = AssertionState.ADMITTED, AssertionState.QUARANTINED
SUSPENDED, WITHDRAWN = AssertionState.SUSPENDED, AssertionState.WITHDRAWN
SLOT = uid(1)

View = tuple[Json, float, float | None, FactStatus]
"""What a fact on the timeline says: value, from, to, status."""


def fact(number: int, value: Json, status: FactStatus, start: float = 0, end: float | None = None) -> Fact:
    """A fact as it would be stored; ids as in :func:`tests.unit.domain.builders.said`."""
    return Fact(
        fact_id=uid(1000 + number),
        partition=Partition(),
        slot_id=SLOT,
        status=status,
        text="",
        text_raw="",
        value_key=value_key(value),
        claim=Claim("s", "p", value),
        evolution_type=EvolutionType.ORIGINAL,
        confidence=0.7,
        source_count=0,
        corroboration_score=0.0,
        reinforcement_count=0,
        last_reinforce_time=at(start),
        trust=Trust.TRUSTED,
        volatility=Volatility.STABLE,
        valid_from=at(start),
        valid_to=None if end is None else at(end),
        create_time=at(0),
        update_time=at(0),
    )


def applied(timeline: Timeline, after: Settlement) -> Timeline:
    """The slot as stored once a settlement is written."""
    known = {f.fact_id: f for f in timeline.facts}
    for state in after.states:
        base = known.get(state.fact_id) or replace(fact(0, state.value, ACTIVE), fact_id=state.fact_id)
        known[state.fact_id] = _with_state(base, state)
    return replace(timeline, facts=tuple(known.values()), assertions=after.assertions)


def _with_state(base: Fact, state: FactState) -> Fact:
    return replace(
        base,
        status=state.status,
        valid_from=state.valid_from,
        valid_to=state.valid_to,
        value_key=state.value_key,
        claim=replace(base.claim, value=state.value) if base.claim else None,
        trust=state.trust,
        reinforcement_count=state.reinforcement_count,
        last_reinforce_time=state.last_reinforce_time,
        off_timeline=state.off_timeline,
    )


class Ledger:
    """One slot. Every change checks what must hold at all times."""

    def __init__(self, now: float = 100) -> None:
        self.now = at(now)
        self.ids = Ids()
        self.timeline = Timeline(SLOT)
        self.reviewed = ConflictReview(opens=False, members=(), ends=False)

    def say(
        self,
        value: Json,
        time: float,
        *,
        supersede: bool = True,
        correct: bool = False,
        trust: Trust = Trust.TRUSTED,
        end: float | None = None,
    ) -> Placing:
        """Places a statement and settles what follows from it."""
        statement = Statement(
            assertion_id=self.ids.new(),
            new_fact_id=self.ids.new(),
            time=at(time),
            value_key=value_key(value),
            value=value,
            supersede=supersede,
            correct=correct,
            trust=trust,
            end=None if end is None else at(end),
            ends=end is not None,
        )
        placing = place(self.timeline, statement, self.now)
        assert placing.is_new is (self.timeline.fact(placing.fact_id) is None)
        known = {a.assertion_id for a in self.timeline.assertions}
        assert {a.assertion_id for a in placing.assertions} == known | {statement.assertion_id}
        self._settle(
            replace(self.timeline, assertions=placing.assertions), contests_active=placing.contests_active
        )
        self._check_outcome(placing)
        return placing

    def withdraw(self, chosen: Callable[[Assertion], bool]) -> None:
        """Withdraws the source of some statements."""
        self._settle(replace(self.timeline, assertions=self.timeline.with_states(WITHDRAWN, chosen)))

    def retract(self, fact_id: UUID, status: FactStatus = FactStatus.RETRACTED) -> None:
        """Takes a fact back by hand."""
        self._restate(fact_id, status, {ADMITTED: SUSPENDED, WAITING: SUSPENDED})

    def restore(self, fact_id: UUID) -> None:
        """Brings a fact back, into a conflict where another one holds."""
        occupied = self.timeline.active() is not None
        back = WAITING if occupied else ADMITTED
        self._restate(fact_id, PENDING if occupied else ACTIVE, {SUSPENDED: back}, contests_active=occupied)

    def dispute(self, fact_id: UUID) -> None:
        """Disputes a fact by hand."""
        self._restate(fact_id, DISPUTED, {})

    def resolve(self, keep: UUID | None) -> None:
        """Ends the open conflict by keeping one of its facts, or none."""
        members = [f for f in self.timeline.facts if f.conflict_id is not None]
        assert self.timeline.conflict_id is not None
        if keep is None:
            resolved = keeping_none(self.timeline, members)
        else:
            resolved = keeping_one(self.timeline, members, keep, self.ids.new())
        after = settle(resolved, self.now, self.ids.new)
        assert not review(self.timeline, after).members
        settled = applied(resolved, after)
        facts = tuple(replace(f, conflict_id=None) for f in settled.facts)
        self.timeline = replace(settled, facts=facts, conflict_id=None)
        check(self.timeline, self.now, self.waiting())

    def copy(self) -> Ledger:
        """A ledger that goes its own way from here."""
        twin = Ledger()
        twin.now, twin.timeline, twin.reviewed = self.now, self.timeline, self.reviewed
        twin.ids = Ids(10_000_000)
        return twin

    def wait(self, now: float) -> None:
        """Lets time pass and the scheduler run."""
        self.now = at(now)
        self._settle(self.timeline)

    def view(self) -> list[View]:
        """What the facts say that are on the timeline, in order of time."""
        on = [f for f in self.timeline.facts if _on_timeline(f, self.waiting())]
        ordered = sorted(on, key=lambda f: f.valid_from)
        return [
            (_value(f), day(f.valid_from), None if f.valid_to is None else day(f.valid_to), f.status)
            for f in ordered
        ]

    def intervals(self) -> list[tuple[Json, float, float | None]]:
        """The folded timeline."""
        return shape(fold(self.timeline.assertions))

    def as_of(self, moment: float) -> list[Json]:
        """What held then, by the facts as they are stored."""
        on = (f for f in self.timeline.facts if _on_timeline(f, self.waiting()))
        return [_value(f) for f in on if f.holds_at(at(moment))]

    def status(self, fact_id: UUID) -> FactStatus:
        """A fact's status."""
        return self.fact(fact_id).status

    def fact(self, fact_id: UUID) -> Fact:
        """A fact as it is stored."""
        found = self.timeline.fact(fact_id)
        assert found is not None
        return found

    def waiting(self) -> frozenset[UUID]:
        """The challengers."""
        waiting = {a.fact_id for a in self.timeline.assertions if a.state is WAITING}
        return frozenset(f.fact_id for f in self.timeline.facts if f.status is PENDING and f.fact_id in waiting)

    def off(self) -> frozenset[UUID]:
        """The facts that are not on the timeline."""
        waiting = self.waiting()
        return frozenset(f.fact_id for f in self.timeline.facts if not _on_timeline(f, waiting))

    def members(self) -> frozenset[UUID]:
        """The facts in the open conflict."""
        return frozenset(f.fact_id for f in self.timeline.facts if f.conflict_id is not None)

    def _check_outcome(self, placing: Placing) -> None:
        """Checks that what was answered is what was done."""
        own = self.fact(placing.fact_id)
        is_waiting = own.fact_id in self.waiting()
        match placing.outcome:
            case Outcome.CREATED | Outcome.SUPERSEDED | Outcome.HISTORICAL:
                assert own.valid_from != own.valid_to
                assert own.status in {ACTIVE, SUPERSEDED, PENDING} or not placing.is_new
                assert not is_waiting
            case Outcome.CONFLICTED:
                assert is_waiting
                assert own.conflict_id is not None
            case Outcome.SUPPRESSED:
                assert own.status in SUPPRESSING_STATUSES
            case Outcome.REINFORCED:
                assert not placing.is_new

    def _restate(
        self,
        fact_id: UUID,
        status: FactStatus,
        states: dict[AssertionState, AssertionState],
        *,
        contests_active: bool = False,
    ) -> None:
        facts = tuple(replace(f, status=status) if f.fact_id == fact_id else f for f in self.timeline.facts)
        assertions = tuple(
            replace(a, state=states.get(a.state, a.state)) if a.fact_id == fact_id else a
            for a in self.timeline.assertions
        )
        self._settle(replace(self.timeline, facts=facts, assertions=assertions), contests_active=contests_active)

    def _settle(self, changed: Timeline, *, contests_active: bool = False) -> None:
        after = settle(changed, self.now, self.ids.new)
        self.reviewed = review(self.timeline, after, contests_active=contests_active)
        conflict_id = self.timeline.conflict_id
        if self.reviewed.opens:
            assert conflict_id is None
            conflict_id = self.ids.new()
        if self.reviewed.ends:
            assert conflict_id is not None
            conflict_id = None
        settled = applied(changed, after)
        members = set(self.reviewed.members)
        facts = tuple(replace(f, conflict_id=conflict_id if f.fact_id in members else None) for f in settled.facts)
        self.timeline = replace(settled, facts=facts, conflict_id=conflict_id)
        check(self.timeline, self.now, self.waiting())


def check(timeline: Timeline, now: datetime, waiting: Iterable[UUID]) -> None:
    """Checks what holds of every slot at all times."""
    assert sum(f.status is ACTIVE for f in timeline.facts) <= 1
    challengers = set(waiting)
    on = sorted((f for f in timeline.facts if _on_timeline(f, challengers)), key=lambda f: f.valid_from)
    assert all(f.valid_to is None or f.valid_from < f.valid_to for f in on)
    assert all(one.valid_to is not None and one.valid_to <= other.valid_from for one, other in pairwise(on))
    expected = [(s.value_key, s.start, s.end) for s in fold(timeline.assertions)]
    assert [(f.value_key, f.valid_from, f.valid_to) for f in on] == expected
    members = {f.fact_id for f in timeline.facts if f.conflict_id is not None}
    assert members >= challengers
    assert (timeline.conflict_id is not None) == bool(challengers)
    assert all(f.status in {ACTIVE, PENDING} for f in timeline.facts if f.fact_id in members)
    owners = {f.fact_id for f in timeline.facts}
    assert {a.fact_id for a in timeline.assertions} <= owners
    again = settle(timeline, now, _no_new_fact)
    settled = applied(timeline, again)
    assert settled.assertions == timeline.assertions
    assert {f.fact_id: f for f in settled.facts} == {f.fact_id: f for f in timeline.facts}


def _no_new_fact() -> UUID:
    raise AssertionError("settling again made a fact")


def _on_timeline(f: Fact, waiting: Iterable[UUID]) -> bool:
    if f.off_timeline or f.fact_id in set(waiting) or f.valid_from == f.valid_to:
        return False
    return f.status in {ACTIVE, SUPERSEDED, DISPUTED, PENDING}


def _value(f: Fact) -> Json:
    assert f.claim is not None
    return f.claim.value

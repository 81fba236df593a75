"""What holds of a slot after any sequence of statements and decisions.

Every change of a :class:`Ledger` checks that at most one fact is ACTIVE, that intervals on the timeline never
overlap or invert, that a conflict is open exactly while a challenger waits, that settling again changes nothing,
and that what was answered is what was done.
"""

from typing import Any

from concord_server.domain.enums import FactStatus, Trust
from concord_server.domain.status import CALLER_TRANSITIONS
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.ledger import ACTIVE, ADMITTED, DISPUTED, PENDING, Ledger
from tests.unit.domain.strategies import DAYS, VALUES

NOW = 6
LATEST = 14
"""By then everything scheduled has begun."""
STATEMENTS = st.fixed_dictionaries(
    {"value": VALUES, "time": DAYS},
    optional={
        "supersede": st.booleans(),
        "correct": st.booleans(),
        "trust": st.sampled_from(list(Trust)),
        "length": st.integers(1, 6),
    },
)
SUPERSEDING = st.lists(
    st.fixed_dictionaries({"value": VALUES, "time": DAYS}, optional={"length": st.integers(1, 6)}),
    unique_by=lambda statement: str(statement["time"]),
    max_size=7,
)
Said = dict[str, Any]


def say(ledger: Ledger, statement: Said) -> None:
    options = dict(statement)
    value, time = options.pop("value"), options.pop("time")
    length = options.pop("length", None)
    ledger.say(value, time, end=None if length is None else time + length, **options)


def after(statements: list[Said], now: float = NOW) -> Ledger:
    ledger = Ledger(now)
    for statement in statements:
        say(ledger, statement)
    return ledger


def held(ledger: Ledger) -> list[list[Any]]:
    return [ledger.as_of(moment / 2) for moment in range(-1, 2 * LATEST)]


def decide(ledger: Ledger, data: st.DataObject) -> None:
    """Takes one decision by hand, or withdraws a source."""
    decision = data.draw(st.sampled_from(["dispute", "retract", "archive", "restore", "withdraw"]))
    wanted = {
        "dispute": FactStatus.DISPUTED,
        "retract": FactStatus.RETRACTED,
        "archive": FactStatus.ARCHIVED,
        "restore": FactStatus.ACTIVE,
    }
    if decision == "withdraw":
        withdrawn = data.draw(st.sampled_from(ledger.timeline.assertions))
        ledger.withdraw(lambda a: a.assertion_id == withdrawn.assertion_id)
        return
    possible = [f.fact_id for f in ledger.timeline.facts if wanted[decision] in CALLER_TRANSITIONS[f.status]]
    if not possible:
        return
    chosen = data.draw(st.sampled_from(possible))
    if decision == "dispute":
        ledger.dispute(chosen)
    elif decision == "restore":
        ledger.restore(chosen)
    else:
        ledger.retract(chosen, wanted[decision])


@given(st.lists(STATEMENTS, max_size=8))
def test_after_any_statements_and_at_any_time(statements):
    ledger = after(statements)
    for now in range(NOW, LATEST):
        ledger.wait(now)


@given(st.lists(STATEMENTS, min_size=1, max_size=6), st.data())
def test_after_any_statements_and_decisions(statements, data):
    ledger = Ledger(NOW)
    for statement in statements:
        say(ledger, statement)
        if data.draw(st.booleans()):
            decide(ledger, data)
    for now in range(NOW, LATEST):
        ledger.wait(now)


@given(SUPERSEDING, st.randoms())
def test_superseding_statements_of_equal_trust_give_one_timeline_in_any_order(statements, random):
    one, other = after(statements), after(random.sample(statements, len(statements)))
    assert one.intervals() == other.intervals()
    assert one.view() == other.view()
    assert held(one) == held(other)
    assert one.timeline.conflict_id is None
    assert other.timeline.conflict_id is None


@given(SUPERSEDING, st.integers(NOW, LATEST))
def test_when_a_statement_arrives_does_not_matter(statements, now):
    early = after(statements)
    early.wait(now)
    assert early.view() == after(statements, now).view()


@given(SUPERSEDING.filter(bool), st.data())
def test_withdrawing_a_statement_equals_never_having_had_it(statements, data):
    ledger = after(statements)
    index = data.draw(st.integers(0, len(statements) - 1))
    gone = ledger.timeline.assertions[index]
    ledger.withdraw(lambda a: a.assertion_id == gone.assertion_id)
    without = after(statements[:index] + statements[index + 1 :])
    assert ledger.intervals() == without.intervals()
    assert ledger.view() == without.view()
    assert held(ledger) == held(without)


@given(SUPERSEDING.filter(bool), st.data())
def test_retracting_a_fact_equals_never_having_had_its_statements(statements, data):
    ledger = after(statements)
    gone = data.draw(st.sampled_from(ledger.timeline.facts)).fact_id
    kept = [s for s, a in zip(statements, ledger.timeline.assertions, strict=True) if a.fact_id != gone]
    if len(kept) == len(statements):
        return
    ledger.retract(gone)
    assert ledger.intervals() == after(kept).intervals()
    assert ledger.view() == after(kept).view()


@given(SUPERSEDING.filter(bool), st.data())
def test_restoring_undoes_retracting_or_leads_to_a_conflict(statements, data):
    ledger = after(statements)
    on_timeline = {a.fact_id for a in ledger.timeline.assertions if a.state is ADMITTED}
    gone = data.draw(st.sampled_from(sorted(on_timeline)))
    before = ledger.view()
    ledger.retract(gone)
    occupied = ledger.timeline.active() is not None
    without = ledger.view()
    ledger.restore(gone)
    if occupied:
        assert ledger.status(gone) is PENDING
        assert gone in ledger.members()
        assert ledger.view() == without
    else:
        assert ledger.view() == before


@given(st.lists(STATEMENTS, min_size=1, max_size=6), st.data())
def test_a_disputed_fact_never_becomes_active_by_itself(statements, data):
    ledger = after(statements[:-1])
    if not ledger.timeline.facts:
        return
    disputed = data.draw(st.sampled_from(ledger.timeline.facts)).fact_id
    if FactStatus.DISPUTED not in CALLER_TRANSITIONS[ledger.status(disputed)]:
        return
    ledger.dispute(disputed)
    say(ledger, statements[-1])
    for now in range(NOW, LATEST):
        ledger.wait(now)
        assert ledger.status(disputed) is not ACTIVE
        if any(a.fact_id == disputed and a.state is ADMITTED for a in ledger.timeline.assertions):
            assert ledger.status(disputed) in {DISPUTED, FactStatus.SUPERSEDED}


def check_resolvable(ledger: Ledger) -> None:
    """Resolves the open conflict in every way that there is, each on a ledger of its own."""
    for member in sorted(ledger.members()):
        kept = ledger.copy()
        start = ledger.fact(member).valid_from
        kept.resolve(member)
        others = [kept.fact(other) for other in ledger.members() - {member}]
        assert all(other.status in {FactStatus.SUPERSEDED, ACTIVE} for other in others)
        same = [f for f in ledger.timeline.facts if f.value_key == ledger.fact(member).value_key]
        [holding] = [f for f in kept.timeline.facts if f.holds_at(start) and f.fact_id not in kept.off()]
        assert holding.value_key == ledger.fact(member).value_key
        # It may join what was disputed of its value, and that stays so.
        assert holding.status is not DISPUTED or any(f.status is DISPUTED for f in same)
    none = ledger.copy()
    none.resolve(None)
    assert all(none.status(member) is FactStatus.RETRACTED for member in ledger.members())


@given(st.lists(STATEMENTS, min_size=2, max_size=7), st.data())
def test_every_open_conflict_can_be_resolved_in_every_way(statements, data):
    ledger = Ledger(NOW)
    for statement in statements:
        say(ledger, statement)
        if data.draw(st.integers(0, 3)) == 0:
            decide(ledger, data)
        if ledger.timeline.conflict_id is not None:
            check_resolvable(ledger)


@given(st.lists(STATEMENTS, min_size=3, max_size=7), st.data())
def test_after_resolutions_everything_still_holds(statements, data):
    ledger = Ledger(NOW)
    for statement in statements:
        say(ledger, statement)
        if ledger.timeline.conflict_id is not None and data.draw(st.booleans()):
            ledger.resolve(data.draw(st.sampled_from([None, *sorted(ledger.members())])))
    for now in range(NOW, LATEST):
        ledger.wait(now)

"""Slots that get one timeline per value, and one timeline again."""

from typing import Any

from concord_server.domain.cardinality import split_by_value
from concord_server.domain.enums import FactStatus
from concord_server.domain.settlement import settle
from concord_server.domain.timeline import fold
from concord_server.domain.values import value_key
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.builders import at, day
from tests.unit.domain.ledger import ACTIVE, SUPERSEDED, Ledger, applied
from tests.unit.domain.test_ledger_properties import LATEST, STATEMENTS, after, decide

NOW = 6


def view(ledger: Ledger) -> dict[Any, tuple[Any, ...]]:
    """What becomes of every fact when its slot is split."""
    return {
        fact.fact_id: (fact.value_key, fact.status, fact.valid_from, fact.valid_to)
        for part in split_by_value(ledger.timeline).values()
        for fact in applied(part, settle(part, ledger.now, ledger.ids.new)).facts
    }


def test_what_was_superseded_does_not_come_back():
    ledger = Ledger()
    for value, time in (("A", 1), ("B", 3), ("A", 5)):
        ledger.say(value, time)
    parts = split_by_value(ledger.timeline)
    assert set(parts) == {value_key("A"), value_key("B")}
    settled = sorted(view(ledger).values(), key=lambda state: state[2])
    assert [(key, status, day(start)) for key, status, start, _ in settled] == [
        (value_key("A"), SUPERSEDED, 1),
        (value_key("B"), SUPERSEDED, 3),
        (value_key("A"), ACTIVE, 5),
    ]
    assert [end for *_, end in settled] == [at(3), at(5), None]


def test_values_that_follow_each_other_take_no_notice_any_more():
    ledger = Ledger()
    ledger.say({"a": 1}, 1)
    ledger.say({"b": 2}, 3)  # carries a forward
    [first, second] = split_by_value(ledger.timeline).values()
    assert [s.value for s in fold(first.assertions)] == [{"a": 1}]
    assert [s.value for s in fold(second.assertions)] == [{"a": 1, "b": 2}]


@given(st.lists(STATEMENTS, min_size=1, max_size=6), st.data())
def test_a_split_keeps_when_each_value_held(statements, data):
    ledger = after(statements, data.draw(st.sampled_from([NOW, LATEST])))
    for _ in range(data.draw(st.integers(0, 2))):
        decide(ledger, data)
    if ledger.timeline.conflict_id is not None:
        return
    whole = [(s.value_key, s.start, s.end) for s in fold(ledger.timeline.assertions)]
    parts = split_by_value(ledger.timeline)
    split = [(s.value_key, s.start, s.end) for part in parts.values() for s in fold(part.assertions)]
    assert sorted(split, key=str) == sorted(whole, key=str)


@given(st.lists(STATEMENTS, min_size=1, max_size=6), st.data())
def test_a_split_changes_no_fact(statements, data):
    """Apart from one that waited for its time: it does not wait for another value to end any more."""
    ledger = after(statements, LATEST)
    for _ in range(data.draw(st.integers(0, 2))):
        decide(ledger, data)
    if ledger.timeline.conflict_id is not None:
        return
    before = {f.fact_id: (f.value_key, f.status, f.valid_from, f.valid_to) for f in ledger.timeline.facts}
    assert view(ledger) == before


def test_every_fact_has_a_part():
    ledger = Ledger()
    ledger.say("A", 1)
    placing = ledger.say("B", 3)
    ledger.retract(placing.fact_id)
    parts = split_by_value(ledger.timeline)
    assert sum(len(part.facts) for part in parts.values()) == 2
    assert {f.status for part in parts.values() for f in part.facts} == {ACTIVE, FactStatus.RETRACTED}

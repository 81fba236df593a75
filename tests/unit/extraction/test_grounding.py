"""A statement rests on the event's own words, said by someone who counts."""

from __future__ import annotations

import pytest
from concord_server.domain.extraction import passages_of

from tests.unit.extraction.events import event, reasons, taken, values

TALK = event(
    "",
    ("user", "I’ve  moved to\nSÃO PAULO — last week.  It’s great… really"),
    ("assistant", "Lovely! São Paulo has the best coffee. You must be vegan."),
    ("tool", "calendar: dentist on Friday"),
)


@pytest.mark.parametrize(
    ("quote", "problem"),
    [
        ("I’ve  moved to\nSÃO PAULO", None),
        ("i've moved to são paulo", None),
        ('"I\'ve moved to São Paulo - last week."', None),
        ("user: I've moved to São Paulo", None),
        ("I've moved ... last week", None),
        ("I've moved […] really", None),
        ("dentist on Friday", None),
        ("I've moved to Rio", "no_evidence_span"),
        ("last week ... I've moved", "no_evidence_span"),
        ("São Paulo has the best coffee", "no_evidence_span"),
        ("…", "no_evidence_span"),
    ],
)
def test_a_quote_must_be_there_white_space_and_case_aside(quote: str, problem: str | None) -> None:
    assert passages_of(TALK).problem_of_quotes([quote]) == problem


def test_every_quote_must_be_there() -> None:
    grounding = passages_of(TALK)
    assert grounding.problem_of_quotes(["last week", "next week"]) == "no_evidence_span"
    assert grounding.problem_of_quotes(["last week", "dentist"]) is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [("São Paulo", None), ("Brazil", None), (True, None), ("vegan", "no_evidence_span"), ("", None)],
)
def test_without_a_quote_what_the_assistant_alone_said_is_refused(value: object, problem: str | None) -> None:
    assert passages_of(TALK).problem_of_value(value) == problem  # type: ignore[arg-type]


def test_an_event_in_which_the_assistant_alone_speaks_states_nothing() -> None:
    monologue = event("", ("assistant", "You live in Oslo."), ("system", "The user is called Kim."))
    result = taken(monologue, [{"predicate": "lives_in", "value": "Oslo"}, {"predicate": "name", "value": "Kim"}])
    assert reasons(result) == ["no_evidence_span", "no_evidence_span"]


def test_text_and_payload_count_too() -> None:
    record = event("Signed up.", payload={"profile": {"city": "Oslo", "bikes": 3}, "tags": ["rower"]})
    quotes = [
        {"predicate": "p", "value": n, "evidence": q} for n, q in enumerate(["signed up", "city: Oslo", "rower"])
    ]
    assert values(taken(record, quotes)) == [("p", 0), ("p", 1), ("p", 2)]


@pytest.mark.parametrize("shape", ["I moved", ["I moved"], {"quote": "I moved"}, [{"text": "I moved"}]])
def test_quotes_may_come_in_any_shape(shape: object) -> None:
    fact = {"predicate": "moved", "value": True, "evidence": shape}
    [candidate] = taken(event("I moved"), [fact]).candidates
    assert [item.quote for item in candidate.evidence] == ["I moved"]

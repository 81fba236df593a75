"""The readable page of a briefing."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from concord_server.domain.briefing import BriefingPage, render, tokens_of
from concord_server.domain.enums import ConflictState, FactChange, FactStatus, Volatility
from concord_server.domain.model import Conflict, Fact, FactVersion
from hypothesis import given
from hypothesis import strategies as st

from tests.support.facts import a_fact
from tests.unit.domain.builders import at, uid

NOW = at(100)


def fact(text: str, **fields: Any) -> Fact:
    return a_fact(text=text, create_time=at(1), **fields)


def version(change: FactChange, day: float, **fields: Any) -> FactVersion:
    return FactVersion(fact(**fields), change, "tester", "", at(day), None)


def conflict(*members: Fact, reason: str = "another value holds") -> Conflict:
    return Conflict(uid(1), uid(2), ConflictState.OPEN, members, reason, at(90))


def page(**fields: Any) -> BriefingPage:
    shown = fields.get("current", ())
    counted = {"current_count": len(shown), "total_count": max(len(shown), 1)}
    return BriefingPage("Company", "globex", NOW, **(counted | fields))


WHOLE = page(
    current=[
        fact("Globex makes turbines", confidence=0.88, source_count=2),
        fact("Globex employs 950 people", confidence=0.7, valid_from=at(32), conflict_id=UUID(int=9)),
        a_fact(text="Globex has a plant in Turin", confidence=0.75, source_count=1, create_time=at(95)),
        fact(
            "Globex pays 30 days net", volatility=Volatility.SLOW, last_reinforce_time=at(-300), valid_to=at(200)
        ),
    ],
    current_count=6,
    total_count=9,
    changes=[
        version(
            FactChange.STATUS_CHANGED,
            98,
            text="Globex employs 900 people",
            status=FactStatus.SUPERSEDED,
            valid_to=at(32),
        ),
        version(FactChange.CREATED, 95, text="Globex has a plant in Turin"),
        version(FactChange.STATUS_CHANGED, 92, text="Globex is bankrupt", status=FactStatus.RETRACTED),
        version(FactChange.REVISED, 91, text="Globex makes turbines"),
        version(FactChange.REVISED, 90, text="Invoices are in fr", conflict_id=UUID(int=9)),
    ],
    open_conflicts=[
        conflict(
            fact("Invoices are in fr", confidence=0.7),
            fact("Invoices are in en", confidence=0.74, source_count=1, status=FactStatus.PENDING),
        )
    ],
)


def test_a_page_tells_what_holds_what_is_in_dispute_and_what_changed():
    assert render(WHOLE) == (
        "# globex (Company)\n"
        "\n"
        "6 current facts of 9 on record, as of 2026-04-11.\n"
        "\n"
        "## Current facts\n"
        "\n"
        "- Globex makes turbines — confidence 0.88, 2 sources, since 2026-01-02\n"
        "- Globex employs 950 people — confidence 0.70, 0 sources, since 2026-02-02, in conflict\n"
        "- Globex has a plant in Turin — confidence 0.75, 1 source, since 2026-04-06\n"
        "- Globex pays 30 days net — confidence 0.70, 0 sources, from 2026-01-02 until 2026-07-20, unconfirmed since"
        " 2025-03-07\n"
        "\n"
        "… and 2 more.\n"
        "\n"
        "## Open conflicts\n"
        "\n"
        "- Since 2026-04-01: another value holds\n"
        "  - Invoices are in fr — holds until reviewed, confidence 0.70, 0 sources\n"
        "  - Invoices are in en — waits for review, confidence 0.74, 1 source\n"
        "\n"
        "## Changed lately\n"
        "\n"
        "- 2026-04-09 superseded: Globex employs 900 people, from 2026-01-02 until 2026-02-02\n"
        "- 2026-04-03 retracted: Globex is bankrupt\n"
        "- 2026-04-02 revised: Globex makes turbines\n"
    )


def test_a_page_about_nothing_says_so():
    assert render(page(total_count=0)) == "# globex (Company)\n\nNothing is known.\n"


def test_words_of_callers_are_no_markup():
    rendered = render(page(current=[fact("# *Buy* <b>now</b>\n- [here](http://x)")]))
    assert "- \\# \\*Buy\\* \\<b>now\\</b> - \\[here\\](http://x) — confidence" in rendered
    assert render(BriefingPage("*T*", "_i_", NOW)).startswith("# \\_i\\_ (\\*T\\*)\n")


def test_long_statements_are_cut():
    [line] = [line for line in render(page(current=[fact("x" * 8192)])).splitlines() if line.startswith("- ")]
    assert line.startswith("- " + "x" * 399 + "… — ")


def test_what_does_not_fit_is_counted():
    facts = [fact(f"Globex fact {number}") for number in range(50)]
    rendered = render(page(current=facts), 300)
    shown = sum(line.startswith("- ") for line in rendered.splitlines())
    assert 5 < shown < 50
    assert f"… and {50 - shown} more." in rendered
    assert "- Globex fact 0 — " in rendered


def test_conflicts_are_not_crowded_out_by_facts():
    facts = [fact(f"Globex fact {number}") for number in range(200)]
    rendered = render(page(current=facts, open_conflicts=WHOLE.open_conflicts, changes=WHOLE.changes), 400)
    assert "## Open conflicts" in rendered
    assert "## Changed lately" in rendered


def test_a_section_without_room_for_one_entry_is_left_out():
    assert render(WHOLE, 30) == "# globex (Company)\n\n6 current facts of 9 on record, as of 2026-04-11.\n"
    assert render(WHOLE, 3) == "# globex (Co"


@given(st.integers(1, 700), st.integers(0, 40), st.text(max_size=60))
def test_the_bound_holds(max_tokens, count, text):
    facts = [fact(f"{text} {number}") for number in range(count)]
    rendered = render(page(current=facts, open_conflicts=WHOLE.open_conflicts, changes=WHOLE.changes), max_tokens)
    assert tokens_of(rendered) <= max_tokens


@given(st.integers(20, 700))
def test_more_room_never_shows_less(max_tokens):
    facts = [fact(f"Globex fact {number}") for number in range(30)]
    made = page(current=facts, open_conflicts=WHOLE.open_conflicts)
    less, more = (
        sum(line.startswith("- ") for line in render(made, n).splitlines()) for n in (max_tokens, 2 * max_tokens)
    )
    assert less <= more


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("日本", 2), ("é", 1)])
def test_tokens_are_four_latin_letters_or_one_of_another_script(text, tokens):
    assert tokens_of(text) == tokens

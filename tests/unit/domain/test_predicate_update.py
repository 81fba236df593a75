"""What an update of a predicate comes to, and what it must not."""

from __future__ import annotations

from typing import Any

import pytest
from concord_server.domain.commands import Violations
from concord_server.domain.enums import Cardinality
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.predicate_update import PredicateChange, PredicateUpdate, plan_update
from concord_server.domain.predicates import Predicate, PredicateSuggestion

from tests.unit.domain.builders import at

SINGLE, MULTI = Cardinality.SINGLE, Cardinality.MULTI


def color(*aliases: str, suggested: str = "", cardinality: Cardinality = SINGLE) -> Predicate:
    suggestions = tuple(PredicateSuggestion(name, 0.7, 2, at(0)) for name in suggested.split())
    return Predicate("color", cardinality, aliases, suggestions, 3, at(0), at(0))


def update(**fields: Any) -> PredicateUpdate:
    return PredicateUpdate("color", frozenset(fields), **fields).normalised()


def planned(known: Predicate, changed: PredicateUpdate, **stored: Any) -> PredicateChange:
    found = Violations()
    change = plan_update(known, changed, stored.get("aliases", {}), stored.get("cardinalities", {}), found)
    found.raise_if_any()
    return change


def test_only_what_is_named_changes():
    known = color("tint", suggested="paint")
    assert planned(known, PredicateUpdate("color", frozenset({"cardinality"}), SINGLE)) == PredicateChange()
    assert planned(known, update(cardinality=MULTI)) == PredicateChange(cardinality=MULTI)


def test_aliases_are_replaced_and_one_taken_away_is_not_learned_again():
    change = planned(color("tint", "hue"), update(aliases=("Hue", "paintColor")), aliases={"tint": "color"})
    assert change == PredicateChange(add=("paint_color",), remove=("tint",), drop=("tint",))


def test_suggestions_not_kept_are_dropped_unless_accepted():
    known = color(suggested="tint hue paint")
    change = planned(known, update(suggestions=("hue",), aliases=("tint",)))
    assert change == PredicateChange(add=("tint",), drop=("paint",))


@pytest.mark.parametrize(
    ("changed", "stored", "field"),
    [
        (update(aliases=("color",)), {}, "aliases[0]"),
        (update(aliases=("hue", "tint")), {"aliases": {"tint": "shade"}}, "aliases[1]"),
        (update(aliases=("tint",)), {"cardinalities": {"tint": MULTI}}, "aliases[0]"),
        (update(aliases=("tint",)), {"aliases": {"color": "tint"}}, "predicate"),
        (update(cardinality=MULTI), {"aliases": {"color": "tint"}}, "predicate"),
        (update(suggestions=("tint",)), {}, "suggestions[0]"),
    ],
)
def test_what_stored_names_do_not_allow(changed: PredicateUpdate, stored: dict[str, Any], field: str):
    with pytest.raises(InvalidFieldsError) as caught:
        planned(color(), changed, **stored)
    assert [violation.field for violation in caught.value.violations] == [field]


def test_an_alias_may_have_the_cardinality_that_is_set_with_it():
    changed = update(aliases=("tint",), cardinality=MULTI)
    assert planned(color(), changed, cardinalities={"tint": MULTI}).add == ("tint",)


def test_a_name_with_aliases_of_its_own_may_become_one():
    assert planned(color(), update(aliases=("tint",)), aliases={"hue": "tint"}).add == ("tint",)


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        (PredicateUpdate("", frozenset({"aliases"})), ["predicate"]),
        (PredicateUpdate("?!", frozenset({"aliases"})), ["predicate"]),
        (PredicateUpdate("color", frozenset()), ["update_mask"]),
        (PredicateUpdate("color", frozenset({"fact_count"})), ["update_mask"]),
        (PredicateUpdate("color", frozenset({"cardinality"})), ["cardinality"]),
        (
            PredicateUpdate("color", frozenset({"aliases"}), aliases=("a", "", "x" * 129)),
            ["aliases[1]", "aliases[2]"],
        ),
        (
            PredicateUpdate("color", frozenset({"aliases"}), aliases=tuple(f"a{i}" for i in range(101))),
            ["aliases"],
        ),
    ],
)
def test_bad_fields_are_named(given: PredicateUpdate, fields: list[str]):
    found = Violations()
    given.validate(found)
    with pytest.raises(InvalidFieldsError) as caught:
        found.raise_if_any()
    assert [violation.field for violation in caught.value.violations] == fields


def test_the_etag_changes_with_what_an_update_could_overwrite():
    known = color("tint", suggested="hue")
    others = [color("tint"), color(suggested="hue"), color("tint", suggested="hue", cardinality=MULTI)]
    assert len({known.etag, *(other.etag for other in others)}) == 4
    assert color("tint", suggested="hue").etag == known.etag

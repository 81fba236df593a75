"""Which predicate a claim means, what the judge is asked, and what is learned."""

from __future__ import annotations

import pytest
from concord_server.domain.enums import Cardinality, Trust
from concord_server.domain.judgement import Discrepancy, Judgement, Relation
from concord_server.domain.placement import Outcome
from concord_server.domain.predicates import (
    Ground,
    Meaning,
    Near,
    Proposal,
    UsedPredicate,
    Vocabulary,
    comparable,
    confirms,
    known_meaning,
    learnable,
    meaning,
    nearest,
    questions,
    teaches,
    worth_judging,
)
from concord_server.domain.values import Json

SINGLE, MULTI = Cardinality.SINGLE, Cardinality.MULTI
ALIASES = {"preferred_color": "favorite_color", "best_color": "favorite_color"}


def using(*names: str, aliases: dict[str, str] | None = None, decided: str = "") -> Vocabulary:
    return Vocabulary(tuple(UsedPredicate(n, SINGLE) for n in names), aliases or {}, frozenset(decided.split()))


@pytest.mark.parametrize(
    ("stated", "used", "expected"),
    [
        ("preferred_color", ["preferred_color", "favorite_color"], Meaning("preferred_color", Ground.STATED)),
        ("preferred_color", ["favorite_color"], Meaning("favorite_color", Ground.ALIAS)),
        ("preferred_color", ["best_color"], Meaning("best_color", Ground.ALIAS)),
        ("preferred_color", ["city"], Meaning("favorite_color", Ground.ALIAS)),
        ("favorite_color", ["best_color", "preferred_color"], Meaning("best_color", Ground.ALIAS)),
        ("favorite_color", ["city"], None),
        ("city", ["favorite_color"], None),
    ],
)
def test_a_name_means_what_the_subject_uses_of_its_family(stated: str, used: list[str], expected: Meaning | None):
    aliases = {} if stated == "city" else ALIASES
    assert known_meaning(stated, using(*used, aliases=aliases)) == expected


@pytest.mark.parametrize("value", [{"a": 1}, ["a"], None, ""])
def test_only_plain_values_are_compared(value: Json):
    assert comparable("a", None, value, using("b")) == ()


def test_only_single_slots_of_the_same_qualifiers_outside_the_family_are_compared():
    vocabulary = Vocabulary(
        (
            UsedPredicate("one", SINGLE),
            UsedPredicate("several", MULTI),
            UsedPredicate("elsewhere", SINGLE, same_qualifiers=False),
            UsedPredicate("kin", SINGLE),
        ),
        {"kin": "stated"},
    )
    assert [used.predicate for used in comparable("stated", None, 1, vocabulary)] == ["one"]
    assert comparable("stated", MULTI, 1, vocabulary) == ()


def test_the_nearest_are_proposed_the_far_and_the_counted_are_not():
    near = [Near("a", 0.6), Near("b", 0.9), Near("c", 0.49), Near("d", 0.7), Near("e", 0.8), Near("f_2", 0.99)]
    assert [one.predicate for one in nearest("f_1", near)] == []
    assert [one.predicate for one in nearest("f", near)] == ["b", "e", "d"]


def test_the_judge_is_asked_once():
    near = Near("favorite_color", 0.8)
    assert worth_judging("preferred_color", near, using("favorite_color"))
    assert not worth_judging("preferred_color", near, using("favorite_color", decided="favorite_color"))
    assert not worth_judging("car_color", near, using("favorite_color"))


def test_the_value_is_held_equal_both_ways_round():
    pairs = questions("Sam", "preferred_color", "green", Near("favorite_color", 0.8, "blue"))
    assert pairs == (
        ("Sam preferred color green", "Sam favorite color green"),
        ("Sam favorite color green", "Sam preferred color green"),
        ("Sam preferred color blue", "Sam favorite color blue"),
        ("Sam favorite color blue", "Sam preferred color blue"),
    )


@pytest.mark.parametrize("known", ["green", 3, True, {"name": "blue"}, None])
def test_values_of_another_kind_are_not_asked_about(known: Json):
    assert len(questions("Sam", "preferred_color", "green", Near("favorite_color", 0.8, known))) == 2


def judged(same: float, *discrepancies: Discrepancy) -> Judgement:
    return Judgement({Relation.SAME: same, Relation.DISTINCT: 1 - same}, discrepancies)


@pytest.mark.parametrize(
    ("judgements", "expected"),
    [
        ([judged(0.9), judged(0.8)], True),
        ([judged(0.9), judged(0.79)], False),
        ([judged(0.9), judged(0.9, Discrepancy.VALUE)], False),
        ([judged(0.9), judged(float("nan"))], False),
        ([Judgement({Relation.SAME: 0.9, Relation.CONTRADICTION: 0.9})], False),
        ([], False),
    ],
)
def test_every_answer_must_be_yes(judgements: list[Judgement], expected: bool):
    assert confirms(judgements) is expected


def test_a_proposal_counts_while_what_it_rests_on_stands():
    proposal = Proposal("preferred_color", frozenset({"favorite_color"}), Near("favorite_color", 0.8))
    stated = Meaning("preferred_color", Ground.STATED)

    def means(vocabulary: Vocabulary) -> Meaning | None:
        return meaning("preferred_color", None, "green", vocabulary, proposal)

    assert means(using("favorite_color")) == Meaning("favorite_color", Ground.MEANING)
    assert means(using()) == stated  # the slot is gone
    assert means(using("favorite_color", "preferred_color")) == stated
    assert means(using("favorite_color", "lucky_number")) is None  # not compared with that one
    assert means(using("favorite_color", decided="favorite_color")) is None  # the admin dropped it meanwhile
    assert means(using("favorite_color", aliases=ALIASES)) == Meaning("favorite_color", Ground.ALIAS)
    assert meaning("preferred_color", None, "green", using("favorite_color"), None) == stated


@pytest.mark.parametrize("trust", list(Trust))
@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize("ground", list(Ground))
def test_only_trusted_confirmed_supersessions_teach(ground: Ground, outcome: Outcome, trust: Trust):
    expected = (ground, outcome, trust) == (Ground.MEANING, Outcome.SUPERSEDED, Trust.TRUSTED)
    assert teaches(ground, outcome, trust) is expected


@pytest.mark.parametrize(
    ("aliases", "expected"),
    [
        ({}, True),
        ({"other": "favorite_color"}, True),
        ({"preferred_color": "tint"}, False),
        ({"favorite_color": "tint"}, False),
        ({"tint": "preferred_color"}, False),
        ({"favorite_color": "preferred_color"}, False),
    ],
)
def test_learning_joins_no_families_and_closes_no_loop(aliases: dict[str, str], expected: bool):
    assert learnable("preferred_color", "favorite_color", aliases) is expected

"""Findings overrule the fitted probabilities; nothing that cannot be read merges or replaces."""

import math

import pytest
from concord_server.domain.judgement import Discrepancy, Judgement, Relation
from concord_server.domain.model import Thresholds
from concord_server.providers.judges.evidence import FEATURES, features, gather
from concord_server.providers.judges.verdict import decide

SAME, CONTRADICTION = (
    {Relation.SAME: 0.9, Relation.EXTENSION: 0.1},
    {Relation.CONTRADICTION: 0.9, Relation.SAME: 0.1},
)


def judged(statement: str, known: str, fitted: dict[Relation, float], similarity: float = 0.9) -> Judgement:
    return decide(gather(statement, known, similarity), fitted, statement, "test")


def test_without_a_finding_the_fitted_probabilities_stand():
    judgement = judged("Ana resides in Oslo", "Ana lives in Oslo", SAME)
    assert judgement.largest() is Relation.SAME
    assert judgement.probability(Relation.SAME) == pytest.approx(0.9)
    assert judgement.discrepancies == ()


def test_a_finding_vetoes_same_however_sure_the_model_is():
    judgement = judged("The lease ends after 60 months", "The lease ends after 30 months", SAME)
    assert judgement.largest() is Relation.CONTRADICTION
    assert judgement.probability(Relation.SAME) <= 0.05
    assert judgement.discrepancies == (Discrepancy.NUMBER,)


def test_a_vetoed_same_replaces_nothing_where_only_a_shade_differs():
    judgement = judged("The tank holds at least 40 litres", "The tank holds 40 litres", SAME)
    assert judgement.largest() is Relation.EXTENSION
    assert judgement.probability(Relation.SAME) <= 0.05


def test_another_subject_never_contradicts():
    judgement = judged("Ben lives in Oslo", "Ana lives in Oslo", CONTRADICTION)
    assert judgement.largest() is Relation.DISTINCT
    assert judgement.probability(Relation.CONTRADICTION) == 0.0
    assert Discrepancy.ENTITY in judgement.discrepancies


def test_a_contradiction_that_declares_an_error_is_a_correction():
    statement = "Correction: the lease ends after 60 months"
    judgement = judged(statement, "The lease ends after 30 months", CONTRADICTION)
    assert judgement.largest() is Relation.CORRECTION


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("Ada works as a nurse", "Ada runs a bookshop"),
        ("Ada is lactose intolerant", "Ada can't have dairy"),
    ],
)
def test_what_the_model_alone_takes_for_a_contradiction_is_one_that_replaces_nothing(statement, known):
    judgement = judged(statement, known, CONTRADICTION)
    assert judgement.largest() is Relation.CONTRADICTION
    assert judgement.probability(Relation.CONTRADICTION) < Thresholds().supersede_probability


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("Ada lives in Lyon", "Ada lives in Turin"),
        ("The shop is not open on Sundays", "The shop opens on Sundays"),
        ("Actually Ada works as a nurse", "Ada runs a bookshop"),
    ],
)
def test_a_contradiction_that_is_backed_by_what_differs_or_declared_keeps_its_probability(statement, known):
    judgement = judged(statement, known, CONTRADICTION)
    denied = (Relation.CONTRADICTION, Relation.CORRECTION)
    assert max(map(judgement.probability, denied)) > Thresholds().supersede_probability


def test_another_value_that_may_hold_besides_is_an_extension():
    for statement, known in (("Ada has a cat", "Ada has a dog"), ("Ada read Emma", "Ada read Persuasion")):
        judgement = judged(statement, known, CONTRADICTION)
        assert judgement.largest() is Relation.EXTENSION
        assert judgement.discrepancies == (Discrepancy.VALUE,)
    assert judged("Actually Ada read Emma", "Ada read Persuasion", CONTRADICTION).largest() is Relation.CORRECTION


def test_the_same_text_is_the_same_whatever_was_fitted():
    judgement = judged("ana lives in OSLO.", "Ana lives in Oslo", CONTRADICTION)
    assert judgement.probability(Relation.SAME) > 0.99


@pytest.mark.parametrize(
    ("statement", "known"),
    [("東京は日本の首都です", "大阪は日本の首都です"), ("Le café est fermé", "Le café est ouvert")],
)
def test_what_cannot_be_read_neither_merges_nor_replaces(statement, known):
    for fitted in (SAME, CONTRADICTION):
        judgement = judged(statement, known, fitted, 0.99)
        assert judgement.largest() is Relation.EXTENSION
        assert judgement.probability(Relation.SAME) < 0.75
        assert judgement.probability(Relation.CONTRADICTION) < 0.75


@pytest.mark.parametrize("similarity", [0.0, 0.61, 1.0, -1.0, math.nan, math.inf])
def test_features_are_finite_for_any_cosine(similarity):
    import numpy as np

    values = features(
        gather("Ana has 3 cats", "Ben has 4 dogs", similarity), np.array([1e30, 0, -1e30, 0, 0, 0, 1e30])
    )
    assert values.shape == (len(FEATURES),)
    assert np.isfinite(values).all()


def test_the_rationale_is_one_line_that_names_the_difference():
    rationale = judged("The lease ends after 60 months", "The lease ends after 30 months", CONTRADICTION).rationale
    assert "60 months" in rationale
    assert "30 months" in rationale
    assert "\n" not in rationale

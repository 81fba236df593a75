"""Which hit a statement meets, and how (semantics, section 2, step 6)."""

import math

import pytest
from concord_server.domain.choice import Choice, ChoiceKind, Hit, choose
from concord_server.domain.enums import EvolutionType
from concord_server.domain.judgement import Discrepancy, Judgement, Relation
from concord_server.domain.model import Thresholds
from hypothesis import given
from hypothesis import strategies as st

T = Thresholds(similarity=0.85, conflict=0.60, merge_probability=0.75, supersede_probability=0.75)
MERGE, CONTRADICT, BRANCH, CREATE = ChoiceKind.MERGE, ChoiceKind.CONTRADICT, ChoiceKind.BRANCH, ChoiceKind.CREATE
SAME, REFINEMENT, CONTRADICTION, CORRECTION, EXTENSION, DISTINCT = Relation
NAN = math.nan


def hit(
    similarity: float,
    probabilities: dict[Relation, float],
    *discrepancies: Discrepancy,
    rest: Relation | None = None,
) -> Hit:
    """A hit; what is missing from 1 goes to ``rest``, if given."""
    filled = dict(probabilities)
    if rest is not None:
        filled[rest] = filled.get(rest, 0.0) + 1.0 - sum(probabilities.values())
    return Hit(similarity, Judgement(filled, discrepancies))


def chosen(*hits: Hit) -> tuple[ChoiceKind, int | None, EvolutionType | None]:
    choice = choose(hits, T)
    return choice.kind, choice.index, choice.evolution_type


def test_without_a_hit_it_is_created():
    assert choose([], T) == Choice(CREATE)


def test_all_distinct_is_created():
    assert chosen(hit(0.99, {DISTINCT: 1.0}), hit(0.98, {DISTINCT: 0.6}, rest=EXTENSION)) == (CREATE, None, None)


@pytest.mark.parametrize(
    ("similarity", "same", "kind", "by_similarity"),
    [
        pytest.param(0.85, 0.51, MERGE, True, id="similarity at its threshold"),
        pytest.param(0.8499, 0.75, MERGE, False, id="probability at its threshold"),
        pytest.param(0.61, 0.99, MERGE, False, id="probability alone"),
        pytest.param(0.8499, 0.7499, BRANCH, False, id="neither"),
        pytest.param(0.86, 0.80, MERGE, True, id="both"),
    ],
)
def test_what_is_same_merges_by_similarity_or_by_probability(similarity, same, kind, by_similarity):
    choice = choose([hit(similarity, {SAME: same}, rest=EXTENSION)], T)
    assert (choice.kind, choice.by_similarity) == (kind, by_similarity)


def test_similarity_alone_never_merges():
    assert chosen(hit(1.0, {SAME: 0.4, EXTENSION: 0.6}))[0] is BRANCH
    assert chosen(hit(1.0, {SAME: 0.4, DISTINCT: 0.6}))[0] is CREATE


@pytest.mark.parametrize("discrepancy", list(Discrepancy))
def test_any_discrepancy_keeps_from_merging(discrepancy):
    kind, index, evolution = chosen(hit(0.99, {SAME: 1.0}, discrepancy))
    assert (kind, index, evolution) == (BRANCH, 0, EvolutionType.EXTENSION)


def test_merging_picks_the_best_same_of_those_that_may_merge():
    hits = [
        hit(0.99, {SAME: 0.99}, Discrepancy.NUMBER, rest=DISTINCT),
        hit(0.95, {SAME: 0.80}, rest=DISTINCT),
        hit(0.70, {SAME: 0.90}, rest=DISTINCT),
    ]
    assert chosen(*hits)[:2] == (MERGE, 2)


def test_merging_comes_before_contradicting():
    hits = [hit(0.99, {CONTRADICTION: 1.0}), hit(0.7, {SAME: 0.8}, rest=DISTINCT)]
    assert chosen(*hits)[:2] == (MERGE, 1)


@pytest.mark.parametrize("relation", [SAME, CONTRADICTION, EXTENSION])
def test_of_equal_hits_the_first_is_chosen(relation):
    equal = hit(0.9, {relation: 1.0})
    assert choose([equal, equal, equal], T).index == 0


@pytest.mark.parametrize(
    ("relation", "evolution"),
    [(CONTRADICTION, EvolutionType.CONTRADICTION), (CORRECTION, EvolutionType.CORRECTION)],
)
def test_a_certain_contradiction_contradicts_whatever_the_similarity(relation, evolution):
    assert chosen(hit(0.61, {relation: 0.75}, rest=SAME)) == (CONTRADICT, 0, evolution)


@pytest.mark.parametrize("relation", [CONTRADICTION, CORRECTION])
def test_a_weak_contradiction_only_branches(relation):
    assert chosen(hit(0.99, {relation: 0.7499}, rest=SAME)) == (BRANCH, 0, EvolutionType.EXTENSION)


def test_contradiction_and_correction_are_not_added_up():
    weak = hit(0.99, {CONTRADICTION: 0.5, CORRECTION: 0.5})
    assert chosen(weak) == (BRANCH, 0, EvolutionType.EXTENSION)


def test_contradicting_picks_the_best_of_contradiction_and_correction():
    hits = [
        hit(0.99, {CONTRADICTION: 0.80}, rest=DISTINCT),
        hit(0.70, {CORRECTION: 0.95}, rest=DISTINCT),
        hit(0.98, {CONTRADICTION: 0.90}, rest=DISTINCT),
    ]
    assert chosen(*hits) == (CONTRADICT, 1, EvolutionType.CORRECTION)


@pytest.mark.parametrize("discrepancy", [Discrepancy.ENTITY, Discrepancy.ROLE])
@pytest.mark.parametrize("relation", [CONTRADICTION, CORRECTION])
def test_a_contradiction_about_someone_else_is_distinct(relation, discrepancy):
    other = hit(0.99, {relation: 1.0}, Discrepancy.NUMBER, discrepancy)
    assert other.relation is DISTINCT
    assert chosen(other) == (CREATE, None, None)


def test_a_contradiction_about_someone_else_leaves_other_hits_their_turn():
    other = hit(0.99, {CONTRADICTION: 1.0}, Discrepancy.ENTITY)
    assert chosen(other, hit(0.7, {CONTRADICTION: 0.9}, rest=SAME))[:2] == (CONTRADICT, 1)
    assert chosen(other, hit(0.7, {EXTENSION: 0.9}, rest=SAME))[:2] == (BRANCH, 1)


@pytest.mark.parametrize("discrepancy", sorted(set(Discrepancy) - {Discrepancy.ENTITY, Discrepancy.ROLE}))
def test_other_discrepancies_do_not_keep_from_contradicting(discrepancy):
    assert chosen(hit(0.9, {CONTRADICTION: 0.9}, discrepancy, rest=SAME))[0] is CONTRADICT


@pytest.mark.parametrize(
    ("relation", "evolution"),
    [(REFINEMENT, EvolutionType.REFINEMENT), (EXTENSION, EvolutionType.EXTENSION)],
)
def test_refining_and_extending_branch_with_their_type(relation, evolution):
    assert chosen(hit(0.99, {relation: 0.4, SAME: 0.3, DISTINCT: 0.3})) == (BRANCH, 0, evolution)


def test_branching_prefers_what_is_related_to_what_was_too_weak():
    weak = hit(0.99, {CONTRADICTION: 0.74, SAME: 0.26})
    related = hit(0.65, {REFINEMENT: 0.4, SAME: 0.3, DISTINCT: 0.3})
    assert chosen(weak, related) == (BRANCH, 1, EvolutionType.REFINEMENT)


def test_branching_ignores_what_is_distinct():
    assert chosen(hit(0.99, {DISTINCT: 1.0}), hit(0.65, {EXTENSION: 1.0}))[:2] == (BRANCH, 1)


INCONSISTENT = [
    pytest.param({}, id="missing"),
    pytest.param({SAME: NAN}, id="NaN"),
    pytest.param({SAME: 1.0, DISTINCT: NAN}, id="NaN beside a certainty"),
    pytest.param({SAME: math.inf}, id="infinite"),
    pytest.param({SAME: 1.2, DISTINCT: -0.2}, id="out of range"),
    pytest.param({SAME: 0.9}, id="sum below 1"),
    pytest.param({SAME: 0.9, DISTINCT: 0.2}, id="sum above 1"),
    pytest.param({SAME: 1.0, CONTRADICTION: 1.0}, id="two certainties"),
    pytest.param({SAME: 0.0, DISTINCT: 0.0}, id="zeros"),
]


@pytest.mark.parametrize("probabilities", INCONSISTENT)
@pytest.mark.parametrize("favoured", [SAME, CONTRADICTION, CORRECTION])
def test_inconsistent_probabilities_never_merge_and_never_supersede(probabilities, favoured):
    renamed = {favoured if r is SAME else SAME if r is favoured else r: p for r, p in probabilities.items()}
    assert chosen(hit(1.0, renamed)) == (BRANCH, 0, EvolutionType.EXTENSION)


def test_an_inconsistent_hit_leaves_other_hits_their_turn():
    assert chosen(hit(1.0, {SAME: NAN}), hit(0.7, {SAME: 0.9}, rest=DISTINCT))[:2] == (MERGE, 1)
    assert chosen(hit(1.0, {SAME: NAN}), hit(0.7, {CORRECTION: 0.9}, rest=DISTINCT))[:2] == (CONTRADICT, 1)
    assert chosen(hit(1.0, {SAME: NAN}), hit(0.7, {REFINEMENT: 0.9}, rest=SAME))[:2] == (BRANCH, 1)


def test_rounding_is_not_inconsistency():
    third = hit(0.9, {SAME: 0.334, DISTINCT: 0.333, EXTENSION: 0.3325})
    assert chosen(third)[0] is MERGE


@pytest.mark.parametrize("other", [EXTENSION, DISTINCT, REFINEMENT])
def test_a_tie_with_same_does_not_merge(other):
    assert chosen(hit(0.99, {SAME: 0.5, other: 0.5}))[0] is not MERGE


@pytest.mark.parametrize("other", [EXTENSION, DISTINCT, REFINEMENT, SAME])
def test_a_tie_with_contradiction_does_not_contradict(other):
    lenient = Thresholds(supersede_probability=0.5)
    choice = choose([hit(0.99, {CONTRADICTION: 0.5, other: 0.5})], lenient)
    assert choice.kind is not CONTRADICT


PROBABILITIES = st.dictionaries(
    st.sampled_from(list(Relation)), st.floats(0, 1) | st.just(NAN) | st.floats(), max_size=6
) | st.lists(st.integers(0, 20), min_size=6, max_size=6).filter(any).map(
    lambda weights: {r: w / sum(weights) for r, w in zip(Relation, weights, strict=True)}
)
HITS = st.lists(
    st.builds(
        lambda similarity, probabilities, found: Hit(similarity, Judgement(probabilities, tuple(found))),
        st.floats(0, 1),
        PROBABILITIES,
        st.lists(st.sampled_from(list(Discrepancy)), unique=True, max_size=2),
    ),
    max_size=5,
)


@given(HITS)
def test_what_is_chosen_may_be_chosen(hits):
    choice = choose(hits, T)
    if choice.kind is CREATE:
        assert all(h.relation is DISTINCT for h in hits)
        return
    assert choice.index is not None
    judgement = hits[choice.index].judgement
    if choice.kind is MERGE:
        assert judgement.consistent
        assert judgement.discrepancies == ()
        assert judgement.probability(SAME) == max(judgement.probabilities.values())
    elif choice.kind is CONTRADICT:
        assert judgement.consistent
        assert max(judgement.probability(CONTRADICTION), judgement.probability(CORRECTION)) >= 0.75
        assert {Discrepancy.ENTITY, Discrepancy.ROLE}.isdisjoint(judgement.discrepancies)

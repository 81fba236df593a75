"""What becomes of a model's word about two statements: nothing of it is trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from concord_server.domain.choice import ChoiceKind, Hit, choose
from concord_server.domain.enums import EvolutionType
from concord_server.domain.judgement import Discrepancy, Judgement, Relation
from concord_server.domain.model import Thresholds
from concord_server.domain.model_judgement import SURE, read_judgement, unsure
from concord_server.domain.values import Json
from hypothesis import given
from hypothesis import strategies as st

SAME, CONTRADICTION, EXTENSION = Relation.SAME, Relation.CONTRADICTION, Relation.EXTENSION


def read(value: Mapping[str, Json], told: Mapping[str, float] | None = None, *kinds: Discrepancy) -> Judgement:
    judgement = read_judgement(value, told, kinds, "m")
    assert judgement is not None
    return judgement


def chosen(judgement: Judgement, similarity: float = 0.99) -> tuple[ChoiceKind, EvolutionType | None]:
    choice = choose([Hit(similarity, judgement)], Thresholds())
    return choice.kind, choice.evolution_type


class TestReading:
    def test_stated_probabilities(self):
        judgement = read(
            {"reason": " the\nsame ", "relation": "same", "probabilities": {"same": 0.9, "extension": 0.1}}
        )
        assert judgement.probabilities == {SAME: 0.9, EXTENSION: 0.1}
        assert (judgement.rationale, judgement.judge) == ("the same", "m")
        assert chosen(judgement) == (ChoiceKind.MERGE, None)

    def test_those_of_the_tokens_come_first(self):
        told = {"same": 0.8, "distinct": 0.2}
        judgement = read({"relation": "same", "probabilities": {"same": 0.1, "distinct": 0.9}}, told)
        assert judgement.probability(SAME) == 0.8

    def test_rounding_is_borne(self):
        judgement = read({"relation": "same", "probabilities": {"same": "0.97", "extension": 0.05}})
        assert judgement.consistent
        assert math.fsum(judgement.probabilities.values()) == pytest.approx(1.0)

    @pytest.mark.parametrize(
        ("relation", "probabilities", "expected"),
        [
            ("merge", {"merge": 0.9, "branch": 0.1}, (ChoiceKind.MERGE, None)),
            ("Branch", {"merge": 0.2, "branch": 0.8}, (ChoiceKind.BRANCH, EvolutionType.EXTENSION)),
        ],
    )
    def test_a_judge_that_knows_only_merge_and_branch(
        self, relation: str, probabilities: dict[str, Json], expected: tuple[ChoiceKind, EvolutionType | None]
    ):
        assert chosen(read({"relation": relation, "probabilities": probabilities})) == expected

    @pytest.mark.parametrize("relation", [None, "", "unsure", 1, ["same"], {"same": 1}])
    def test_without_a_relation_there_is_no_judgement(self, relation: Json):
        assert read_judgement({"relation": relation, "probabilities": {"same": 1.0}}, None) is None


BAD: list[Json] = [
    None,
    {},
    [],
    "0.9",
    {"same": float("nan")},
    {"same": float("inf")},
    {"same": 1.5, "distinct": -0.5},
    {"same": 0.9},
    {"same": 0.9, "distinct": 0.9},
    {"same": "very", "distinct": 0.1},
    {"same": True},
    {"same": 0.9, "other": 0.1},
    {"same": 0.4, "distinct": 0.6},
    {"same": None, "distinct": 1.0},
    {"same": [1.0]},
]


@pytest.mark.parametrize("relation", ["same", "contradiction", "correction"])
@pytest.mark.parametrize("probabilities", BAD, ids=repr)
def test_bad_probabilities_neither_merge_nor_replace(relation: str, probabilities: Json):
    judgement = read({"relation": relation, "probabilities": probabilities})
    assert not judgement.consistent
    assert chosen(judgement) == (ChoiceKind.BRANCH, EvolutionType.EXTENSION)


def test_probabilities_of_tokens_that_contradict_the_relation_count_for_nothing():
    assert not read({"relation": "contradiction"}, {"same": 0.9, "contradiction": 0.1}).consistent


def test_a_discrepancy_vetoes_a_merge_whatever_the_model_says():
    certain: dict[str, Json] = {"relation": "same", "probabilities": {"same": 1.0}}
    assert chosen(read(certain, None, Discrepancy.NUMBER))[0] is ChoiceKind.BRANCH


def test_what_is_about_someone_else_replaces_nothing():
    certain: dict[str, Json] = {"relation": "contradiction", "probabilities": {"contradiction": 1.0}}
    assert chosen(read(certain))[0] is ChoiceKind.CONTRADICT
    assert chosen(read(certain, None, Discrepancy.ENTITY))[0] is ChoiceKind.CREATE


_JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8) | st.sampled_from(list(Relation)).map(str),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["same", "contradiction", "merge", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional={"relation": _JSON, "probabilities": _JSON, "reason": _JSON}))
def test_whatever_a_model_says_only_sound_probabilities_merge_or_replace(value: dict[str, Json]):
    judgement = read_judgement(value, None)
    if judgement is None:
        return
    kind, _ = chosen(judgement)
    if kind in (ChoiceKind.MERGE, ChoiceKind.CONTRADICT):
        assert judgement.consistent
        assert isinstance(value["probabilities"], dict)
        largest = judgement.largest()
        assert largest is not None
        assert value["relation"] is not None


class TestUnsure:
    @pytest.mark.parametrize(
        ("probabilities", "expected"),
        [
            ({SAME: 1.0}, False),
            ({SAME: SURE, EXTENSION: 1.0 - SURE}, False),
            ({SAME: 0.74, EXTENSION: 0.26}, True),
            ({CONTRADICTION: 0.7, EXTENSION: 0.3}, True),
            (dict.fromkeys(Relation, 1 / 6), True),
            ({}, True),
            ({SAME: float("nan")}, True),
        ],
    )
    def test_a_judge_is_unsure_below_what_a_merge_needs(
        self, probabilities: dict[Relation, float], expected: bool
    ):
        assert unsure(Judgement(probabilities)) is expected

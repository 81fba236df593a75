from __future__ import annotations

from uuid import UUID

import pytest
from concord_server.domain.judgement import Discrepancy, Judgement, Relation
from concord_server.domain.local_observing import Related, local_answer, relates
from concord_server.domain.model import Fact
from concord_server.domain.observing import Pool, Update

from tests.unit.observing.values import fact, observation


def related(
    *pairs: tuple[Fact, Fact], worded: tuple[tuple[Fact, int], ...] = (), same_source: tuple[Fact, ...] = ()
) -> Related:
    """Every fact has a source of its own, but for those of ``same_source``."""
    ids = [(a.fact_id, b.fact_id) for a, b in pairs]
    facts = {each.fact_id for pair in pairs for each in pair} | {each.fact_id for each, _ in worded}
    shared = {each.fact_id for each in same_source}
    origins = {each: frozenset({b"shared" if each in shared else each.bytes}) for each in facts | shared}
    return Related(
        frozenset([*ids, *((b, a) for a, b in ids)]),
        frozenset((each.fact_id, UUID(int=number)) for each, number in worded),
        origins,
    )


A, B, C, D = fact(1, "a", 0), fact(2, "b", 1, sources=3), fact(3, "c", 2), fact(4, "d", 3)


def test_related_facts_of_distinct_sources_are_one_observation_worded_as_the_best_supported():
    [created] = local_answer(Pool((A, B, C)), related((A, B), (A, C), (B, C))).creates
    assert (created.text, created.fact_ids) == ("b", (A.fact_id, B.fact_id, C.fact_id))


def test_a_wording_relates_to_every_fact_before_it_is_well_supported():
    [created] = local_answer(Pool((A, B, C)), related((A, B), (A, C))).creates
    assert created.text == "a"


def test_one_source_is_not_enough():
    assert local_answer(Pool((A, B)), related((A, B), same_source=(A, B))).creates == ()


def test_nothing_is_said_of_facts_that_stand_alone():
    answer = local_answer(Pool((A, B)), related((C, D)))
    assert (answer.creates, answer.updates) == ((), ())


def test_facts_considered_earlier_join_those_of_the_batch_but_form_nothing_alone():
    assert len(local_answer(Pool((A,), (B,)), related((A, B))).creates) == 1
    assert local_answer(Pool((A,), (B, C)), related((B, C))).creates == ()


def test_a_fact_joins_the_observation_that_it_relates_to_whose_wording_stays():
    known = observation(9, "b", B, C)
    answer = local_answer(Pool((A,), (B, C), (known,)), related((A, B), worded=((A, 9),)))
    assert answer.updates == (Update(known.observation_id, "b", (A.fact_id,), "one more fact agrees"),)
    assert answer.creates == ()


def test_what_lost_its_wording_is_worded_as_the_best_supported_of_the_rest():
    known = observation(9, "gone", A, B)
    [update] = local_answer(Pool((A, B), (), (known,)), related((A, B))).updates
    assert (update.text, set(update.fact_ids)) == ("b", {A.fact_id, B.fact_id})


def test_what_no_longer_rests_on_two_sources_is_retired():
    known = observation(9, "gone", A)
    [retired] = local_answer(Pool((A,), (), (known,)), related((A, B))).retires
    assert retired.observation_id == known.observation_id


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        (Judgement({Relation.SAME: 0.9, Relation.DISTINCT: 0.1}), True),
        (Judgement({Relation.EXTENSION: 0.8, Relation.DISTINCT: 0.2}), True),
        (Judgement({Relation.DISTINCT: 0.6, Relation.SAME: 0.4}), False),
        (Judgement({Relation.CONTRADICTION: 1.0}), False),
        (Judgement({Relation.SAME: 1.0}, (Discrepancy.ENTITY,)), False),
        (Judgement({Relation.SAME: 0.9}), False),
        (Judgement({Relation.SAME: float("nan")}), False),
        (Judgement({}), False),
    ],
)
def test_an_invalid_judgement_relates_nothing(judgement, expected):
    assert relates(judgement) is expected

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from concord_server.domain.judgement import Discrepancy, Judgement, Relation
from concord_server.domain.local_observing import Related, local_answer, supports
from concord_server.domain.model import Fact
from concord_server.domain.observing import Pool, Update
from concord_server.domain.wordings import is_lasting

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


def test_facts_that_bear_each_other_out_are_one_observation_worded_as_the_best_supported():
    [created] = local_answer(Pool((A, B, C)), related((A, B), (A, C), (B, C))).creates
    assert (created.text, created.fact_ids) == ("b", (A.fact_id, B.fact_id, C.fact_id))


def test_more_facts_that_bear_a_wording_out_go_before_more_sources():
    [created] = local_answer(Pool((A, B, C)), related((A, B), (A, C))).creates
    assert created.text == "a"


def test_a_chain_of_kindred_facts_is_not_one_observation():
    answer = local_answer(Pool((A, B, C, D)), related((A, B), (B, C), (C, D)))
    assert [set(each.fact_ids) for each in answer.creates] == [{A.fact_id, B.fact_id, C.fact_id}]


def test_a_fact_is_borne_out_by_another_in_one_direction():
    one_way = Related(frozenset({(A.fact_id, B.fact_id)}), frozenset(), related((A, B)).origins)
    [created] = local_answer(Pool((A, replace(B, source_count=1))), one_way).creates
    assert created.text == "b"


def test_what_is_of_one_occasion_words_nothing():
    then = fact(5, "b went there last week", 1, sources=9)
    [created] = local_answer(Pool((A, then)), related((A, then))).creates
    assert created.text == "a"
    assert local_answer(Pool((then, fact(6, "b goes next month"))), related((then, fact(6)))).creates == ()
    assert not is_lasting("Just married")
    assert is_lasting("a lasting and adjusted plan")


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


def test_what_lost_its_wording_is_worded_as_what_all_of_the_rest_bear_out():
    known = observation(9, "gone", A, B)
    [update] = local_answer(Pool((A, B), (), (known,)), related((A, B))).updates
    assert (update.text, set(update.fact_ids)) == ("b", {A.fact_id, B.fact_id})


def test_what_lost_its_wording_makes_room_where_the_rest_have_none_together():
    known = observation(9, "gone", A, B, C)
    answer = local_answer(Pool((A, B, C), (), (known,)), related((A, B)))
    assert [each.observation_id for each in answer.retires] == [known.observation_id]
    assert [(each.text, set(each.fact_ids)) for each in answer.creates] == [("b", {A.fact_id, B.fact_id})]


def test_what_no_longer_rests_on_two_sources_is_retired():
    known = observation(9, "gone", A)
    [retired] = local_answer(Pool((A,), (), (known,)), related((A, B))).retires
    assert retired.observation_id == known.observation_id


def judged(
    same: float = 0.0, refinement: float = 0.0, contradiction: float = 0.0, **more: Discrepancy
) -> Judgement:
    """A judgement whose rest is EXTENSION."""
    rest = 1 - same - refinement - contradiction
    given = {Relation.SAME: same, Relation.REFINEMENT: refinement, Relation.CONTRADICTION: contradiction}
    return Judgement({**given, Relation.EXTENSION: rest}, tuple(more.values()))


@pytest.mark.parametrize(
    ("wording_stated", "fact_stated", "expected"),
    [
        (judged(same=0.5), judged(refinement=0.5), True),
        (judged(same=0.75), judged(refinement=0.25), True),
        (judged(same=0.5), judged(same=0.2, refinement=0.3), True),
        (judged(refinement=0.9), judged(same=0.1), False),
        (judged(same=0.5), judged(refinement=0.2), False),
        (judged(), judged(), False),
        (judged(same=0.6, contradiction=0.3), judged(refinement=0.9), False),
        (judged(same=0.6), judged(refinement=0.7, contradiction=0.3), False),
        (judged(same=0.9, found=Discrepancy.ENTITY), judged(refinement=0.9), False),
        (judged(same=0.9), judged(refinement=0.9, found=Discrepancy.NUMBER), False),
        (Judgement({Relation.SAME: 0.9}), judged(refinement=0.9), False),
        (judged(same=0.9), Judgement({Relation.REFINEMENT: float("nan")}), False),
        (Judgement({}), Judgement({}), False),
    ],
)
def test_a_fact_bears_a_wording_out_where_both_orders_say_so(wording_stated, fact_stated, expected):
    assert supports(wording_stated, fact_stated) is expected

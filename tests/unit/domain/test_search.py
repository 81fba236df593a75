"""The fusion of two rankings."""

from __future__ import annotations

import pytest
from concord_server.domain.commands import Violations
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.search import SearchHit, SearchQuery, fuse, ranked_depth
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.builders import uid


def hit(number: int, similarity: float | None, text_rank: float = 0.0) -> SearchHit:
    return SearchHit(uid(number), similarity, text_rank)


def order(*hits: SearchHit, top_k: int = 10, min_similarity: float = 0.0) -> list[int]:
    return [scored.hit.item_id.int for scored in fuse(hits, top_k, min_similarity=min_similarity)]


def test_a_fact_that_both_rankings_name_comes_before_those_of_one():
    assert order(hit(1, 0.9), hit(2, 0.8, 0.1), hit(3, None, 0.9)) == [2, 1, 3]


def test_the_score_is_the_sum_of_reciprocal_ranks():
    first, second = fuse([hit(1, 0.9, 0.1), hit(2, 0.8, 0.2)], 10)
    assert first.score == pytest.approx(1 / 61 + 1 / 62)
    assert second.score == pytest.approx(1 / 62 + 1 / 61)
    assert first.hit.item_id == uid(1)


def test_ties_go_by_similarity_then_by_id():
    assert order(hit(2, 0.5), hit(1, 0.5)) == [1, 2]
    assert order(hit(3, None, 0.5), hit(1, 0.4)) == [1, 3]
    assert order(hit(2, 0.5, 0.5), hit(1, 0.6, 0.5)) == [1, 2]


def test_a_fact_found_both_ways_is_one_result_with_what_each_way_knows():
    [scored] = fuse([hit(1, 0.5), SearchHit(uid(1), None, 0.25)], 10)
    assert scored.hit == hit(1, 0.5, 0.25)


def test_a_bound_of_similarity_spares_what_matches_a_word():
    hits = (hit(1, 0.9), hit(2, 0.2), hit(3, 0.1, 0.5), hit(4, None, 0.5), hit(5, None))
    assert set(order(*hits, min_similarity=0.5)) == {1, 3, 4}
    assert set(order(*hits)) == {1, 2, 3, 4}


def test_ranks_beyond_the_depth_count_for_nothing():
    many = [hit(number, 1 - number / 1000) for number in range(1, 201)]
    assert order(*many, top_k=500) == list(range(1, 201))
    assert len(order(*many, top_k=100)) == 100
    assert ranked_depth(10) == 50
    assert ranked_depth(80) == 160


@given(
    st.lists(
        st.builds(
            SearchHit,
            st.integers(1, 30).map(uid),
            st.none() | st.sampled_from([0.1, 0.5, 0.9]),
            st.sampled_from([0.0, 0.1, 0.2]),
        ),
        unique_by=lambda found: found.item_id,
    ),
    st.randoms(),
    st.integers(1, 5),
)
def test_the_order_of_arrival_never_matters_and_fewer_are_the_first_of_more(hits, random, top_k):
    shuffled = random.sample(hits, len(hits))
    assert fuse(shuffled, 50) == fuse(hits, 50)
    assert fuse(hits, top_k) == fuse(hits, 50)[:top_k]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (SearchQuery(""), "query"),
        (SearchQuery("?!"), "query"),
        (SearchQuery("x" * 8193), "query"),
        (SearchQuery("x", min_similarity=-0.1), "min_similarity"),
        (SearchQuery("x", min_similarity=float("nan")), "min_similarity"),
    ],
)
def test_what_cannot_be_searched_for_is_named(query, field):
    found = Violations()
    query.validate(found)
    with pytest.raises(InvalidFieldsError) as caught:
        found.raise_if_any()
    assert [violation.field for violation in caught.value.violations] == [field]

from concord_server.providers.embedders.onnx import group_by_length
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.integers(1, 300)), st.integers(1, 600))
def test_every_text_is_in_one_group_within_the_bound(lengths: list[int], max_tokens: int):
    groups = list(group_by_length(lengths, max_tokens))
    assert sorted(position for group in groups for position in group) == list(range(len(lengths)))
    for group in groups:
        padded = max(lengths[position] for position in group) * len(group)
        assert padded <= max_tokens or len(group) == 1


def test_texts_of_like_length_are_computed_together():
    assert list(group_by_length([3, 90, 4, 80, 5], 200)) == [[0, 2, 4], [3, 1]]
    assert list(group_by_length([3, 3, 90], 100)) == [[0, 1], [2]]

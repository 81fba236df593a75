"""Probabilities of choices from those of tokens."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from concord_server.providers.language_models.choices import Token, choice_probabilities

CHOICES = ("same", "contradiction", "correction", "distinct")


def tokens(*parts: str | tuple[str, Mapping[str, float]]) -> list[Token]:
    return [Token(part, {part: 1.0}) if isinstance(part, str) else Token(*part) for part in parts]


def test_a_bare_choice_is_read():
    answer = tokens(("same", {"same": 0.7, "distinct": 0.2, "the": 0.1}))
    assert choice_probabilities(answer, CHOICES) == pytest.approx(
        {"same": 7 / 9, "contradiction": 0.0, "correction": 0.0, "distinct": 2 / 9}
    )


def test_the_named_member_counts_not_a_choice_that_the_reasoning_names():
    answer = tokens(
        '{"reason": "not the ', "same", '", "relation": "', ("distinct", {"distinct": 0.9, "same": 0.1}), '"}'
    )
    found = choice_probabilities(answer, CHOICES, "relation")
    assert found == pytest.approx({"same": 0.1, "contradiction": 0.0, "correction": 0.0, "distinct": 0.9})


def test_a_token_may_begin_with_the_quote():
    answer = tokens('{"relation":', (' "same', {' "same': 0.8, ' "distinct': 0.2}), '"}')
    found = choice_probabilities(answer, CHOICES, "relation")
    assert found is not None
    assert found["same"] == pytest.approx(0.8)


def test_choices_that_begin_alike_are_told_apart_by_what_follows():
    answer = tokens(
        '{"relation": "',
        ("co", {"co": 0.9, "same": 0.1}),
        ("rrection", {"rrection": 0.75, "ntradiction": 0.25}),
        '"}',
    )
    assert choice_probabilities(answer, CHOICES, "relation") == pytest.approx(
        {"same": 0.1, "contradiction": 0.225, "correction": 0.675, "distinct": 0.0}
    )


def test_alternatives_that_cannot_be_told_apart_share_evenly():
    answer = tokens(("same", {"same": 0.6, "co": 0.4}))
    found = choice_probabilities(answer, CHOICES)
    assert found is not None
    assert (found["contradiction"], found["correction"]) == (0.2, 0.2)


def test_a_choice_that_another_begins_with_keeps_what_does_not_follow():
    answer = tokens(("same", {"same": 1.0}), ('"', {'"': 0.7, "_as": 0.3}))
    found = choice_probabilities(answer, ("same", "same_as"))
    assert found == pytest.approx({"same": 0.7, "same_as": 0.3})


@pytest.mark.parametrize(
    "answer",
    [
        tokens("I think that they are the same thing"),
        tokens(("same", {"same": 0.2, "I": 0.8})),
        tokens('{"relation": "unknown"}'),
        [],
    ],
)
def test_where_tokens_do_not_tell_nothing_is_said(answer: list[Token]):
    assert choice_probabilities(answer, CHOICES, "relation") is None

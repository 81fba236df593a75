"""What a text must say before it can bear out a wording."""

import pytest
from concord_server.domain.wordings import bears_words, is_lasting


@pytest.mark.parametrize(
    ("wording", "text"),
    [
        ("Ana appreciates Ben's help", "Ana is helpful towards Ben's family"),
        ("Ana is helpful to Ben", "Ana appreciates Ben's help"),
        ("Ana's favourite tea is green because it is mild", "Ana drinks green tea"),
        ("Ana always walks to work", "Ana walks to work"),
    ],
)
def test_another_part_of_somebody_or_a_weaker_claim_bears_nothing_out(wording, text):
    assert not bears_words(wording, text, "Ana")


@pytest.mark.parametrize(
    ("wording", "text"),
    [
        ("Ana appreciates Ben's help", "Ben's help means much to Ana"),
        ("Ana's favorite tea is green", "Green is Ana's favourite tea of all"),
        ("Ana's cat is black", "Ana has a black cat"),
        ("Ana walks to work", "Ana always walks to work"),
        ("Ana likes Porto", "Ana's weekends are for the river"),
    ],
)
def test_the_same_part_or_a_stronger_claim_may(wording, text):
    assert bears_words(wording, text, "Ana")


@pytest.mark.parametrize(
    "text", ["Ana is currently reading a novel", "Ana moved last week", "Ana now lives in Porto"]
)
def test_what_is_of_one_occasion_does_not_last(text):
    assert not is_lasting(text)

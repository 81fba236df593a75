"""Negations and opposite words are named, and cancel each other."""

import pytest
from concord_server.domain.discrepancies import detect


def kinds(statement: str, known: str) -> list[str]:
    return [finding.kind.value for finding in detect(statement, known)]


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("Mira is not diabetic", "Mira is diabetic"),
        ("Mira isn't diabetic", "Mira is diabetic"),
        ("The printer no longer works", "The printer works"),
        ("The printer never works", "The printer works"),
        ("The test fails to finish", "The test finishes"),
        ("He left without a coat", "He left with a coat"),
        ("She cannot swim", "She can swim"),
        ("Nobody attended the talk", "Somebody attended the talk"),
        ("The plan was unsuccessful", "The plan was successful"),
        ("The data is inconsistent", "The data is consistent"),
        ("The cable is disconnected", "The cable is connected"),
        ("He stopped smoking", "He smokes"),
    ],
)
def test_a_denial_is_a_negation(statement, known):
    assert "negation" in kinds(statement, known)
    assert "negation" in kinds(known, statement)


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("The valve is open", "The valve is closed"),
        ("Kofi hates olives", "Kofi likes olives"),
        ("The soup is hot", "The soup is cold"),
        ("The lamp is on", "The lamp is off"),
        ("The alarm was disabled", "The alarm was enabled"),
        ("It is the cheapest seat", "It is the most expensive seat"),
        ("The board rejected the plan", "The board accepted the plan"),
    ],
)
def test_an_opposite_word_is_an_antonym(statement, known):
    assert {"antonym", "negation", "comparison"} & set(kinds(statement, known))


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("The idea is not bad", "The idea is good"),
        ("The door is not closed", "The door is open"),
        ("The test was not unsuccessful", "The test was successful"),
        ("The printer doesn't work", "The printer does not work"),
        ("She cannot swim", "She is unable to swim"),
        ("No. 5 is the last stop", "Number 5 is the last stop"),
    ],
)
def test_two_denials_cancel(statement, known):
    assert {"negation", "antonym"}.isdisjoint(kinds(statement, known))


def test_both_ends_of_one_relation_are_not_opposites():
    assert "antonym" not in kinds("Ana is the employer of Ben", "Ben is an employee of Ana")

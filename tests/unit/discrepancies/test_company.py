"""Another value beside the known one, rather than against it."""

import pytest
from concord_server.domain.discrepancies.alignment import align, read
from concord_server.domain.discrepancies.company import stands_beside
from concord_server.domain.discrepancies.detect import find_all


def beside(statement: str, known: str) -> bool:
    alignment = align(read(statement), read(known))
    return stands_beside(alignment, find_all(alignment))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rahul read Dune", "Rahul read Neuromancer"),
        ("Ben has a dog", "Ben has a cat"),
        ("Kim has a friend named Joe", "Kim has a friend named Max"),
        ("Lucy visited Rome in 2019", "Lucy visited Athens in 2021"),
        ("Ana went to the gym on Monday", "Ana went to the gym on Wednesday"),
        ("Ivan's favourite book is Dune", "Ivan's favourite film is Alien"),
        ("Kim has a brother named Joe", "Kim has a sister named Sue"),
        ("Tom's sister is a nurse", "Tom's brother is a nurse"),
        ("My wife is allergic to nuts", "My son is allergic to nuts"),
        ("Zoe used to work at IBM", "Zoe works at Oracle"),
        ("Zoe has lived in Paris", "Zoe has lived in Rome"),
        ("Ivan's favorite book is Dune", "Ivan's favorite film is Alien"),
    ],
)
def test_what_may_hold_of_one_subject_side_by_side(one, other):
    assert beside(one, other)
    assert beside(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana lives in Oslo", "Ana lives in Bergen"),
        ("Nadia works at Google", "Nadia works at Microsoft"),
        ("Lena's favourite colour is blue", "Lena's favourite colour is green"),
        ("The house has a red door", "The house has a blue door"),
        ("Sam has an allergy to peanuts", "Sam has an allergy to shellfish"),
        ("The service has a timeout of 30 seconds", "The service has a timeout of 60 seconds"),
        ("Alice owns 3 bikes", "Alice owns 4 bikes"),
        ("Rahul read Dune", "Rahul did not read Dune"),
        ("Ana is playing chess", "Ana is playing poker"),
        ("Ana finished the race on Monday", "Ana finished the race on Tuesday"),
        ("Zoe has lived in Paris since May", "Zoe has lived in Rome since May"),
        ("Sam's boss is Tom", "Sam's manager is Ann"),
        ("The board meeting is on Monday", "The board meeting is on Tuesday"),
        ("The plays open in May", "The plays open in June"),
        ("Ana likes pizza", "Ben likes pizza"),
        ("Ana likes pizza", "Ana likes pizza"),
        ("Ana has", "Ana has a"),
        ("", ""),
    ],
)
def test_what_excludes_or_says_the_same_stands_beside_nothing(one, other):
    assert not beside(one, other)
    assert not beside(other, one)

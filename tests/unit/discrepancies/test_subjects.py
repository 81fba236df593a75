"""Another subject, another value in the same frame, and swapped roles."""

import pytest
from concord_server.domain.discrepancies import detect


def kinds(statement: str, known: str) -> list[str]:
    return [finding.kind.value for finding in detect(statement, known)]


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("Tariq drives a van", "Zoe drives a van"),
        ("Zoe's dentist is Dr Novak", "Tariq's dentist is Dr Novak"),
        ("The mayor of Porto is Rui Costa", "The mayor of Braga is Rui Costa"),
        ("The flag beta_search is on", "The flag dark_theme is on"),
        ("The canal is 40 km long", "The railway is 40 km long"),
        ("The railway has a length of 40 km", "The canal is 40 km long"),
        ("There are nine players in the troupe", "The crew has nine players"),
        ("Mateo Tanaka prefers green tea", "Mateo Berg prefers green tea"),
        ("Order ORD-5522 was paid", "Order ORD-4411 was paid"),
        ("ORD-5522 was paid", "ORD-4411 was paid"),
        ("Order 5522 was paid", "Order 4411 was paid"),
        ("Invoice #77 is due", "Invoice #78 is due"),
        ("Sam's ticket 12 is closed", "Sam's ticket 13 is closed"),
        ("The gate 6 closes early", "Gate 7 closes early"),
        ("Project Apollo ships in May", "Project Gemini ships in May"),
    ],
)
def test_another_subject_is_an_entity(statement, known):
    assert "entity" in kinds(statement, known)
    assert "entity" in kinds(known, statement)


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("The 12 gates are open", "The 14 gates are open"),
        ("Ana owns 3 tickets", "Ana owns 4 tickets"),
        ("Room 12 has 3 beds", "Room 12 has 4 beds"),
        ("Add 3 eggs", "Add 4 eggs"),
    ],
)
def test_a_number_that_counts_names_no_subject(statement, known):
    assert kinds(statement, known) == ["number"]


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("Zoe's van is green", "Zoe's van is yellow"),
        ("The mayor of Porto is Rui Costa", "The mayor of Porto is Ana Reis"),
        ("Zoe moved to Lyon", "Zoe moved to Turin"),
        ("Turin is where Zoe studies", "Zoe studies in Lyon"),
        ("The report is sent weekly", "The report is sent daily"),
        ("The router supports IPv6", "The router supports WPA3"),
    ],
)
def test_another_value_of_the_same_subject_is_no_entity(statement, known):
    found = kinds(statement, known)
    assert "value" in found
    assert "entity" not in found


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("Omar trained Lin", "Lin trained Omar"),
        ("Omar's tutor is Lin", "Lin's tutor is Omar"),
        ("The cat chased the dog", "The dog chased the cat"),
        ("Omar was trained by Lin", "Omar trained Lin"),
        ("Omar is taller than Lin", "Lin is taller than Omar"),
    ],
)
def test_swapped_roles_are_named(statement, known):
    assert "role" in kinds(statement, known)


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("Lin was trained by Omar", "Omar trained Lin"),
        ("Omar and Lin are cousins", "Lin and Omar are cousins"),
        ("Omar is married to Lin", "Lin is married to Omar"),
        ("Lima is the capital of Peru", "Peru's capital is Lima"),
        ("Omar is taller than Lin", "Lin is shorter than Omar"),
        ("In Lyon, Omar met Lin", "Omar met Lin in Lyon"),
        ("The team uses Slack and Jira", "The team uses Jira and Slack"),
    ],
)
def test_the_same_roles_in_another_order_are_no_discrepancy(statement, known):
    assert kinds(statement, known) == []


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("Nina dwells in Rome", "Nina lives in Rome"),
        ("Nina heads the NGO as CEO", "Nina heads the NGO as chief executive officer"),
        ("Rome is where Nina lives", "Nina lives in Rome"),
        ("The largest lake is Vostok", "The biggest lake is Vostok"),
        ("The film is two hours long", "The movie is two hours long"),
    ],
)
def test_a_paraphrase_is_no_discrepancy(statement, known):
    assert kinds(statement, known) == []

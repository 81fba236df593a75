"""Modal verbs, quantifiers, comparison and direction."""

import pytest
from concord_server.domain.discrepancies import detect


def kinds(statement: str, known: str) -> list[str]:
    return [finding.kind.value for finding in detect(statement, known)]


@pytest.mark.parametrize(
    ("statement", "known", "kind"),
    [
        ("Staff may wear jeans", "Staff must wear jeans", "modal"),
        ("Staff should wear jeans", "Staff must wear jeans", "modal"),
        ("It might rain", "It will rain", "modal"),
        ("All lamps are lit", "Some lamps are lit", "quantifier"),
        ("Most lamps are lit", "All lamps are lit", "quantifier"),
        ("Only admins can deploy", "Admins can deploy", "quantifier"),
        ("Half of the seats are taken", "All of the seats are taken", "quantifier"),
        ("The load rose by 10%", "The load fell by 10%", "comparison"),
        ("The tank holds more than 40 litres", "The tank holds less than 40 litres", "comparison"),
        ("The tank holds at least 40 litres", "The tank holds 40 litres", "comparison"),
        ("The audit comes before the launch", "The audit comes after the launch", "comparison"),
        ("The bus goes from Oslo to Bergen", "The bus goes from Bergen to Oslo", "comparison"),
        ("The shelf hangs above the desk", "The shelf hangs below the desk", "comparison"),
    ],
)
def test_a_changed_shade_is_named(statement, known, kind):
    assert kind in kinds(statement, known)
    assert kind in kinds(known, statement)


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("Staff have to wear jeans", "Staff must wear jeans"),
        ("Staff are allowed to wear jeans", "Staff may wear jeans"),
        ("Every lamp is lit", "Each lamp is lit"),
        ("The talk is in May", "The talk is planned for May"),
        ("The load grew by 10%", "The load rose by 10%"),
        ("The load was up 10%", "The load increased by 10%"),
    ],
)
def test_the_same_shade_in_other_words_is_no_discrepancy(statement, known):
    assert {"modal", "quantifier", "comparison"}.isdisjoint(kinds(statement, known))

"""Changed numbers, dates, times, units, currencies and versions are named; other spellings of the same are not."""

import pint
import pytest
from concord_server.domain.discrepancies import detect
from concord_server.domain.discrepancies.numbers import find_numbers, words_value
from concord_server.domain.discrepancies.units import UNITS
from concord_server.domain.judgement import Discrepancy


def kinds(statement: str, known: str) -> list[str]:
    return [finding.kind.value for finding in detect(statement, known)]


@pytest.mark.parametrize(
    ("statement", "known", "kind"),
    [
        ("The job runs 12 workers", "The job runs 16 workers", "number"),
        ("The job runs twelve workers", "The job runs 16 workers", "number"),
        ("The town has 12,500 residents", "The town has 12,600 residents", "number"),
        ("Sales fell by 4%", "Sales fell by 5 percent", "number"),
        ("She finished in third place", "She finished in 2nd place", "number"),
        ("The pass is valid for ages 10-20", "The pass is valid for ages 10-30", "number"),
        ("Three dogs and two cats live here", "Two dogs and three cats live here", "number"),
        ("The temperature was -5 degrees", "The temperature was 5 degrees", "number"),
        ("The exam is on 3 May", "The exam is on 4 May", "date"),
        ("The exam is on 2026-05-03", "The exam is on May 4, 2026", "date"),
        ("The shop is shut on Mondays", "The shop is shut on Sunday", "date"),
        ("He joined in 1998", "He joined in 2001", "date"),
        ("The fair is in June", "The fair is in July", "date"),
        ("We leave tomorrow", "We leave today", "date"),
        ("The gate opens at 6 pm", "The gate opens at 7 pm", "time"),
        ("The gate opens at 18:30", "The gate opens at 18:00", "time"),
        ("The gate opens at noon", "The gate opens at midnight", "time"),
        ("The wall is 300 feet long", "The wall is 300 metres long", "unit"),
        ("The plant makes 5 mW", "The plant makes 5 MW", "unit"),
        ("The fee is 20 euros", "The fee is $20", "currency"),
        ("The fee is €20", "The fee is £20", "currency"),
        ("The app needs Node 18.2", "The app needs Node 20.1", "version"),
        ("The agent is at v2.3.1", "The agent is at v2.3.2", "version"),
        ("The proxy sits at 10.0.0.1", "The proxy sits at 10.0.0.2", "version"),
    ],
)
def test_a_changed_quantity_is_named(statement, known, kind):
    assert kind in kinds(statement, known)
    assert kind in kinds(known, statement)


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("The job runs 12 workers", "The job runs twelve workers"),
        ("The town has 12,500 residents", "The town has 12500 residents"),
        ("Sales fell by 4%", "Sales fell by 4 per cent"),
        ("She finished in 3rd place", "She finished in third place"),
        ("The gate opens at 6 pm", "The gate opens at 18:00"),
        ("The gate opens at 6 p.m.", "The gate opens at 6pm"),
        ("The gate opens at noon", "The gate opens at 12:00"),
        ("The gate opens at half past six pm", "The gate opens at 18:30"),
        ("The exam is on 3 May 2026", "The exam is on 2026-05-03"),
        ("The exam is on May 3rd", "The exam is on the 3rd of May"),
        ("The exam is on the third of May", "The exam is on May 3"),
        ("The race is 5 km long", "The race is 5000 m long"),
        ("The race is 5 kilometres long", "The race is 5 kilometers long"),
        ("The break lasts 2 hours", "The break lasts 120 minutes"),
        ("The fee is $1,500", "The fee is 1500 dollars"),
        ("They raised $2M", "They raised 2 million dollars"),
        ("They raised €15k", "They raised €15,000"),
        ("The agent is at v2.3.1", "The agent is at version 2.3.1"),
        ("Lunch costs £7", "Lunch costs 7 pounds"),
    ],
)
def test_another_spelling_of_the_same_quantity_is_no_discrepancy(statement, known):
    assert kinds(statement, known) == []


def test_an_added_quantity_alone_is_no_discrepancy():
    assert kinds("The gate opens at 6 pm", "The gate opens") == []


def test_the_finding_quotes_both_spans():
    (finding,) = detect("The lease ends after 60 months", "The lease ends after 30 months")
    assert (finding.kind, finding.statement, finding.known) == (Discrepancy.NUMBER, "60 months", "30 months")


@pytest.mark.parametrize(
    ("phrase", "value"),
    [
        ("twenty-one", 21),
        ("two hundred and five", 205),
        ("three million", 3e6),
        ("a dozen", 12),
        ("nine thousand nine hundred", 9900),
    ],
)
def test_number_words_have_their_value(phrase, value):
    assert words_value(phrase) == value


def test_letters_after_digits_do_not_make_a_number_of_an_identifier():
    assert find_numbers("K2 and B12 and 4x4s") == []


@pytest.mark.parametrize("alias", sorted(UNITS))
def test_the_unit_table_agrees_with_pint(alias, registry):
    unit = UNITS[alias]
    if unit.dimension == "temperature" or unit.dimension == "angle_or_temperature":
        assert unit.factor > 0
        return
    names = {
        "calendar": "month",
        "length": "metre",
        "mass": "kilogram",
        "time": "second",
        "data": "byte",
        "bits": "bit",
    }
    base = names.get(unit.dimension) or BASES[unit.dimension]
    if unit.name == "decade":
        assert unit.factor == 10 * UNITS["year"].factor
        return
    pint_name = PINT_NAMES.get(unit.name, unit.name)
    factor = registry.Quantity(1, pint_name).to(base).magnitude
    assert factor == pytest.approx(unit.factor, rel=1e-3 if unit.dimension == "calendar" else 1e-5)


BASES = {
    "rate": "bit / second",
    "volume": "litre",
    "power": "watt",
    "energy": "watt_hour",
    "voltage": "volt",
    "current": "ampere",
    "frequency": "hertz",
    "speed": "metre / second",
    "area": "metre ** 2",
}
PINT_NAMES = {
    "kilometre_per_hour": "kilometre / hour",
    "mile_per_hour": "mile / hour",
    "metre_per_second": "metre / second",
    "square_metre": "metre ** 2",
    "square_kilometre": "kilometre ** 2",
    "megabit_per_second": "megabit / second",
    "gigabit_per_second": "gigabit / second",
    "ton": "metric_ton",
}


@pytest.fixture(scope="module")
def registry():
    return pint.UnitRegistry()

"""Units of measure: names to dimension and factor.

Pint knows many more units but takes most of a second to load, more than a start-up path or a first judgement
should wait; a test compares this table with it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: ``factor`` converts to the base of ``dimension`` (metre, second, …), ``offset`` is added after."""

    name: str
    dimension: str
    factor: float
    offset: float = 0.0


def _units() -> dict[str, Unit]:
    rows = (
        ("length", "metre", 1.0, "m metre metres meter meters"),
        ("length", "kilometre", 1e3, "km kms kilometre kilometres kilometer kilometers"),
        ("length", "centimetre", 1e-2, "cm centimetre centimetres centimeter centimeters"),
        ("length", "millimetre", 1e-3, "mm millimetre millimetres millimeter millimeters"),
        ("length", "mile", 1609.344, "mile miles mi"),
        ("length", "yard", 0.9144, "yard yards yd"),
        ("length", "foot", 0.3048, "ft foot feet"),
        ("length", "inch", 0.0254, "inch inches"),
        ("length", "nautical_mile", 1852.0, "nmi"),
        ("mass", "kilogram", 1.0, "kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes"),
        ("mass", "gram", 1e-3, "g gram grams gramme grammes"),
        ("mass", "milligram", 1e-6, "mg milligram milligrams"),
        ("mass", "metric_ton", 1e3, "t tonne tonnes ton tons"),
        ("mass", "pound", 0.45359237, "lb lbs pound pounds"),
        ("mass", "ounce", 0.028349523125, "oz ounce ounces"),
        ("mass", "stone", 6.35029318, "stones"),
        ("time", "second", 1.0, "s sec secs second seconds"),
        ("time", "millisecond", 1e-3, "ms millisecond milliseconds msec"),
        ("time", "microsecond", 1e-6, "us µs microsecond microseconds"),
        ("time", "minute", 60.0, "min mins minute minutes"),
        ("time", "hour", 3600.0, "h hr hrs hour hours"),
        ("time", "day", 86400.0, "day days"),
        ("time", "week", 604800.0, "week weeks fortnight"),
        ("calendar", "month", 1.0, "month months"),
        ("calendar", "year", 12.0, "year years yr yrs"),
        ("calendar", "decade", 120.0, "decade decades"),
        ("data", "byte", 1.0, "B byte bytes"),
        ("data", "kilobyte", 1e3, "kB KB kilobyte kilobytes"),
        ("data", "megabyte", 1e6, "MB megabyte megabytes"),
        ("data", "gigabyte", 1e9, "GB gigabyte gigabytes"),
        ("data", "terabyte", 1e12, "TB terabyte terabytes"),
        ("data", "petabyte", 1e15, "PB petabyte petabytes"),
        ("data", "kibibyte", 1024.0, "KiB kibibyte kibibytes"),
        ("data", "mebibyte", 1024.0**2, "MiB mebibyte mebibytes"),
        ("data", "gibibyte", 1024.0**3, "GiB gibibyte gibibytes"),
        ("bits", "megabit", 1e6, "Mb Mbit megabit megabits"),
        ("bits", "gigabit", 1e9, "Gb Gbit gigabit gigabits"),
        ("rate", "megabit_per_second", 1e6, "Mbps Mbit/s"),
        ("rate", "gigabit_per_second", 1e9, "Gbps Gbit/s"),
        ("volume", "litre", 1.0, "l L litre litres liter liters"),
        ("volume", "millilitre", 1e-3, "ml mL millilitre millilitres milliliter milliliters"),
        ("volume", "gallon", 3.785411784, "gallon gallons gal"),
        ("volume", "pint", 0.473176473, "pint pints"),
        ("power", "watt", 1.0, "W watt watts"),
        ("power", "milliwatt", 1e-3, "mW milliwatt milliwatts"),
        ("power", "kilowatt", 1e3, "kW kilowatt kilowatts"),
        ("power", "megawatt", 1e6, "MW megawatt megawatts"),
        ("power", "gigawatt", 1e9, "GW gigawatt gigawatts"),
        ("energy", "watt_hour", 1.0, "Wh"),
        ("energy", "kilowatt_hour", 1e3, "kWh"),
        ("voltage", "volt", 1.0, "V volt volts"),
        ("current", "ampere", 1.0, "A amp amps ampere amperes"),
        ("frequency", "hertz", 1.0, "Hz hertz"),
        ("frequency", "kilohertz", 1e3, "kHz kilohertz"),
        ("frequency", "megahertz", 1e6, "MHz megahertz"),
        ("frequency", "gigahertz", 1e9, "GHz gigahertz"),
        ("speed", "kilometre_per_hour", 1 / 3.6, "km/h kph kmh"),
        ("speed", "mile_per_hour", 0.44704, "mph"),
        ("speed", "metre_per_second", 1.0, "m/s"),
        ("speed", "knot", 0.514444, "knot knots"),
        ("area", "square_metre", 1.0, "m² sqm"),
        ("area", "hectare", 1e4, "ha hectare hectares"),
        ("area", "acre", 4046.8564224, "acre acres"),
        ("area", "square_kilometre", 1e6, "km²"),
        ("angle_or_temperature", "degree", 1.0, "degree degrees °"),
    )
    table = {
        alias: Unit(name, dimension, factor)
        for dimension, name, factor, aliases in rows
        for alias in aliases.split()
    }
    for alias in ("°C", "C", "celsius", "degC"):
        table[alias] = Unit("celsius", "temperature", 1.0)
    for alias in ("°F", "F", "fahrenheit", "degF"):
        table[alias] = Unit("fahrenheit", "temperature", 5 / 9, -160 / 9)
    return table


UNITS = _units()
"""Every spelling of a unit. Short symbols keep their case (mW is not MW); words of four letters or more do not."""

CURRENCIES = {
    "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY", "₦": "NGN",
    "₿": "BTC",
    "usd": "USD", "eur": "EUR", "gbp": "GBP", "jpy": "JPY", "inr": "INR", "chf": "CHF", "cny": "CNY",
    "aud": "AUD", "cad": "CAD",
    "dollar": "USD", "dollars": "USD", "bucks": "USD", "euro": "EUR", "euros": "EUR", "sterling": "GBP",
    "quid": "GBP",
    "yen": "JPY", "rupee": "INR", "rupees": "INR", "yuan": "CNY", "renminbi": "CNY", "won": "KRW",
    "franc": "CHF", "francs": "CHF",
    "peso": "MXN", "pesos": "MXN", "real": "BRL", "reais": "BRL", "rand": "ZAR", "naira": "NGN",
    "krona": "SEK", "kronor": "SEK",
    "rouble": "RUB", "roubles": "RUB", "ruble": "RUB", "rubles": "RUB", "lira": "TRY", "zloty": "PLN",
    "baht": "THB",
    "cent": "USD/100", "cents": "USD/100", "pence": "GBP/100",
}  # fmt: skip
"""Symbols, codes and names of currencies. "Pounds" are a mass; £36 and 36 pounds still compare as equal."""


def find_unit(word: str) -> Unit | None:
    """Returns the unit written as ``word``; long names in any case."""
    unit = UNITS.get(word)
    if unit is None and len(word) >= 4:
        unit = UNITS.get(word.lower())
    return unit

"""Values of generated pairs: each has several surfaces that mean the same."""

from __future__ import annotations

import random
from collections.abc import Callable

from training.judge import vocabulary as words

Value = tuple[str, ...]
"""Surfaces of one value; the first is the plain one."""

ONES = words.listed(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen"""
)
TENS = words.listed("_ _ twenty thirty forty fifty sixty seventy eighty ninety")
ORDINALS = words.listed("""first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth""")


def number_words(number: int) -> str:
    """Returns ``number`` (0 to 999) in words."""
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")
    rest = f" and {number_words(number % 100)}" if number % 100 else ""
    return f"{ONES[number // 100]} hundred{rest}"


def _suffix(day: int) -> str:
    return "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _count(rng: random.Random, low: int, high: int) -> Value:
    number = rng.randint(low, high)
    return (str(number), number_words(number)) if number < 100 else (f"{number}", f"{number:,}")


def _date(rng: random.Random) -> Value:
    month, day = rng.choice(words.MONTHS), rng.randint(1, 28)
    number = words.MONTHS.index(month) + 1
    ordinal = f"{day}{_suffix(day)}"
    plain = (
        f"{month} {day}",
        f"{month} {ordinal}",
        f"{day} {month}",
        f"{month[:3]} {day}",
        f"the {ordinal} of {month}",
    )
    if rng.random() < 0.35:
        year = rng.randint(1998, 2029)
        return (
            f"{month} {day}, {year}",
            f"{day} {month} {year}",
            f"{year}-{number:02}-{day:02}",
            f"{month} {ordinal}, {year}",
        )
    return plain


def _clock(rng: random.Random) -> Value:
    hour, minute = rng.randint(0, 23), rng.choice((0, 0, 0, 15, 30, 45))
    twelve, half = (hour % 12 or 12), ("am" if hour < 12 else "pm")
    plain = f"{hour:02}:{minute:02}"
    if minute:
        return (plain, f"{twelve}:{minute:02} {half}")
    return (plain, f"{twelve} {half}", f"{twelve}{half}", f"{twelve}:00 {half}")


def _money(rng: random.Random, numbers: tuple[int, ...]) -> Value:
    amount = rng.choice(numbers) * rng.choice((1, 1, 2, 3, 5))
    sign, name = rng.choice((("$", "dollars"), ("€", "euros"), ("£", "pounds"), ("¥", "yen")))
    surfaces = [f"{sign}{amount:,}", f"{amount:,} {name}", f"{sign}{amount}"]
    if amount >= 1_000_000 and amount % 100_000 == 0:
        millions = f"{amount / 1e6:g}"
        surfaces = [
            f"{sign}{millions} million",
            f"{millions} million {name}",
            f"{sign}{millions}M",
            f"{sign}{amount:,}",
        ]
    elif amount >= 1000 and amount % 1000 == 0:
        surfaces.append(f"{sign}{amount // 1000}k")
    return tuple(surfaces)


_LENGTHS = (
    (("metres", "meters", "m"), 1.0), (("kilometres", "kilometers", "km"), 1000.0), (("centimetres", "cm"), 0.01),
    (("feet", "ft"), 0.3048), (("miles",), 1609.344), (("yards",), 0.9144), (("inches",), 0.0254),
)  # fmt: skip
_EQUAL_LENGTHS = (("{k} km", "{m} metres"), ("{k} kilometres", "{m} m"), ("{k} metres", "{c} cm"))
_WEIGHTS = (("kilograms", "kg", "kilos"), ("tonnes", "tons"), ("pounds", "lb"), ("grams", "g"))
_DURATIONS = (
    ("seconds", "s", "sec"),
    ("minutes", "min"),
    ("hours", "h"),
    ("days",),
    ("weeks",),
    ("months",),
    ("years",),
)
_MEMORY = (("GB", "gigabytes"), ("MB", "megabytes"), ("TB", "terabytes"))


def _measure(rng: random.Random, units: tuple[tuple[str, ...], ...]) -> Value:
    number = rng.choice(
        (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 40, 45, 50, 60, 75, 80, 90, 100, 120, 150, 200, 250)
    )
    names = rng.choice(units)
    surfaces = [f"{number} {name}" for name in names]
    if number < 100:
        surfaces.append(f"{number_words(number)} {names[0]}")
    return tuple(surfaces)


def _length(rng: random.Random) -> Value:
    if rng.random() < 0.2:
        number = rng.randint(2, 40)
        pattern = rng.choice(_EQUAL_LENGTHS)
        return tuple(part.format(k=number, m=number * 1000, c=number * 100) for part in pattern)
    return _measure(rng, tuple(names for names, _ in _LENGTHS))


def _duration(rng: random.Random) -> Value:
    if rng.random() < 0.2:
        number = rng.randint(2, 9)
        small, large, factor = rng.choice(
            (("seconds", "minutes", 60), ("minutes", "hours", 60), ("hours", "days", 24), ("days", "weeks", 7))
        )
        return (f"{number} {large}", f"{number * factor} {small}")
    return _measure(rng, _DURATIONS)


def _version(rng: random.Random) -> Value:
    parts = [rng.randint(0, 20), rng.randint(0, 30)] + ([rng.randint(0, 12)] if rng.random() < 0.5 else [])
    return (".".join(map(str, parts)),)


def _tech_version(rng: random.Random) -> Value:
    tech = rng.choice(words.listed("Java Python Node PostgreSQL Redis OpenSSL Django React Ubuntu glibc Ruby"))
    number = rng.choice((str(rng.randint(2, 24)), f"{rng.randint(1, 20)}.{rng.randint(0, 20)}"))
    return (f"{tech} {number}", f"{tech} {number}", f"{tech} version {number}")


def _countable(rng: random.Random) -> Value:
    number, noun = rng.randint(2, 40), rng.choice(words.COUNTABLES)
    return (f"{number} {noun}", f"{number_words(number)} {noun}")


def _percent(rng: random.Random) -> Value:
    number = rng.choice((rng.randint(1, 99), round(rng.uniform(0.5, 99), 1)))
    return (f"{number}%", f"{number} percent", f"{number} per cent")


def _big(rng: random.Random) -> Value:
    number = rng.randint(2, 90) * rng.choice((100_000, 1_000_000))
    return (f"{number / 1e6:g} million", f"{number:,}")


def _choice(options: list[str]) -> Callable[[random.Random], Value]:
    return lambda rng: (rng.choice(options),)


def _one_of(*options: str) -> Callable[[random.Random], Value]:
    return lambda rng: tuple(rng.choice(options).split("~"))


VALUES: dict[str, Callable[[random.Random], Value]] = {
    "city": _choice(words.CITIES),
    "country": _choice(words.COUNTRIES),
    "nationality": _choice(words.NATIONALITIES),
    "company": _choice(words.COMPANIES),
    "job": _choice(words.JOBS),
    "language": _choice(words.LANGUAGES),
    "programming": _choice(words.PROGRAMMING),
    "allergen": _choice(words.ALLERGENS),
    "food": _choice(words.FOODS),
    "hobby": _choice(words.HOBBIES),
    "instrument": _choice(words.INSTRUMENTS),
    "colour": _choice(words.COLOURS),
    "pet": _choice(words.PETS),
    "university": _choice(words.UNIVERSITIES),
    "field": _choice(words.FIELDS),
    "topic": _choice(words.TOPICS),
    "vehicle": _choice(words.VEHICLES),
    "material": _choice(words.MATERIALS),
    "weekday": _choice(words.WEEKDAYS),
    "month": _choice(words.MONTHS),
    "small_number": lambda rng: _count(rng, 2, 9),
    "number": lambda rng: _count(rng, 2, 900) if rng.random() < 0.4 else _count(rng, 2, 40),
    "age": lambda rng: _count(rng, 3, 90),
    "headcount": lambda rng: (str(n := rng.randint(3, 400) * 5), f"{n:,}"),
    "year": lambda rng: (str(rng.randint(1790, 2028)),),
    "port": lambda rng: (str(rng.randint(80, 65000)),),
    "percent": _percent,
    "bignumber": _big,
    "countable_number": _countable,
    "money": lambda rng: _money(rng, (4, 7, 12, 15, 18, 25, 40, 60, 120, 900, 1000, 5000, 8000)),
    "money_month": lambda rng: _money(rng, (1500, 1800, 2000, 2400, 3000, 4000, 5200)),
    "bigmoney": lambda rng: _money(rng, (15_000, 20_000, 400_000, 1_000_000, 1_500_000, 2_000_000, 12_000_000)),
    "length": _length,
    "distance": _length,
    "weight": lambda rng: _measure(rng, _WEIGHTS),
    "duration": _duration,
    "memory": lambda rng: _measure(rng, _MEMORY),
    "version": _version,
    "tech_version": _tech_version,
    "date": _date,
    "clock": _clock,
    "direction": _one_of("north", "south", "east", "west"),
    "marital": _one_of("divorced", "widowed", "engaged", "unmarried"),
    "diet": _one_of("vegan", "vegetarian", "kosher", "halal", "keto", "gluten-free"),
    "hand": _one_of("left-handed", "right-handed", "ambidextrous"),
    "openness": _one_of("open", "closed~shut"),
    "onoff": _one_of("on~switched on~turned on", "off~switched off~turned off"),
    "encryption": _one_of("encrypts", "does not encrypt", "never encrypts"),
    "cancelled": _one_of("cancelled~called off", "confirmed", "postponed~put off"),
    "allowed": _one_of("allowed~permitted", "forbidden~banned~prohibited"),
    "quantity": _one_of("all~all of the", "some", "no~none of the", "most", "few", "half of the"),
    "frequency": _one_of("hourly~every hour", "daily~every day", "weekly~every week", "monthly~every month", "yearly~every year"),
    "fraction": _one_of("half~50%", "a quarter~25%", "a third~one third", "two thirds", "three quarters~75%", "all", "none"),
    "floor": lambda rng: (ORDINALS[n := rng.randint(0, 11)], f"{n + 1}{_suffix(n + 1)}"),
    "size_adj": _one_of("large~big", "small~little", "empty", "full", "old~ancient", "new~brand new", "noisy~loud", "quiet~silent", "hot", "cold", "clean", "dirty", "safe", "dangerous~unsafe", "cheap~inexpensive", "expensive~costly", "wide", "narrow", "dark", "bright"),
    "protocol": _one_of("HTTP/2", "MQTT", "AMQP", "SOAP", "GraphQL", "LDAP", "FTP", "SMTP", "Kerberos", "OpenID", "WebSockets", "IMAP"),
    "extreme": _one_of("tallest", "shortest", "oldest", "newest", "largest~biggest", "smallest", "heaviest", "lightest", "best", "worst"),
    "currency_name": _one_of("euro", "dollar", "pound", "franc", "peso", "yen", "rupee", "krona", "lira", "real"),
    "verb_phrase": _one_of(
        "sign the form~fill in the form", "wear a badge", "carry a passport", "pay in advance~prepay", "lock the door", "switch off the lights~turn off the lights",
        "register online", "bring a guest", "wear a helmet", "use the back door", "park in the yard", "submit a report~hand in a report", "record calls", "leave early",
        "share passwords", "smoke outside", "use the lift~take the lift", "work from home", "book a room", "feed the animals",
    ),
}  # fmt: skip
"""Kind of value → draws one value."""

EXCLUDING: dict[str, tuple[tuple[str, str], ...]] = {
    "size_adj": (("large", "small"), ("empty", "full"), ("old", "new"), ("noisy", "quiet"), ("hot", "cold"), ("clean", "dirty"), ("safe", "dangerous"), ("cheap", "expensive"), ("wide", "narrow"), ("dark", "bright")),
    "verb_phrase": (),
    "topic": (),
}  # fmt: skip
"""Kinds of which only these values exclude each other; other differing values are merely other information."""

"""Dates, weekdays, months and times of day in text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from concord_server.domain.discrepancies.words import listed

MONTHS = {
    name: number + 1
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sep sept", "october oct", "november nov", "december dec",
        )
    )
    for name in names.split()
}  # fmt: skip
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon",
            "tuesday tue tues",
            "wednesday wed",
            "thursday thu thurs",
            "friday fri",
            "saturday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}
_HOURS = {
    name: i + 1 for i, name in enumerate(listed("one two three four five six seven eight nine ten eleven twelve"))
}
_DAY_WORDS = {
    name: i + 1
    for i, name in enumerate(
        listed(
            """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
        fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second
        twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth
        thirtieth thirty-first"""
        )
    )
}
UNKNOWN = 0
"""Stands for a missing year, month or day."""

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?|{'|'.join(sorted(_DAY_WORDS, key=len, reverse=True))})"
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_I = re.IGNORECASE
_DATES = (
    re.compile(r"\b(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})\b"),
    re.compile(
        rf"\b(?P<mon>{_MONTH})\.?\s+(?:the\s+)?(?P<d>{_DAY})\b(?!\s*(?:%|:))(?:,?\s+(?P<y>{_YEAR})\b)?", _I
    ),
    re.compile(rf"\b(?:the\s+)?(?P<d>{_DAY})\s+(?:of\s+)?(?P<mon>{_MONTH})\b\.?(?:,?\s+(?P<y>{_YEAR})\b)?", _I),
    re.compile(rf"\b(?P<mon>{_MONTH})\.?,?\s+(?:of\s+)?(?P<y>{_YEAR})\b", _I),
)
_SLASHED = re.compile(r"(?<![\d/.])(\d{1,2})[/.](\d{1,2})[/.](\d{4}|\d{2})(?![\d/])")
_MONTH_ALONE = re.compile(rf"\b({_MONTH})\b\.?", _I)
_YEAR_ALONE = re.compile(
    rf"\b(?:in|since|by|until|till|of|from|during|before|after|for|year|to)\s+({_YEAR})\b(?![%:]|"
    rf"\s*(?:[a-z]+s\b))",
    _I,
)
_WEEKDAY = re.compile(rf"\b({'|'.join(sorted(WEEKDAYS, key=len, reverse=True))})(?:s|'s)?\b", _I)
_CLOCK = re.compile(
    r"(?<![\w:.])(\d{1,2})(?::|\.(?=\d\d\s?[ap]\.?m))(\d{2})(?::\d{2})?(?:\s*([ap])\.?\s?m\b\.?)?(?![\w:])", _I
)
_HOUR = re.compile(rf"(?<![\w:.])(\d{{1,2}}|{'|'.join(_HOURS)})\s*([ap])\.?\s?m\b\.?", _I)
_PART_OF_DAY = re.compile(
    rf"(?<![\w:.])(\d{{1,2}}|{'|'.join(_HOURS)})(?:\s*o'?’?clock)?\s+(?:in\s+the\s+(morning|afternoon|"
    rf"evening)|at\s+(night))\b",
    _I,
)
_OCLOCK = re.compile(rf"(?<![\w:.])(\d{{1,2}}|{'|'.join(_HOURS)})\s*o['’]?clock\b", _I)
_PAST = re.compile(rf"\b(half|quarter)\s+(past|to)\s+(\d{{1,2}}|{'|'.join(_HOURS)})\b(?:\s*([ap])\.?m\b)?", _I)
_NAMED = re.compile(r"\b(noon|midday|midnight)\b", _I)
_RELATIVE = re.compile(r"\b(yesterday|today|tonight|tomorrow)\b", _I)
_PERIOD = re.compile(
    r"\b(last|this|next|previous)\s+(week|month|quarter|year|spring|summer|autumn|fall|winter)\b", _I
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or time in text.

    ``measure`` is "date" (value year, month, day, with 0 for what is missing), "day_or_month" (ambiguous order),
    "weekday", "relative", "period", "clock" (value minutes after midnight) or "clock12" (half of the day unknown).
    """

    measure: str
    value: tuple[int, ...]
    start: int
    end: int


def find_dates_and_times(text: str) -> Iterator[Moment]:
    """Yields dates and times of ``text``; overlapping readings come most specific first."""
    yield from _dates(text)
    yield from _times(text)
    yield from _words(text)


def _dates(text: str) -> Iterator[Moment]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            month = MONTHS[groups["mon"].lower()] if groups.get("mon") else int(groups["m"])
            day = _day(groups["d"]) if groups.get("d") else UNKNOWN
            if 1 <= month <= 12 and day <= 31:
                yield Moment("date", (int(groups["y"] or UNKNOWN), month, day), *match.span())
    for match in _SLASHED.finditer(text):
        first, second, year = (int(group) for group in match.groups())
        yield Moment(
            "day_or_month", (year + 2000 if year < 100 else year, *sorted((first, second))), *match.span()
        )


def _day(written: str) -> int:
    lowered = written.lower()
    return _DAY_WORDS[lowered] if lowered in _DAY_WORDS else int(re.sub(r"\D", "", lowered))


def _hour(written: str, half: str | None) -> tuple[str, int]:
    hour = _HOURS.get(written.lower()) or int(written) if not written.isdigit() else int(written)
    if half is None:
        return ("clock12", hour % 12) if hour <= 12 else ("clock", hour)
    return "clock", hour % 12 + (12 if half.lower() == "p" else 0)


def _times(text: str) -> Iterator[Moment]:
    for match in _CLOCK.finditer(text):
        hour, minute = int(match[1]), int(match[2])
        if hour < 25 and minute < 60:
            if match[3]:
                hour = hour % 12 + (12 if match[3].lower() == "p" else 0)
            yield Moment("clock", ((hour % 24) * 60 + minute,), *match.span())
    for match in _PAST.finditer(text):
        minutes = 30 if match[1].lower() == "half" else 15
        measure, hour = _hour(match[3], match[4])
        yield Moment(measure, (hour * 60 + (minutes if match[2].lower() == "past" else -minutes),), *match.span())
    for match in _HOUR.finditer(text):
        measure, hour = _hour(match[1], match[2])
        yield Moment(measure, (hour * 60,), *match.span())
    for match in _PART_OF_DAY.finditer(text):
        part = (match[2] or match[3]).lower()
        _, hour = _hour(match[1], None)
        late = part in ("afternoon", "evening") or (part == "night" and hour % 12 >= 6)
        yield Moment("clock", ((hour % 12 + (12 if late else 0)) * 60,), *match.span())
    for match in _OCLOCK.finditer(text):
        measure, hour = _hour(match[1], None)
        yield Moment(measure, (hour * 60,), *match.span())
    for match in _NAMED.finditer(text):
        yield Moment("clock", (0 if match[1].lower() == "midnight" else 720,), *match.span())


def _words(text: str) -> Iterator[Moment]:
    for match in _WEEKDAY.finditer(text):
        if len(match[1]) > 5 or match[1][0].isupper():
            yield Moment("weekday", (WEEKDAYS[match[1].lower()],), *match.span())
    for match in _MONTH_ALONE.finditer(text):
        # "may", "march", "mar" and the like are words too: only a capital inside the sentence names a month.
        sure = len(match[1]) > 5 or match[1].lower() in ("april", "june", "july")
        if sure or (
            match[1][0].isupper() and match.start() > 0 and match[1].lower() not in ("jan", "mar", "apr", "dec")
        ):
            yield Moment("date", (UNKNOWN, MONTHS[match[1].lower()], UNKNOWN), *match.span())
    for match in _YEAR_ALONE.finditer(text):
        yield Moment("date", (int(match[1]), UNKNOWN, UNKNOWN), *match.span(1))
    for match in _RELATIVE.finditer(text):
        yield Moment(
            "relative", (("yesterday", "today", "tonight", "tomorrow").index(match[1].lower()),), *match.span()
        )
    for match in _PERIOD.finditer(text):
        yield Moment("period", (_code(match[1]), _code(match[2])), *match.span())


def _code(word: str) -> int:
    names = listed("""last this next previous week month quarter year spring summer autumn fall winter""")
    index = names.index(word.lower())
    return {3: 0, 11: 10}.get(index, index)


def same_moment(first: tuple[str, tuple[int, ...]], second: tuple[str, tuple[int, ...]]) -> bool | None:
    """Returns whether two (measure, value) can be the same moment; ``None`` when they cannot be compared."""
    (kind, value), (other_kind, other) = first, second
    if kind == other_kind == "date":
        shared = [(a, b) for a, b in zip(value, other, strict=True) if a and b]
        return all(a == b for a, b in shared) if shared else None
    if "day_or_month" in (kind, other_kind) and {kind, other_kind} <= {"date", "day_or_month"}:
        return value[0] == other[0] and sorted(value[1:]) == sorted(other[1:])
    if kind.startswith("clock") and other_kind.startswith("clock"):
        return value == other if kind == other_kind == "clock" else value[0] % 720 == other[0] % 720
    if kind == other_kind:
        return value == other
    return None

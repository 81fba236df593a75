"""Times as people and programs write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

FORMATS = "2023-05-08T13:56:00Z, 2023-05-08 13:56, 2023-05-08, 8 May 2023, May 8, 2023, 1:56 pm on 8 May, 2023"
"""Examples of every accepted form, for messages."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:\s*(?P<half>[ap])\.?m\.?)?"
_DAY_FIRST = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\s+(?P<month>[a-z]+)\.?,?\s+(?P<year>\d{4})"
_MONTH_FIRST = r"(?P<month>[a-z]+)\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})"
_WORDED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for date in (_DAY_FIRST, _MONTH_FIRST)
    for pattern in (
        date,
        rf"{_CLOCK}(?:,\s*|\s+on\s+|\s+){date}",
        rf"{date}(?:,\s*|\s+at\s+|\s+){_CLOCK}",
    )
)
# fromisoformat also takes week dates and digits without separators, which are more often a mistake than a time.
_NUMERIC = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?", re.IGNORECASE)


def parse_time(text: str) -> datetime:
    """Reads a time.

    Month names are English. A time without a zone is UTC; a date without a time is its first moment.

    Args:
        text: RFC 3339 (``2023-05-08T13:56:00Z``), the same with a space or without seconds or zone, a date, or a
            worded date with or without a time of day (``1:56 pm on 8 May, 2023``).

    Returns:
        The time in UTC.

    Raises:
        ValueError: it is none of these, or no such day or hour exists.
    """
    stripped = text.strip()
    try:
        if _NUMERIC.fullmatch(stripped):
            return _in_utc(datetime.fromisoformat(stripped.upper()))
        for form in _WORDED:
            match = form.fullmatch(stripped)
            if match and match["month"].lower() in _MONTHS:
                return _worded(match.groupdict())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a time: {error}") from error
    raise ValueError(f"{text!r} is not a time; write it like one of: {FORMATS}")


def _in_utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _worded(parts: dict[str, str | None]) -> datetime:
    hour = int(parts.get("hour") or 0)
    half = parts.get("half")
    if half:
        if not 1 <= hour <= 12:
            raise ValueError("hour must be in 1..12 with am or pm")
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    return datetime(
        int(parts["year"] or 0),
        _MONTHS[(parts["month"] or "").lower()],
        int(parts["day"] or 0),
        hour,
        int(parts.get("minute") or 0),
        int(parts.get("second") or 0),
        tzinfo=UTC,
    )

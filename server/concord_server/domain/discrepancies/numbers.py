"""Numbers in text, in digits and in words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from concord_server.domain.discrepancies.words import listed

_ONES = {
    name: value
    for value, name in enumerate(
        listed(
            """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
            sixteen
        seventeen eighteen nineteen"""
        )
    )
}
_TENS = {
    name: 10 * (i + 2) for i, name in enumerate(listed("twenty thirty forty fifty sixty seventy eighty ninety"))
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_ORDINALS = {
    name: value + 1
    for value, name in enumerate(
        listed(
            """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
        fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"""
        )
    )
}
_MULTIPLIERS = {
    "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "millions": 1e6, "bn": 1e9, "b": 1e9,
    "billion": 1e9,
    "trillion": 1e12, "tn": 1e12, "hundred": 1e2, "dozen": 12.0,
}  # fmt: skip

_NUMBER_WORD = "|".join([*_ONES, *_TENS, *_SCALES])
_WORDS = rf"(?:{_NUMBER_WORD})(?:(?:\s+and\s+|[\s-]+)(?:{_NUMBER_WORD}))*"
_DIGITS = r"(?:\d{1,3}(?:[,'’\u00a0\u202f]\d{3})+|\d+)(?:\.\d+)?|\d+,\d{1,2}(?!\d)|\.\d+"
_PATTERN = re.compile(
    rf"(?<![A-Za-z0-9_.])(?P<sign>[-−+](?=[\d.]))?(?P<digits>{_DIGITS})(?P<ordinal>st|nd|rd|th)?"
    r"(?:(?P<glued>k|bn|mn|m(?=\b)|M|K|B)(?![\w])|\s+(?P<scale>hundred|thousand|millions?|billion|"
    r"trillion|dozen|bn)\b)?"
    rf"|\b(?P<words>(?:an?\s+(?={'|'.join(_SCALES)}))?{_WORDS})\b|\b(?P<nth>{'|'.join(_ORDINALS)})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in text.

    Attributes:
        value: what it denotes.
        start: first character.
        end: position after the last character.
        ordinal: whether it counts a position (first, 1st).
        spelled: whether it is written in words.
        glued: letter right after the digits that may be a unit or a multiplier ("5m", "10k"), else empty.
    """

    value: float
    start: int
    end: int
    ordinal: bool = False
    spelled: bool = False
    glued: str = ""


def find_numbers(text: str) -> list[Number]:
    """Returns the numbers of ``text`` in order."""
    found = []
    for match in _PATTERN.finditer(text):
        if match["nth"]:
            found.append(
                Number(_ORDINALS[match["nth"].lower()], match.start(), match.end(), ordinal=True, spelled=True)
            )
        elif match["words"]:
            found.append(Number(words_value(match["words"]), match.start(), match.end(), spelled=True))
        else:
            number = _digits(text, match)
            if number is not None:
                found.append(number)
    return found


def _digits(text: str, match: re.Match[str]) -> Number | None:
    raw = re.sub(r"(?<=\d)[,'’\u00a0\u202f](?=\d{3})", "", match["digits"]).replace(",", ".")
    value = float(raw)
    glued = match["glued"] or ""
    end = match.end()
    if match["scale"]:
        value *= _MULTIPLIERS[match["scale"].lower()]
    elif glued:
        end -= len(glued)
    after = text[end : end + 1]
    if (
        not glued
        and not match["ordinal"]
        and (after == "_" or (after.isascii() and after.isalpha()))
        and not _unit_may_follow(text, end)
    ):
        return None
    sign = -1.0 if match["sign"] in ("-", "−") and not _joined(text, match.start()) else 1.0
    return Number(sign * value, match.start("digits"), end, ordinal=bool(match["ordinal"]), glued=glued)


def _joined(text: str, start: int) -> bool:
    return start > 0 and not text[start - 1].isspace()


def _unit_may_follow(text: str, end: int) -> bool:
    return re.match(r"[A-Za-zµ°]{1,5}(?:/[a-z]{1,3})?(?![\w])", text[end:]) is not None


def words_value(phrase: str) -> float:
    """Returns the value of a number in words such as "two hundred and five"; "a dozen" is 12."""
    total, current = 0.0, 0.0
    for word in re.split(r"[\s-]+", phrase.lower()):
        if word in _ONES:
            current += _ONES[word]
        elif word in _TENS:
            current += _TENS[word]
        elif word in ("hundred", "dozen"):
            current = (current or 1.0) * _SCALES[word]
        elif word in _SCALES:
            total += (current or 1.0) * _SCALES[word]
            current = 0.0
    return total + current


def multiplier(letter: str) -> float:
    """Returns what a glued letter multiplies by: 1 when it is none."""
    return _MULTIPLIERS.get(letter.lower(), 1.0)

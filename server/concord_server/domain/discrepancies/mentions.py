"""Quantities of a statement: numbers with what they count, dates, times, money, versions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from concord_server.domain.discrepancies.calendar import find_dates_and_times
from concord_server.domain.discrepancies.numbers import Number, find_numbers, multiplier
from concord_server.domain.discrepancies.units import CURRENCIES, find_unit
from concord_server.domain.discrepancies.words import stem
from concord_server.domain.judgement import Discrepancy

_AFTER = re.compile(r"[\s-]?([°]?[A-Za-zµ°%²/]+)", re.UNICODE)
_PERCENT = re.compile(r"\s?(?:%|percent\b|per cent\b|percentage points?\b|pct\b)", re.IGNORECASE)
_MONEY_AFTER = re.compile(r"\s?([A-Za-z]+|[$€£¥₹₩])")
_MONEY_BEFORE = re.compile(r"([$€£¥₹₩₽₺₦]|\b[A-Z]{3})\s?$")
_VERSION_BEFORE = re.compile(
    r"(?:\b(?:version|versions|release|build|v|ver\.?|rev)\s?|(?<![A-Za-z])[vV])$", re.IGNORECASE
)
_DOTTED = re.compile(r"(?<![\w.])[vV]?(\d+(?:\.\d+){2,}(?:[-+][\w.]+)?)(?![\w])")
_PRODUCT_BEFORE = re.compile(r"\b[A-Z][A-Za-z+#.]*[a-z+#]\s$")
_ADDRESS = re.compile(r"\b\w+@\w+\.\w+|\bhttps?://\S+|\b\d{1,3}(?:\.\d{1,3}){3}\b")


@dataclass(frozen=True, slots=True)
class Mention:
    """A quantity in text.

    Attributes:
        kind: NUMBER, UNIT, CURRENCY, VERSION, DATE or TIME.
        measure: what is measured: dimension, currency code, "percent", "ordinal", "weekday", "date", … or empty.
        value: comparable value: base units for UNIT, (year, month, day) for dates, minutes for times, text for
            versions.
        raw: the number as written, for telling a changed unit from a changed number.
        unit: the unit's name.
        noun: stem of the word that follows, for binding numbers to what they count.
        text: as written.
        start: first character.
        end: position after the last character.
        weak: "one" and the like, which often count nothing.
    """

    kind: Discrepancy
    measure: str
    value: float | str | tuple[int, ...]
    text: str
    start: int
    end: int
    raw: float | None = None
    unit: str = ""
    noun: str = ""
    weak: bool = False


def find_mentions(text: str) -> tuple[Mention, ...]:
    """Returns the quantities of ``text``, in order, each part of the text used once."""
    taken: list[tuple[int, int]] = []
    found: list[Mention] = []

    def free(start: int, end: int) -> bool:
        return all(end <= a or start >= b for a, b in taken)

    for found_date in find_dates_and_times(text):
        if free(found_date.start, found_date.end):
            taken.append((found_date.start, found_date.end))
            kind = Discrepancy.TIME if found_date.measure.startswith("clock") else Discrepancy.DATE
            span = text[found_date.start : found_date.end]
            found.append(
                Mention(kind, found_date.measure, found_date.value, span, found_date.start, found_date.end)
            )
    for pattern in (_ADDRESS, _DOTTED):
        for match in pattern.finditer(text):
            if free(*match.span()):
                taken.append(match.span())
                value = match[match.lastindex or 0].casefold()
                found.append(Mention(Discrepancy.VERSION, "version", value, match[0], *match.span()))
    for number in find_numbers(text):
        if free(number.start, number.end):
            mention = _classify(text, number)
            taken.append((mention.start, mention.end))
            found.append(mention)
    return tuple(_spread(sorted(found, key=lambda m: m.start), text))


def _classify(text: str, number: Number) -> Mention:
    before, after = text[: number.start], text[number.end :]
    if number.ordinal:
        weak = number.spelled and number.value == 2
        return _mention(Discrepancy.NUMBER, "ordinal", number.value, text, (number.start, number.end), weak=weak)
    money = _money(text, number, before, after)
    if money is not None:
        return money
    percent = _PERCENT.match(after)
    if percent:
        return _mention(
            Discrepancy.NUMBER, "percent", number.value, text, (number.start, number.end + percent.end())
        )
    version = _VERSION_BEFORE.search(before)
    if version or (_PRODUCT_BEFORE.search(before) and "." in text[number.start : number.end]):
        written = text[number.start : number.end].casefold()
        start = version.start() if version else number.start
        return Mention(
            Discrepancy.VERSION,
            "version",
            written,
            text[start : number.end].strip(),
            start,
            number.end,
            number.value,
        )
    unit = _unit(text, number, after)
    if unit is not None:
        return unit
    value = number.value * multiplier(number.glued)
    end = number.end + len(number.glued)
    weak = number.spelled and number.value in (0, 1)
    return _mention(Discrepancy.NUMBER, "", value, text, (number.start, end), weak=weak)


def _mention(
    kind: Discrepancy, measure: str, value: float, text: str, span: tuple[int, int], *, weak: bool = False
) -> Mention:
    following = re.match(r"[\s-]*([A-Za-z]+)", text[span[1] :])
    noun = stem(following[1].lower()) if following else ""
    return Mention(kind, measure, value, text[span[0] : span[1]], *span, raw=value, noun=noun, weak=weak)


def _money(text: str, number: Number, before: str, after: str) -> Mention | None:
    symbol = _MONEY_BEFORE.search(before)
    code = CURRENCIES.get(symbol[1]) or CURRENCIES.get(symbol[1].lower()) if symbol else None
    scale = multiplier(number.glued)
    start, end = number.start, number.end + len(number.glued)
    if code is not None and symbol is not None:
        start = symbol.start()
    else:
        word = _MONEY_AFTER.match(after[len(number.glued) :])
        code = CURRENCIES.get(word[1]) or CURRENCIES.get(word[1].lower()) if word else None
        if code is None or word is None:
            return None
        end += word.end()
    factor = 0.01 if code.endswith("/100") else 1.0
    value = number.value * scale * factor
    return Mention(
        Discrepancy.CURRENCY, code[:3], value, text[start:end], start, end, raw=number.value, unit=code[:3]
    )


def _unit(text: str, number: Number, after: str) -> Mention | None:
    if number.spelled and number.end < len(text) and not text[number.end].isspace() and text[number.end] != "-":
        return None
    word = _AFTER.match(after)
    unit = find_unit(word[1]) if word else None
    if unit is None or word is None:
        return None
    lone_letter = len(word[1]) == 1 and word[0] != word[1] and word[1] not in "mgshlVWAB°"
    if lone_letter or (word[1] in ("A", "B", "C", "F", "t", "L") and word[0].startswith((" ", "-"))):
        return None
    end = number.end + word.end()
    value = number.value * unit.factor + unit.offset
    return Mention(
        Discrepancy.UNIT,
        unit.dimension,
        value,
        text[number.start : end],
        number.start,
        end,
        raw=number.value,
        unit=unit.name,
    )


def _spread(found: list[Mention], text: str) -> list[Mention]:
    """Gives the first number of a range such as "10-20 km" the unit of the second."""
    result = []
    for mention, following in zip(found, [*found[1:], None], strict=False):
        joined = following is not None and re.fullmatch(
            r"\s?(?:-|–|—|to|and)\s?", text[mention.end : following.start]
        )
        if (
            joined
            and following is not None
            and mention.kind is Discrepancy.NUMBER
            and not mention.measure
            and mention.raw is not None
        ):
            if following.kind is Discrepancy.UNIT and following.raw:
                factor = float(following.value) / following.raw if isinstance(following.value, float) else 1.0
                mention = _as(mention, following, mention.raw * factor)  # noqa: PLW2901
            elif following.measure == "percent" and mention.raw is not None:
                mention = _as(mention, following, mention.raw)  # noqa: PLW2901
        result.append(mention)
    return result


def _as(mention: Mention, like: Mention, value: float) -> Mention:
    return Mention(
        like.kind,
        like.measure,
        value,
        mention.text,
        mention.start,
        mention.end,
        raw=mention.raw,
        unit=like.unit,
        noun=like.noun,
    )

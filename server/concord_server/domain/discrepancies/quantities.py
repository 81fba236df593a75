"""Detects changed numbers, dates, times, units, currencies and versions."""

from __future__ import annotations

import math
from collections.abc import Iterator

from concord_server.domain.discrepancies.alignment import Alignment
from concord_server.domain.discrepancies.calendar import same_moment
from concord_server.domain.discrepancies.labels import names_subject
from concord_server.domain.discrepancies.mentions import Mention
from concord_server.domain.judgement import Discrepancy, Finding

_MOMENTS = (Discrepancy.DATE, Discrepancy.TIME)


def leftovers(alignment: Alignment) -> tuple[list[Mention], list[Mention]]:
    """Returns the quantities of the statement and of the known fact that have no equal on the other side."""
    pairs = twins(alignment)
    ours, theirs = list(alignment.statement.statement.mentions), list(alignment.known.statement.mentions)
    for mine, other in pairs:
        ours.remove(mine)
        theirs.remove(other)
    return ours, theirs


def twins(alignment: Alignment) -> list[tuple[Mention, Mention]]:
    """Returns the quantities of the statement with their equals in the known fact, each used once."""
    theirs = list(alignment.known.statement.mentions)
    found = []
    for mention in alignment.statement.statement.mentions:
        twin = next((other for other in theirs if _exactly(mention, other)), None) or next(
            (other for other in theirs if equal(mention, other)), None
        )
        if twin is not None:
            theirs.remove(twin)
            found.append((mention, twin))
    return found


def find_quantities(alignment: Alignment) -> Iterator[Finding]:
    """Yields a finding for every quantity that another one stands in for; ENTITY where it names the subject."""
    ours, theirs = leftovers(alignment)
    for mention in ours:
        other = _counterpart(mention, theirs)
        if other is None:
            continue
        theirs.remove(other)
        for kind in _kinds(mention, other) if not _labels(alignment, mention, other) else (Discrepancy.ENTITY,):
            yield Finding(kind, mention.text, other.text)
    yield from _rebound(alignment)


def _labels(alignment: Alignment, mention: Mention, other: Mention) -> bool:
    """Whether two numbers name what the statements are about: order 5522 is another order than 4411."""
    return names_subject(alignment.statement.statement, mention) and names_subject(
        alignment.known.statement, other
    )


def _exactly(one: Mention, other: Mention) -> bool:
    return one.noun == other.noun and equal(one, other)


def equal(one: Mention, other: Mention) -> bool:
    """Whether two quantities say the same: 5 km and 5000 m, 6 pm and 18:00, ten and 10."""
    if one.kind in _MOMENTS and other.kind in _MOMENTS:
        return bool(same_moment((one.measure, _tuple(one)), (other.measure, _tuple(other))))
    if Discrepancy.VERSION in (one.kind, other.kind):
        return _digits(one) == _digits(other)
    if one.kind in _MOMENTS or other.kind in _MOMENTS:
        moment, number = (one, other) if one.kind in _MOMENTS else (other, one)
        if moment.measure == "clock12":
            return number.raw == _tuple(moment)[0] / 60
        return moment.measure == "date" and _tuple(moment)[1:] == (0, 0) and number.raw == _tuple(moment)[0]
    if one.kind is other.kind and one.measure == other.measure:
        return _close(one.value, other.value)
    if {one.unit, other.unit} == {"pound", "GBP"}:
        return _close(one.raw, other.raw)
    plain = [m for m in (one, other) if m.kind is Discrepancy.NUMBER and not m.measure]
    return bool(plain) and one.raw is not None and other.raw is not None and _close(_scaled(one), _scaled(other))


def _scaled(mention: Mention) -> float | None:
    if mention.kind is Discrepancy.CURRENCY and isinstance(mention.value, float):
        return mention.value
    return mention.raw


def _tuple(mention: Mention) -> tuple[int, ...]:
    return mention.value if isinstance(mention.value, tuple) else ()


def _digits(mention: Mention) -> str:
    text = mention.value if isinstance(mention.value, str) else mention.text.casefold()
    return text.lstrip("v").strip()


def _close(one: object, other: object) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    return one == other


def _counterpart(mention: Mention, others: list[Mention]) -> Mention | None:
    """Returns what stands in for ``mention``: the same measure first, then the same noun, then any number."""
    candidates = [(rank, -i) for i, other in enumerate(others) if (rank := _rank(mention, other)) > 0]
    return others[-max(candidates)[1]] if candidates else None


def _rank(one: Mention, other: Mention) -> int:
    if one.kind in _MOMENTS or other.kind in _MOMENTS:
        compared = one.kind in _MOMENTS and other.kind in _MOMENTS
        return (
            5
            if compared and same_moment((one.measure, _tuple(one)), (other.measure, _tuple(other))) is False
            else 0
        )
    if one.weak or other.weak:
        return 3 if one.noun == other.noun and one.noun else 0
    if "ordinal" in (one.measure, other.measure) or "percent" in (one.measure, other.measure):
        return 5 if one.measure == other.measure else 0
    if one.kind is other.kind and one.measure == other.measure:
        return 6 if one.noun == other.noun else 4
    numbers = [m for m in (one, other) if m.kind is Discrepancy.NUMBER]
    if one.raw is not None and other.raw is not None and _close(one.raw, other.raw):
        return 3
    return 2 if numbers or one.kind is other.kind else 0


def _kinds(one: Mention, other: Mention) -> tuple[Discrepancy, ...]:
    if Discrepancy.VERSION in (one.kind, other.kind):
        return (Discrepancy.VERSION,)
    if one.kind in _MOMENTS:
        return (one.kind,) if one.kind is other.kind else (Discrepancy.DATE,)
    same_raw = one.raw is not None and other.raw is not None and _close(one.raw, other.raw)
    if one.kind is other.kind is Discrepancy.CURRENCY and one.measure != other.measure:
        return (Discrepancy.CURRENCY,) if same_raw else (Discrepancy.NUMBER, Discrepancy.CURRENCY)
    if one.kind is other.kind is Discrepancy.UNIT and one.unit != other.unit:
        return (Discrepancy.UNIT,) if same_raw else (Discrepancy.NUMBER, Discrepancy.UNIT)
    if same_raw:
        return (Discrepancy.UNIT,)
    return (Discrepancy.NUMBER,)


def _rebound(alignment: Alignment) -> Iterator[Finding]:
    """Numbers that changed places: three dogs and two cats against two dogs and three cats."""
    ours = _bound(alignment.statement.statement.mentions)
    theirs = _bound(alignment.known.statement.mentions)
    both = [noun for noun in ours if noun in theirs]
    moved = [noun for noun in both if not equal(ours[noun], theirs[noun])]
    if len(moved) >= 2 and len(moved) == len(both):
        for noun in moved:
            yield Finding(Discrepancy.NUMBER, f"{ours[noun].text} {noun}", f"{theirs[noun].text} {noun}")


def _bound(mentions: tuple[Mention, ...]) -> dict[str, Mention]:
    return {m.noun: m for m in mentions if m.kind is Discrepancy.NUMBER and m.noun and not m.weak}

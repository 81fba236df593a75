"""Detects changed comparison and direction: more or less than, before or after, up or down, from and to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from concord_server.domain.discrepancies.alignment import Alignment
from concord_server.domain.judgement import Discrepancy, Finding

_NUMBER = (
    r"(?=\s+(?:about\s+)?(?:[$€£]\s?)?(?:\d|one\b|two\b|three\b|four\b|five\b|six\b|seven\b|eight\b|nine\b|"
    r"ten\b|twenty|thirty|half|a\s+(?:dozen|hundred|thousand|million)))"
)


@dataclass(frozen=True, slots=True)
class _Axis:
    """Two opposing ways to say where something lies on one scale."""

    name: str
    one: re.Pattern[str]
    other: re.Pattern[str]
    alone: bool = False


_AXES = (
    _Axis(
        "bound",
        re.compile(
            rf"\b(?:more than|over|above|at least|no (?:less|fewer) than|exceed(?:s|ed|ing)?|upwards of|"
            rf"not less than|greater than|minimum of|longer than|higher than){_NUMBER}"),
        re.compile(
            rf"\b(?:less than|fewer than|under|below|at most|no more than|not more than|smaller than|"
            rf"maximum of|shorter than|lower than){_NUMBER}"),
        alone=True,
    ),
    _Axis(
        "nearness",
        re.compile(rf"\b(?:almost|nearly){_NUMBER}"),
        re.compile(rf"\b(?:more than|over|above){_NUMBER}"),
    ),
    _Axis(
        "change",
        re.compile(
            r"\b(?:grew|grow(?:s|n|ing)?|increas(?:e|es|ed|ing)|r[io]se[sn]?|rising|climb(?:s|ed|ing)?|"
            r"went up|goes up|was up|is up|up by|gain(?:s|ed)?|rais(?:e|es|ed|ing)|expand(?:s|ed|ing)?|"
            r"improv(?:e|es|ed|ing)|jumped|soared|doubled|tripled|surged)\b"),
        re.compile(
            r"\b(?:f[ae]ll(?:s|en|ing)?|decreas(?:e|es|ed|ing)|drop(?:s|ped|ping)?|declin(?:e|es|ed|ing)|"
            r"went down|goes down|was down|is down|down by|reduc(?:e|es|ed|ing)|shr[aiu]nk(?:s|ing)?|"
            r"cut(?:s)?|lower(?:s|ed|ing)|los[et]s?|halved|plunged|sank|worsen(?:s|ed)?|slumped)\b"),
    ),
    _Axis(
        "order",
        re.compile(r"\b(?:before|prior to|earlier than|sooner than|until|by)\b(?= )"),
        re.compile(r"\b(?:after|following|later than|since)\b(?= )"),
    ),
    _Axis(
        "height",
        re.compile(r"\b(?:above|over|on top of|upstairs)\b"),
        re.compile(r"\b(?:below|under|beneath|underneath|downstairs)\b"),
    ),
    _Axis(
        "degree",
        re.compile(
            r"\b(?:more|greater|higher|bigger|larger|better|longer|faster|older|taller|heavier|stronger|"
            r"hotter|richer|wider|farther|earlier)\b(?=.*\bthan\b)"),
        re.compile(
            r"\b(?:less|fewer|lower|smaller|worse|shorter|slower|younger|lighter|weaker|colder|poorer|"
            r"narrower|nearer|later)\b(?=.*\bthan\b)"),
    ),
    _Axis("extreme", re.compile(
        r"\b(?:maximum|highest|most|largest|biggest|best|longest|first|latest|newest)\b"
        ),
        re.compile(
            r"\b(?:minimum|lowest|least|smallest|worst|shortest|last|earliest|oldest)\b")),
)  # fmt: skip
_TIMELIKE = re.compile(r"\b(?:by|until)\b")
_FROM_TO = re.compile(
    r"\bfrom (?P<start>[^,.;]+?) (?:to|into|until) (?P<end>[^,.;]+?)(?= (?:in|on|at|by|for|with|because|"
    r"after|before|since)\b|[,.;]|$)"
)


def find_comparisons(alignment: Alignment) -> Iterator[Finding]:
    """Yields a finding where the same scale is read the other way, or where only one statement bounds a number."""
    ours, theirs = alignment.statement.statement.lowered, alignment.known.statement.lowered
    for axis in _AXES:
        one, other = _side(axis, ours), _side(axis, theirs)
        if one and other and one[0] != other[0]:
            yield Finding(Discrepancy.COMPARISON, one[1], other[1])
            return
        if axis.alone and (one is None) != (other is None):
            found = one or other
            text = found[1] if found else ""
            yield Finding(Discrepancy.COMPARISON, text if one else "", text if other else "")
            return
    yield from _moved(ours, theirs)


@lru_cache(maxsize=32_768)
def _side(axis: _Axis, text: str) -> tuple[bool, str] | None:
    """Returns which way the text reads the scale, ``None`` for neither or both."""
    one, other = axis.one.search(text), axis.other.search(text)
    if axis.name == "order" and one and _TIMELIKE.fullmatch(one[0]):
        one = None
    if (one is None) == (other is None):
        return None
    found = one or other
    return (one is not None, found[0]) if found else None


def _moved(ours: str, theirs: str) -> Iterator[Finding]:
    """From A to B against from B to A."""
    one, other = _FROM_TO.search(ours), _FROM_TO.search(theirs)
    if (
        one
        and other
        and one["start"] == other["end"]
        and one["end"] == other["start"]
        and one["start"] != one["end"]
    ):
        yield Finding(Discrepancy.COMPARISON, one[0], other[0])

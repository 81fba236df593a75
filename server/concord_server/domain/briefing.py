"""The readable page of a briefing: what is known about an entity, within a bound of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from concord_server.domain.enums import FactChange, FactStatus, Freshness
from concord_server.domain.freshness import DEFAULT_HORIZONS, Horizons, freshness
from concord_server.domain.markdown import clipped, escaped
from concord_server.domain.model import Conflict, Fact, FactVersion
from concord_server.domain.observations import Observation, trend

DEFAULT_MAX_TOKENS = 2000
"""Length of a page that the caller sets no bound for."""

LIMIT_OF_TOKENS = 100_000
"""Longest page that can be asked for."""

LATELY = timedelta(days=30)
"""What changed within this time is news."""

MAX_CHANGES = 10
"""How many changes a page tells at most."""

MAX_WORDING = 400
"""Characters of a statement that a page shows."""

_LATIN_END = "\u0250"
_QUARTERS_OF_OTHERS = 4


@dataclass(frozen=True, slots=True)
class BriefingPage:
    """What a page is made from.

    Attributes:
        current: what holds, most noteworthy first; ``current_count`` counts those beyond them too.
        total_count: facts in all, whatever their status.
        changes: the facts that changed lately, by their newest versions, newest first.
        observations: best supported first.
        open_conflicts: newest first, each with the incumbent first.
        moment: the time that the page is about: now, or what the reader asked for.
        horizons: how long facts stay fresh.
    """

    entity_type: str
    entity_id: str
    moment: datetime
    current: Sequence[Fact] = ()
    current_count: int = 0
    total_count: int = 0
    changes: Sequence[FactVersion] = ()
    observations: Sequence[Observation] = ()
    open_conflicts: Sequence[Conflict] = ()
    horizons: Horizons = DEFAULT_HORIZONS


@dataclass(slots=True)
class _Section:
    """A part of the page: its lines come whole, the first ones first.

    Attributes:
        entries: each of one or more lines.
        share: part of the page that it may have before others get what is left.
        beyond: how many more there are that are not among the entries.
    """

    title: str
    entries: Sequence[str]
    share: float
    beyond: int = 0
    shown: int = 0


def tokens_of(text: str) -> int:
    """Returns an estimate of how many tokens a text is: four letters of a Latin script each, others one each."""
    return -(-_quarters(text) // 4)


def render(page: BriefingPage, max_tokens: int = DEFAULT_MAX_TOKENS) -> str:
    """Returns the page as markdown of at most ``max_tokens``, as :func:`tokens_of` counts them.

    Every section is given a share, and what one does not need goes to the others in their order; what does not
    fit is counted in a last line. Words of callers are escaped, so that none is taken for markup.
    """
    head = _head(page)
    budget = 4 * max_tokens
    if _quarters(head) > budget:
        return _cut(head, budget)
    sections = [section for section in _sections(page) if section.entries]
    _fill(sections, budget - _quarters(head))
    parts = [head, *(_text(section) for section in sections if section.shown)]
    return "".join(parts)


def _head(page: BriefingPage) -> str:
    name = f"# {escaped(page.entity_id)} ({escaped(page.entity_type)})\n"
    if not page.total_count:
        return f"{name}\nNothing is known.\n"
    counted = f"{_number(page.current_count, 'current fact')} of {page.total_count} on record"
    return f"{name}\n{counted}, as of {_day(page.moment)}.\n"


def _sections(page: BriefingPage) -> list[_Section]:
    beyond = page.current_count - len(page.current)
    return [
        _Section("Current facts", [_current_line(f, page) for f in page.current], 0.5, beyond),
        _Section("Observations", [_observation_line(o, page.moment) for o in page.observations], 0.15),
        _Section("Open conflicts", [_conflict_lines(c) for c in page.open_conflicts], 0.2),
        _Section("Changed lately", [_change_line(v) for v in page.changes if _is_news(v)][:MAX_CHANGES], 0.15),
    ]


def _is_news(version: FactVersion) -> bool:
    """Whether a change is worth a line: what is new, confirmed or in dispute is told elsewhere on the page."""
    unchanged = {FactChange.CREATED, FactChange.MERGED}
    told = version.fact.status is FactStatus.ACTIVE and version.change in unchanged
    return not told and version.fact.conflict_id is None


def _fill(sections: Sequence[_Section], budget: int) -> None:
    """Decides how many entries of each section are shown: first within its share, then with what is left."""
    left = budget
    for guaranteed in (True, False):
        for section in sections:
            if section.shown == len(section.entries):
                continue
            allowance = min(int(budget * section.share), left) if guaranteed else left + _cost(section)
            before = _cost(section)
            while section.shown < len(section.entries):
                section.shown += 1
                if _cost(section) > allowance:
                    section.shown -= 1
                    break
            left -= _cost(section) - before


def _cost(section: _Section) -> int:
    return _quarters(_text(section)) if section.shown else 0


def _text(section: _Section) -> str:
    lines = [f"\n## {section.title}\n\n", *(f"{entry}\n" for entry in section.entries[: section.shown])]
    more = len(section.entries) - section.shown + section.beyond
    if more:
        lines.append(f"\n… and {more} more.\n")
    return "".join(lines)


def _current_line(fact: Fact, page: BriefingPage) -> str:
    notes = [f"confidence {fact.confidence:.2f}", _number(fact.source_count, "source"), _validity(fact)]
    if freshness(fact.volatility, fact.last_reinforce_time, page.moment, page.horizons) is Freshness.UNCONFIRMED:
        notes.append(f"unconfirmed since {_day(fact.last_reinforce_time)}")
    if fact.conflict_id is not None:
        notes.append("in conflict")
    return f"- {_wording(fact)} — {', '.join(notes)}"


def _conflict_lines(conflict: Conflict) -> str:
    reason = f": {escaped(conflict.reason)}" if conflict.reason else ""
    lines = [f"- Since {_day(conflict.create_time)}{reason}"]
    for fact in conflict.facts:
        stands = "waits for review" if fact.status is FactStatus.PENDING else "holds until reviewed"
        notes = f"{stands}, confidence {fact.confidence:.2f}, {_number(fact.source_count, 'source')}"
        lines.append(f"  - {_wording(fact)} — {notes}")
    return "\n".join(lines)


def _observation_line(observation: Observation, moment: datetime) -> str:
    first, last = observation.first_time, observation.last_time
    period = "" if first is None or last is None else f", {_day(first)} to {_day(last)}"
    support = _number(observation.proof_count, "fact")
    develops = trend(observation.support, moment).value.lower()
    wording = escaped(clipped(observation.text, MAX_WORDING))
    return f"- {wording} — {support}{period}, {develops}"


_CHANGES = {
    FactStatus.SUPERSEDED: "superseded",
    FactStatus.DISPUTED: "disputed",
    FactStatus.RETRACTED: "retracted",
    FactStatus.ARCHIVED: "archived",
    FactStatus.PENDING: "waiting",
    FactStatus.DELETED: "erased",
}


def _change_line(version: FactVersion) -> str:
    fact = version.fact
    restored = version.change is FactChange.STATUS_CHANGED
    named = _CHANGES.get(fact.status, "holds again" if restored else "revised")
    until = f", {_validity(fact)}" if fact.status is FactStatus.SUPERSEDED else ""
    return f"- {_day(version.recorded_from)} {named}: {_wording(fact)}{until}"


def _wording(fact: Fact) -> str:
    return escaped(clipped(fact.text, MAX_WORDING)) or "(erased)"


def _validity(fact: Fact) -> str:
    if fact.valid_to is None:
        return f"since {_day(fact.valid_from)}"
    return f"from {_day(fact.valid_from)} until {_day(fact.valid_to)}"


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _quarters(text: str) -> int:
    return sum(1 if character < _LATIN_END else _QUARTERS_OF_OTHERS for character in text)


def _cut(text: str, budget: int) -> str:
    """Returns the beginning of a text that is within a budget of quarters of tokens."""
    for end, character in enumerate(text):
        budget -= _quarters(character)
        if budget < 0:
            return text[:end]
    return text

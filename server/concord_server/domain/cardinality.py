"""What becomes of a slot when several values may hold at once: every value gets a timeline of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from uuid import UUID

from concord_server.domain.entity_merge import derived_id, whole_statement
from concord_server.domain.settlement import Timeline
from concord_server.domain.timeline import Assertion, AssertionKind, AssertionState, Segment, fold


def split_by_value(timeline: Timeline) -> Mapping[str, Timeline]:
    """Returns, by value key, the part of a timeline that is about one value.

    Each value holds when it held before: where another one replaced it, that is its end now, and what was superseded
    does not come back. A fact goes where its value goes, with everything that was said for it.

    Args:
        timeline: of a slot with one value at a time and no open conflict; the parts still have its id.
    """
    placed: dict[object, Assertion] = {}
    keys: dict[object, str] = {}
    segments = fold(timeline.assertions)
    for segment in segments:
        for assertion in segment.assertions:
            keys[assertion.assertion_id] = segment.value_key
            placed[assertion.assertion_id] = whole_statement(assertion, segment)
    ends = [(segment.value_key, _end(segment)) for segment in segments[:-1]]
    of_fact = {fact.fact_id: fact.value_key for fact in timeline.facts}
    parts: dict[str, list[Assertion]] = {}
    for assertion in timeline.assertions:
        key = keys.get(assertion.assertion_id) or of_fact.get(assertion.fact_id)
        if key is not None:  # what was said for an erased fact stays behind
            parts.setdefault(key, []).append(placed.get(assertion.assertion_id) or _never_held(assertion))
    for key, end in ends:
        parts[key].append(end)
    return {
        key: replace(
            timeline,
            facts=tuple(fact for fact in timeline.facts if fact.value_key == key),
            assertions=tuple(parts.get(key, ())),
        )
        for key in dict.fromkeys([*of_fact.values(), *parts])
    }


def parts_without(timeline: Timeline, gone: Collection[UUID]) -> Mapping[str, Timeline]:
    """Returns the parts of :func:`split_by_value` without some facts, whose conflict is resolved elsewhere."""
    found: dict[str, Timeline] = {}
    for key, part in split_by_value(replace(timeline, conflict_id=None)).items():
        facts = tuple(fact for fact in part.facts if fact.fact_id not in gone)
        if facts:
            said = tuple(a for a in part.assertions if a.fact_id not in gone)
            found[key] = replace(part, facts=facts, assertions=said)
    return found


def _never_held(assertion: Assertion) -> Assertion:
    """Returns an assertion that no stretch rests on: alone it must not hold either."""
    if assertion.state is not AssertionState.ADMITTED:
        return assertion
    return replace(assertion, state=AssertionState.OVERRULED)


def _end(segment: Segment) -> Assertion:
    """Returns what keeps a stretch that another one followed from going on, or from standing for now."""
    last = segment.statements[-1]
    return replace(
        last,
        assertion_id=derived_id(last.assertion_id),
        kind=AssertionKind.AMEND,
        end=segment.end,
        ends=True,
        source_id=None,
    )

"""Wordings that say the same become one observation, with the sources of all. Nothing here does I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from concord_server.domain.enums import ObservationAction
from concord_server.domain.observations import Observation
from concord_server.domain.observing import Change, Plan

TWIN_SIMILARITY = 0.97
"""Cosine from which two wordings may be twins; the judge decides."""


@dataclass(frozen=True, slots=True)
class Twin:
    """Two wordings that say the same: that of a change, and that of an earlier change or of an observation.

    Attributes:
        change: index in the plan.
        other: index in the plan (a smaller one), or the id of a stored observation.
    """

    change: int
    other: int | UUID


def fold(planned: Plan, twins: Sequence[Twin], stored: Mapping[UUID, Observation]) -> Plan:
    """Returns the plan with twins folded, all their sources together.

    A new observation becomes an update of its twin, whose wording changes to the new one; of two new ones the first
    stays. A stored observation that another one's new wording is a twin of is absorbed by it.

    Args:
        planned: no observation is in two changes.
        twins: judged to say the same.
        stored: the observations that twins name by id.
    """
    changes: dict[int, Change] = dict(enumerate(planned.changes))
    moved: dict[int, int] = {}
    for twin in twins:
        index = _settled(twin.change, moved)
        change = changes[index]
        if isinstance(twin.other, int):
            other = _settled(twin.other, moved)
        else:
            holder = _holder(changes, twin.other)
            if holder is None:
                changes[index] = _with_stored(change, stored[twin.other])
                continue
            other = holder
        if other == index or _is_retiring(change):
            continue
        if _is_retiring(changes[other]):
            changes[index] = _with_stored(change, stored[_id(changes.pop(other))])
            moved[other] = index
            continue
        first, second = (
            (other, index) if changes[other].observation_id or not change.observation_id else (index, other)
        )
        changes[first] = _joined(changes[first], changes.pop(second))
        moved[second] = first
    return Plan(tuple(changes[index] for index in sorted(changes)), planned.refusals)


def _settled(index: int, moved: Mapping[int, int]) -> int:
    while index in moved:
        index = moved[index]
    return index


def _holder(changes: Mapping[int, Change], observation_id: UUID) -> int | None:
    """Returns the change that is about an observation, or absorbs it."""
    for index, change in changes.items():
        if change.observation_id == observation_id or observation_id in change.absorbed:
            return index
    return None


def _is_retiring(change: Change) -> bool:
    return change.action is ObservationAction.RETIRED


def _id(change: Change) -> UUID:
    assert change.observation_id is not None, "only what is stored can be retired"
    return change.observation_id


def _with_stored(change: Change, stored: Observation) -> Change:
    if change.observation_id is None:
        return replace(change, action=ObservationAction.UPDATED, observation_id=stored.observation_id)
    absorbed = (*change.absorbed, stored.observation_id)
    return replace(change, action=ObservationAction.MERGED, absorbed=absorbed)


def _joined(first: Change, second: Change) -> Change:
    """Returns the first change with all that the second one brings; both say the same."""
    fact_ids = tuple(dict.fromkeys((*first.fact_ids, *second.fact_ids)))
    absorbed = (*first.absorbed, *second.absorbed)
    if second.observation_id is not None:
        absorbed = (*absorbed, second.observation_id)
    action = ObservationAction.MERGED if absorbed else first.action
    return replace(first, action=action, fact_ids=fact_ids, absorbed=absorbed)

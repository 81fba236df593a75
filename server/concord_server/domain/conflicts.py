"""When a conflict opens, who is in it, and when it ends by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from concord_server.domain.enums import FactStatus
from concord_server.domain.settlement import Settlement, Timeline
from concord_server.domain.timeline import AssertionState


@dataclass(frozen=True, slots=True)
class ConflictReview:
    """What a change of a timeline means for the slot's open conflict.

    Attributes:
        opens: whether a new conflict is needed.
        members: facts that are in it afterwards, the incumbent first; empty when there is none.
        ends: whether the open one is left without challengers and so resolved.
    """

    opens: bool
    members: tuple[UUID, ...]
    ends: bool


def review(before: Timeline, after: Settlement, *, contests_active: bool = False) -> ConflictReview:
    """Re-evaluates the conflict of a slot after a change.

    Challengers are the PENDING facts whose assertions wait. The fact that holds now is the incumbent if it
    was before or is contested by the change, or if it is another fact than before: what supersedes or fills
    the slot becomes the new incumbent. Without challengers there is no conflict.

    Args:
        before: the slot as it was.
        after: the slot as it is now.
        contests_active: whether the change challenges the fact that holds now.
    """
    challengers = _challengers(after)
    if not challengers:
        return ConflictReview(opens=False, members=(), ends=before.conflict_id is not None)
    active = next((s.fact_id for s in after.states if s.status is FactStatus.ACTIVE), None)
    was = before.active()
    incumbent: Iterable[UUID] = ()
    if active is not None:
        unchanged = was is not None and was.fact_id == active
        was_member = unchanged and was is not None and was.conflict_id is not None
        if was_member or contests_active or not unchanged:
            incumbent = (active,)
    return ConflictReview(opens=before.conflict_id is None, members=(*incumbent, *challengers), ends=False)


def _challengers(settlement: Settlement) -> tuple[UUID, ...]:
    waiting = {a.fact_id for a in settlement.assertions if a.state is AssertionState.QUARANTINED}
    return tuple(
        sorted(
            state.fact_id
            for state in settlement.states
            if state.status is FactStatus.PENDING and state.fact_id in waiting
        )
    )

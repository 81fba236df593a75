"""Writing facts that go over to another timeline: entities turn out to be one, or a predicate's cardinality changes."""

from __future__ import annotations

from collections.abc import Sequence

from concord_server.domain.conflicts import review
from concord_server.domain.enums import FactChange
from concord_server.domain.model import Fact
from concord_server.domain.settlement import Settlement, Timeline
from concord_server.services.timeline_writer import TimelineChange


def moving_change(
    before: Timeline,
    after: Settlement,
    facts: Sequence[Fact],
    *,
    contests: bool,
    reviewed: Timeline,
    actor: str,
    reason: str,
) -> TimelineChange:
    """Returns the change that writes facts as they are to be.

    Args:
        before: the timeline that they go to, as it was.
        after: that timeline with them, settled.
        facts: as drafted, whether or not anything is said for them any more.
        contests: whether they challenge what holds there.
        reviewed: the timeline whose conflict is re-evaluated.
    """
    changes = {
        fact.fact_id: FactChange.REVISED
        if after.state(fact.fact_id).status is fact.status
        else FactChange.STATUS_CHANGED
        for fact in facts
        if fact.fact_id in after.by_fact
    }
    return TimelineChange(
        before=before,
        after=after,
        review=review(reviewed, after, contests_active=contests),
        actor=actor,
        reason=reason,
        conflict_reason=reason,
        drafts={fact.fact_id: fact for fact in facts},
        changes=changes,
        refreshed=frozenset(fact.fact_id for fact in facts),
    )

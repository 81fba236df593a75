"""UpdateFact: changes what is not a statement: bounds, tags, metadata, volatility, corroboration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.commands import MAX_LABEL, MAX_TAGS, Violations, validate_interval
from concord_server.domain.conflicts import review
from concord_server.domain.enums import FactChange, FactStatus, Trust, Volatility
from concord_server.domain.errors import (
    IllegalStatusTransitionError,
    SlotOccupiedError,
)
from concord_server.domain.model import Fact
from concord_server.domain.settlement import Settlement, Timeline, settle
from concord_server.domain.text import label_problem
from concord_server.domain.timeline import Assertion, AssertionKind, AssertionState
from concord_server.domain.values import Json, value_problem
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.ledger import Ledger, WriteSession
from concord_server.services import idempotency as repeats
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.drafts import merged
from concord_server.services.locking import lock_fact
from concord_server.services.statuses import check_etag
from concord_server.services.timeline_writer import TimelineChange, TimelineWriter

UPDATABLE = frozenset({"valid_from", "valid_to", "tags", "metadata", "volatility", "corroboration_score"})
"""Fields that an update mask may name."""

_IN_PLAY = frozenset({AssertionState.ADMITTED, AssertionState.QUARANTINED, AssertionState.SUSPENDED})


@dataclass(frozen=True, slots=True)
class FactUpdate:
    """What to change: only what ``mask`` names counts.

    Attributes:
        valid_from: must be given when it is named.
        valid_to: ``None`` reopens the interval.
    """

    mask: frozenset[str]
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)
    volatility: Volatility = Volatility.STABLE
    corroboration_score: float = 0.0

    def validate(self, found: Violations) -> None:
        """Adds everything that is wrong with the update by itself; its bounds are checked against the fact's."""
        if not self.mask:
            found.add("update_mask", "must name at least one field")
        for name in sorted(self.mask - UPDATABLE):
            found.add("update_mask", f"cannot change {name}; it can change {', '.join(sorted(UPDATABLE))}")
        if "valid_from" in self.mask and self.valid_from is None:
            found.add("valid_from", "must be given: a fact always begins")
        if "tags" in self.mask:
            for index, tag in enumerate(self.tags):
                problem = label_problem(tag, max_length=MAX_LABEL) if tag.strip() else "must not be empty"
                found.add(f"tags[{index}]", problem)
            if len(self.tags) > MAX_TAGS:
                found.add("tags", f"must have at most {MAX_TAGS} items, has {len(self.tags)}")
        if "metadata" in self.mask:
            found.add("metadata", value_problem(dict(self.metadata)))
        if "corroboration_score" in self.mask:
            found.unit_interval("corroboration_score", self.corroboration_score)


class UpdateFact:
    """Changes a fact's own fields, and re-folds its timeline when its bounds change."""

    def __init__(self, ledger: Ledger, clock: Clock, ids: Ids) -> None:
        self._ledger = ledger
        self._clock = clock
        self._ids = ids
        self._writer = TimelineWriter(ids)

    async def execute(
        self,
        context: CallContext,
        fact_id: UUID,
        update: FactUpdate,
        reason: str,
        etag: str = "",
        idempotency: Idempotency[Fact] | None = None,
    ) -> Fact | Replay:
        """Returns the fact as it is afterwards.

        Raises:
            InvalidFieldsError: the update is malformed, or inverts the interval.
            FactNotFoundError: no such fact.
            EtagMismatchError: the fact changed since the caller read it.
            SlotOccupiedError: a neighbour on the timeline does not leave room, or is of higher trust.
        """
        found = Violations()
        update.validate(found)
        found.raise_if_any()
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        now = self._clock.now()
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            fact = await self._update(session, context, fact_id, update, reason, etag, now)
            await repeats.complete(session, idempotency, fact, [fact_id])
            return fact

    async def _update(
        self,
        session: WriteSession,
        context: CallContext,
        fact_id: UUID,
        update: FactUpdate,
        reason: str,
        etag: str,
        now: datetime,
    ) -> Fact:
        locked, fact = await lock_fact(session, fact_id, now)
        check_etag(etag, fact.etag)
        if fact.status is FactStatus.DELETED:
            raise IllegalStatusTransitionError(fact.status.value, "an updated fact")
        before = await session.slots.timeline(fact.slot_id)
        changed = _changed(fact, update)
        timeline = _with_fact(before, changed)
        if update.mask & {"valid_from", "valid_to"}:
            ends = "valid_to" in update.mask
            assertions = self._rebounded(before, changed, context.trust_cap, ends=ends)
            timeline = replace(timeline, assertions=assertions)
        after = settle(timeline, now, self._ids.new)
        _check_room(before, after, changed, context.trust_cap)
        written = await self._writer.write(
            session,
            locked,
            TimelineChange(
                before=before,
                after=after,
                review=review(before, after),
                actor=context.actor,
                reason=reason,
                drafts={fact_id: changed},
                changes={fact_id: FactChange.REVISED},
                refreshed=frozenset({fact_id}),
            ),
        )
        return written.facts[fact_id]

    def _rebounded(self, before: Timeline, fact: Fact, trust: Trust, *, ends: bool) -> tuple[Assertion, ...]:
        """Returns the assertions such that the fact holds from ``valid_from``, and until ``valid_to`` if ``ends``.

        Its statements outside of the new bounds are overruled; where none is left at the new beginning, the
        earliest is stated again there; an amendment closes (or reopens) the interval.
        """
        own = [a for a in before.assertions if a.fact_id == fact.fact_id and a.state in _IN_PLAY]
        statements = sorted((a for a in own if a.kind is not AssertionKind.AMEND), key=lambda a: a.order)
        if not statements:
            return before.assertions
        end = fact.valid_to if ends else None
        start = fact.valid_from  # of an occurrence that ends when it begins it is the one time within
        within = [a for a in statements if a.time >= start and (end is None or a.time < end or a.time == start)]
        overruled = {a.assertion_id for a in statements} - {a.assertion_id for a in within}
        added: list[Assertion] = []
        if all(a.time != fact.valid_from for a in within):
            first = statements[0]
            overruled.add(first.assertion_id)
            added.append(replace(first, assertion_id=self._ids.new(), time=fact.valid_from))
        if ends:
            overruled |= {a.assertion_id for a in own if a.kind is AssertionKind.AMEND}
            added.append(
                Assertion(
                    assertion_id=self._ids.new(),
                    fact_id=fact.fact_id,
                    time=fact.valid_from,
                    value_key=fact.value_key,
                    value=fact.claim.value if fact.claim else None,
                    kind=AssertionKind.AMEND,
                    trust=trust,
                    state=statements[0].state,
                    end=end,
                    ends=True,
                )
            )
        kept = (
            replace(a, state=AssertionState.OVERRULED) if a.assertion_id in overruled else a
            for a in before.assertions
        )
        return (*kept, *added)


def _changed(fact: Fact, update: FactUpdate) -> Fact:
    """Returns the fact with what the mask names.

    Raises:
        InvalidFieldsError: the interval would be inverted or empty.
    """
    mask = update.mask
    changed = replace(
        fact,
        valid_from=update.valid_from if "valid_from" in mask and update.valid_from else fact.valid_from,
        valid_to=update.valid_to if "valid_to" in mask else fact.valid_to,
        tags=merged(update.tags) if "tags" in mask else fact.tags,
        metadata=dict(update.metadata) if "metadata" in mask else fact.metadata,
        volatility=update.volatility if "volatility" in mask else fact.volatility,
        corroboration_score=(
            update.corroboration_score if "corroboration_score" in mask else fact.corroboration_score
        ),
    )
    found = Violations()
    if mask & {"valid_from", "valid_to"}:
        validate_interval(changed.valid_from, changed.valid_to, fact.partition.type, found)
    found.raise_if_any()
    return changed


def _with_fact(before: Timeline, fact: Fact) -> Timeline:
    facts = tuple(fact if f.fact_id == fact.fact_id else f for f in before.facts)
    return replace(before, facts=facts)


def _check_room(before: Timeline, after: Settlement, wanted: Fact, trust: Trust) -> None:
    """Checks that the fact got the bounds it was given, at the cost of no fact of higher trust.

    Raises:
        SlotOccupiedError: it did not.
    """
    state = after.by_fact.get(wanted.fact_id)
    stated = before.fact(wanted.fact_id) if state is None else state
    if stated is not None and (stated.valid_from, stated.valid_to) != (wanted.valid_from, wanted.valid_to):
        if state is None:
            raise SlotOccupiedError("no statement speaks of the fact any more, so it has no bounds to change")
        raise SlotOccupiedError("another fact of the timeline holds within these bounds; change that one first")
    for other in after.states:
        known = before.fact(other.fact_id)
        if known is None or other.fact_id == wanted.fact_id or known.trust <= trust:
            continue
        if (known.valid_from, known.valid_to) != (other.valid_from, other.valid_to):
            raise SlotOccupiedError(f"fact {known.fact_id} of higher trust would change its bounds")

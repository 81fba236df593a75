"""Reading facts by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from concord_server.domain.model import Fact
from concord_server.ports.clock import Clock
from concord_server.ports.ledger import Ledger
from concord_server.services.confidence import recomputed
from concord_server.services.context import CallContext


@dataclass(frozen=True, slots=True)
class FoundFacts:
    """The facts that exist and the ids that are unknown, both in the order asked for."""

    facts: tuple[Fact, ...]
    missing: tuple[UUID, ...]


class BatchGetFacts:
    """Reads several facts at once."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def execute(self, context: CallContext, fact_ids: Sequence[UUID], *, recompute: bool) -> FoundFacts:
        """Returns the facts, erased ones without words; an id that is asked for twice is answered twice.

        Args:
            context: the caller.
            fact_ids: of the facts.
            recompute: whether confidence is as of now, instead of as stored at the fact's last change.
        """
        async with self._ledger.read(context.project) as session:
            facts = await session.facts.get_many(fact_ids)
            if recompute:
                facts = await recomputed(session, facts, self._clock.now())
        known = {fact.fact_id for fact in facts}
        return FoundFacts(tuple(facts), tuple(fact_id for fact_id in fact_ids if fact_id not in known))

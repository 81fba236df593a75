"""Confidence as of now, where a caller wants it instead of the one stored at the fact's last change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from concord_server.domain.confidence import SourceStatistics, confidence
from concord_server.domain.model import Fact
from concord_server.ports.clock import Clock
from concord_server.ports.ledger import Ledger, ReadSession
from concord_server.services.context import CallContext

_NO_SOURCES = SourceStatistics()


class RecomputeConfidence:
    """Gives facts the confidence that they have now."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def execute(self, context: CallContext, facts: Sequence[Fact]) -> list[Fact]:
        """Returns the facts in their order, each with its confidence as of now."""
        async with self._ledger.read(context.project) as session:
            return await recomputed(session, facts, self._clock.now())


async def recomputed(session: ReadSession, facts: Sequence[Fact], now: datetime) -> list[Fact]:
    """Returns the facts in their order, each with its confidence as of ``now``."""
    known = await session.briefings.source_statistics([fact.fact_id for fact in facts])
    found = []
    for fact in facts:
        sources = known.get(fact.fact_id, _NO_SOURCES)
        score = confidence(sources.credibilities, sources.newest_time, fact.corroboration_score, now)
        found.append(replace(fact, confidence=score))
    return found

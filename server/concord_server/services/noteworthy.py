"""Ranking facts by how noteworthy they are."""

from __future__ import annotations

from concord_server.domain.noteworthiness import RankedFact, noteworthiness_of
from concord_server.domain.queries import CurrentRead, Cursor, FactFilter, Page
from concord_server.ports.clock import Clock
from concord_server.ports.ledger import Ledger
from concord_server.ports.project_settings import DefaultSettings, SettingsOfProjects
from concord_server.services.context import CallContext
from concord_server.services.predicate_names import by_any_name


class ListNoteworthyFacts:
    """Ranks current facts by confidence, number of sources and recency."""

    def __init__(self, ledger: Ledger, clock: Clock, settings: SettingsOfProjects | None = None) -> None:
        self._ledger = ledger
        self._clock = clock
        self._settings = settings or DefaultSettings()

    async def execute(
        self,
        context: CallContext,
        where: FactFilter,
        after: Cursor | None,
        size: int,
        include_conflicted: bool = False,
    ) -> Page[RankedFact]:
        """Returns a page of current facts, most noteworthy first.

        All pages rank as of the first one's time, so that none repeats or skips a fact because time passed.
        """
        now = self._clock.now()
        horizons = (await self._settings.of(context.project)).horizons
        current = CurrentRead(now, include_conflicted=include_conflicted, horizons=horizons)
        async with self._ledger.read(context.project) as session:
            named = await by_any_name(session, where)
            page, moment = await session.briefings.ranked(
                named, current, now=now, after=after, size=size, active_first=False
            )
        ranked = [RankedFact(fact, noteworthiness_of(fact, moment)) for fact in page.items]
        return Page(ranked, page.next, page.total)

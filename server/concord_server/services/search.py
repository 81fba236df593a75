"""Searching facts by meaning and by words."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from concord_server.domain.commands import Violations
from concord_server.domain.enums import FactStatus
from concord_server.domain.freshness import Horizons
from concord_server.domain.queries import CurrentRead, FactFilter
from concord_server.domain.search import SearchQuery, SearchResult, fuse, ranked_depth
from concord_server.ports.clock import Clock
from concord_server.ports.embedder import Embedder, Vector
from concord_server.ports.ledger import Ledger
from concord_server.ports.project_settings import DefaultSettings, SettingsOfProjects
from concord_server.services.context import CallContext
from concord_server.services.embedding import embed_one
from concord_server.services.predicate_names import by_any_name


class SearchFacts:
    """Finds facts by meaning and by words, best first."""

    def __init__(
        self, ledger: Ledger, embedder: Embedder, clock: Clock, settings: SettingsOfProjects | None = None
    ) -> None:
        self._ledger = ledger
        self._embedder = embedder
        self._clock = clock
        self._settings = settings or DefaultSettings()

    async def execute(self, context: CallContext, query: SearchQuery) -> list[SearchResult]:
        """Returns what was found; by words alone while the embedder is unavailable.

        Raises:
            InvalidFieldsError: the query has no letter or digit, or is too long.
        """
        found = Violations()
        query.validate(found)
        found.raise_if_any()
        return await self.find(context, query, await embed_one(self._embedder, query.text))

    async def find(self, context: CallContext, query: SearchQuery, vector: Vector | None) -> list[SearchResult]:
        """Returns what was found for a query whose embedding is known, ``None`` where it cannot be had."""
        horizons = (await self._settings.of(context.project)).horizons
        where, current = scope(query, self._clock.now(), horizons)
        async with self._ledger.read(context.project) as session:
            words = await session.search.words(query.text)
            where = await by_any_name(session, where)
            hits = await session.search.hits(
                where, current, vector=vector, words=words, depth=ranked_depth(query.top_k)
            )
            best = fuse(hits, query.top_k, min_similarity=query.min_similarity)
            facts = await session.search.recorded([scored.hit.item_id for scored in best], where.known_at)
        by_id = {fact.fact_id: fact for fact in facts}
        return [
            SearchResult(by_id[s.hit.item_id], s.hit.similarity or 0.0, s.hit.text_rank, s.score)
            for s in best
            if s.hit.item_id in by_id
        ]


def scope(query: SearchQuery, now: datetime, horizons: Horizons) -> tuple[FactFilter, CurrentRead | None]:
    """Returns which facts a query is about.

    Unless it names statuses or a valid time, it is a current read: at ``now``, or at the recorded time that it
    names, as it would have been answered then. Members of open conflicts are left out of every search that does
    not ask for them.
    """
    where = query.where
    if where.as_of is None and not where.statuses:
        moment = where.known_at or now
        return where, CurrentRead(moment, query.include_superseded, query.include_conflicted, horizons)
    statuses = where.statuses
    if statuses and query.include_superseded:
        statuses = tuple(dict.fromkeys((*statuses, FactStatus.SUPERSEDED)))
    return replace(where, statuses=statuses, unconflicted=not query.include_conflicted), None

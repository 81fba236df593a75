"""Searching a subject's events by meaning and by words."""

from __future__ import annotations

from concord_server.domain.commands import Violations
from concord_server.domain.event_search import EventMatch, EventQuery
from concord_server.domain.search import fuse, ranked_depth
from concord_server.ports.embedder import Embedder
from concord_server.ports.ledger import Ledger
from concord_server.services.context import CallContext
from concord_server.services.embedding import embed_one


class SearchEvents:
    """Finds events by meaning and by words, best first."""

    def __init__(self, ledger: Ledger, embedder: Embedder) -> None:
        self._ledger = ledger
        self._embedder = embedder

    async def execute(self, context: CallContext, query: EventQuery) -> list[EventMatch]:
        """Returns what was found; by words alone while the embedder is unavailable.

        An event is found once it was made findable (:class:`~concord_server.services.index_events.IndexEvents`).

        Raises:
            InvalidFieldsError: the query has no letter or digit, or is too long; or the subject is missing.
            OverloadedError: the embedder has too much to do.
        """
        found = Violations()
        query.validate(found)
        found.raise_if_any()
        vector = await embed_one(self._embedder, query.text)
        async with self._ledger.read(context.project) as session:
            words = await session.search.words(query.text)
            hits = await session.event_search.hits(
                query.where, vector=vector, words=words, depth=ranked_depth(query.top_k)
            )
            best = fuse(hits, query.top_k)
            events = await session.event_search.found([scored.hit.item_id for scored in best])
        by_id = {event.event_id: event for event in events}
        return [
            EventMatch(by_id[s.hit.item_id], s.hit.similarity or 0.0, s.hit.text_rank, s.score)
            for s in best
            if s.hit.item_id in by_id
        ]

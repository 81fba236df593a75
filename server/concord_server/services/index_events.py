"""Making events findable: their words are taken from them, and they are embedded."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from concord_server.domain.event_search import searchable_text
from concord_server.ports.embedder import Embedder, Vector
from concord_server.ports.event_search import EventAgenda
from concord_server.ports.ledger import Ledger
from concord_server.services.embedding import embed_all

TAKEN_TOGETHER = 16
"""How many events are embedded at once: few, because calls wait for the same embedder."""

EMBEDDED_CHARACTERS = 8192
"""An event is embedded by the beginning of its text; a model reads less than this (the default one 256 tokens)."""

LEASE = timedelta(minutes=1)
"""How long events stay with the process that embeds them; then they are taken to be left behind."""


class IndexEvents:
    """Makes events findable. Any number of processes may do so at once: each event is taken by one of them.

    Events whose embedding failed stay taken until the lease is over, so that others have their turn before them.
    """

    def __init__(self, ledger: Ledger, agenda: EventAgenda, embedder: Embedder) -> None:
        self._ledger = ledger
        self._agenda = agenda
        self._embedder = embedder

    async def execute(self) -> bool:
        """Takes up the events of all projects, a few of each in turn; false when the embedder is unavailable.

        Words do not wait for the embedder: while it is unavailable, events are found by them alone.

        Raises:
            UnavailableError: the database cannot be reached; what was done before is kept.
            OverloadedError: the embedder has too much to do for others.
        """
        available, more = True, True
        while more:
            more, project = False, ""
            while found := await self._agenda.project_with_unsearchable_events(after=project):
                project = found
                count, available = await self._index(project, available=available)
                more = more or count > 0
        return available

    async def _index(self, project: str, *, available: bool) -> tuple[int, bool]:
        """Makes some events findable; returns how many were taken, and whether the embedder is still available."""
        async with self._ledger.write(project) as session:
            events = await session.event_search.take(TAKEN_TOGETHER, LEASE, unread=not available)
        if not events:
            return 0, available
        texts = {event.event_id: searchable_text(event) for event in events}
        to_embed = {event_id: text[:EMBEDDED_CHARACTERS] for event_id, text in texts.items() if text}
        vectors = await self._embed(list(to_embed.values())) if available else None
        embedded = dict(zip(to_embed, vectors, strict=True)) if vectors is not None else {}
        async with self._ledger.write(project) as session:
            await session.event_search.index(texts, embedded)
        return len(events), vectors is not None

    async def _embed(self, texts: Sequence[str]) -> list[Vector] | None:
        return await embed_all(self._embedder, texts) if texts else []

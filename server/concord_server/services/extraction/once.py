"""Asks a model about an event once, whatever becomes of what it said."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from concord_server.domain.events import Event
from concord_server.ports.events import Extraction, Extractor
from concord_server.ports.language_model import Usage
from concord_server.ports.ledger import Ledger


class ExtractedOnce:
    """Implements :class:`~concord_server.ports.events.Extractor` over another one, whose answers it keeps.

    An answer is stored with its event before anything is made of it, and goes when the event is done. So an attempt
    that fails afterwards, or whose worker ends, costs no second call.
    """

    def __init__(self, extractor: Extractor, ledger: Ledger) -> None:
        self._extractor = extractor
        self._ledger = ledger

    async def extract(self, project: str, run_id: UUID | None, event: Event) -> Extraction:
        """Returns what the event holds: what was taken from it before, at no cost, or what a model says now.

        Dry runs use what there is and keep nothing. Errors are those of the extractor beneath.
        """
        async with self._ledger.read(project) as session:
            kept = await session.events.extraction(event.event_id)
        if kept is not None:
            return replace(kept, usage=Usage())
        extraction = await self._extractor.extract(project, run_id, event)
        if run_id is not None:
            async with self._ledger.write(project) as session:
                await session.events.keep_extraction(event.event_id, extraction)
        return extraction

"""The port behind which events are found by meaning and by words, and made findable.

An event becomes findable after it was appended: its words are taken from it, and it is embedded. How far it has come is
in the database alone, so that nothing is lost when a process ends and any number of them may share the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from concord_server.domain.events import Event, EventFilter
from concord_server.domain.search import SearchHit
from concord_server.ports.embedder import Vector


class EventSearchRepository(Protocol):
    """Finds events; erased ones are never found. What changes something is for write sessions only."""

    async def hits(
        self, where: EventFilter, *, vector: Vector | None, words: Sequence[str], depth: int
    ) -> list[SearchHit]:
        """Returns the events that are nearest to a vector, and those that match words best, of those that pass.

        Args:
            where: which events; its subject is given.
            vector: embedding of the query, ``None`` to find by words alone.
            words: of :meth:`~concord_server.ports.search.SearchRepository.words`; one of them suffices.
            depth: how many of each ranking.
        """

    async def found(self, event_ids: Sequence[UUID]) -> list[Event]:
        """Returns the events in the order asked for; those that are erased by now are left out."""

    async def take(self, limit: int, lease: timedelta, *, unread: bool = False) -> list[Event]:
        """Takes events that cannot be found yet, oldest first; nobody else gets them while the lease runs.

        Args:
            limit: how many at most.
            lease: how long they are taken for; ends when they are indexed.
            unread: takes those alone whose words are not known either.
        """

    async def index(self, texts: Mapping[UUID, str], vectors: Mapping[UUID, Vector]) -> None:
        """Stores the words of events' texts, with their embeddings.

        An event without an embedding stays taken until its lease is over, and waits for one then; one without a text
        needs none.
        """


class EventAgenda(Protocol):
    """Finds such work across projects. Reads only, and outside of any session."""

    async def project_with_unsearchable_events(self, *, after: str) -> str | None:
        """Returns the first project after ``after`` with events that cannot be found yet, ``None`` without one."""

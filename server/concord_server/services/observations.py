"""Reading observations: by filter, by id, through their history, and by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from concord_server.domain.commands import Violations
from concord_server.domain.errors import InvalidPageTokenError, ObservationNotFoundError
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.observations import (
    FoundObservation,
    Observation,
    ObservationFilter,
    ObservationVersion,
)
from concord_server.domain.queries import Cursor, FactFilter, FactOrder, Page
from concord_server.domain.search import SearchQuery
from concord_server.ports.embedder import Embedder
from concord_server.ports.ledger import Ledger, ReadSession
from concord_server.services.context import CallContext
from concord_server.services.embedding import embed_one

MIN_SIMILARITY = 0.3
"""Least cosine of an observation that a search finds, unless it asks for more."""


class ListObservations:
    """Lists observations."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(
        self, context: CallContext, where: ObservationFilter, order: FactOrder, after: Cursor | None, size: int
    ) -> Page[Observation]:
        """Returns a page of observations, ordered by ``create_time``, ``update_time`` or ``proof_count``."""
        async with self._ledger.read(context.project) as session:
            where = await with_current_name(session, where)
            return await session.observations.list(
                where, order.field, descending=order.descending, after=after, size=size
            )


async def with_current_name(session: ReadSession, where: ObservationFilter) -> ObservationFilter:
    """Returns the filter with its subject by the id that it goes by, which after a merge is another."""
    if where.subject is None:
        return where
    name = (where.subject.entity_type, where.subject.entity_id)
    entity_id = (await session.entities.resolve([name])).get(name, name[1])
    return replace(where, subject=EntityRef(name[0], entity_id))


class GetObservation:
    """Reads an observation with its facts."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(self, context: CallContext, observation_id: UUID) -> tuple[Observation, Sequence[Fact]]:
        """Returns an observation with the facts that it rests on, oldest first.

        Raises:
            ObservationNotFoundError: no such observation in the project.
        """
        async with self._ledger.read(context.project) as session:
            observation = await session.observations.get(observation_id)
            if observation is None:
                raise ObservationNotFoundError(str(observation_id))
            facts = await session.facts.get_many([each.fact_id for each in observation.support])
        return observation, facts


class ListObservationVersions:
    """Reads how an observation came to be what it is."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(
        self, context: CallContext, observation_id: UUID, after: Cursor | None, size: int
    ) -> Page[ObservationVersion]:
        """Returns a page of the recorded states, oldest first.

        Raises:
            ObservationNotFoundError: no such observation in the project.
        """
        try:
            version = 0 if after is None else int(after.value)
        except ValueError:
            raise InvalidPageTokenError.of("page_token", "is not a position in this list") from None
        async with self._ledger.read(context.project) as session:
            page = await session.observations.versions(observation_id, after=version, size=size)
        if not page.total:
            raise ObservationNotFoundError(str(observation_id))
        return page


class SearchObservations:
    """Finds what is believed by meaning, beside a search for facts."""

    def __init__(self, ledger: Ledger, embedder: Embedder) -> None:
        self._ledger = ledger
        self._embedder = embedder

    async def execute(self, context: CallContext, query: SearchQuery) -> Sequence[FoundObservation]:
        """Returns the observations nearest to a query, best first; none while the embedder is unavailable.

        Raises:
            InvalidFieldsError: the query has no letter or digit, or is too long.
        """
        found = Violations()
        query.validate(found)
        found.raise_if_any()
        where = filter_of(query.where)
        if where is None:
            return []
        vector = await embed_one(self._embedder, query.text)
        if vector is None:
            return []
        async with self._ledger.read(context.project) as session:
            return await session.observations.similar(
                await with_current_name(session, where),
                vector,
                min_similarity=max(query.min_similarity, MIN_SIMILARITY),
                limit=query.top_k,
            )


def filter_of(where: FactFilter) -> ObservationFilter | None:
    """Returns which observations belong beside facts of a filter, ``None`` where none do.

    None do where it is about the past, or about what only facts have.
    """
    of_facts_alone = (
        where.types,
        where.statuses,
        where.roles,
        where.content_id,
        where.predicate,
        where.min_confidence,
    )
    if any(of_facts_alone) or where.as_of is not None or where.known_at is not None:
        return None
    return ObservationFilter(
        subject=where.owner or where.entity,
        domain=where.domain,
        access_scope=where.access_scope,
        tags=(where.tag,) if where.tag else (),
    )

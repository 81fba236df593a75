"""Briefings: everything about an entity, counted and told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from concord_server.domain.briefing import DEFAULT_MAX_TOKENS, LATELY, LIMIT_OF_TOKENS, BriefingPage, render
from concord_server.domain.enums import ConflictState
from concord_server.domain.freshness import Horizons
from concord_server.domain.model import Conflict, EntityRef, Fact
from concord_server.domain.observations import Observation, ObservationFilter
from concord_server.domain.queries import (
    EVERY_FACT,
    MAX_PAGE_SIZE,
    ConflictFilter,
    CurrentRead,
    Cursor,
    FactFilter,
    Page,
)
from concord_server.ports.briefing import FactCounts
from concord_server.ports.clock import Clock
from concord_server.ports.ledger import Ledger, ReadSession
from concord_server.ports.project_settings import DefaultSettings, SettingsOfProjects
from concord_server.services.confidence import recomputed
from concord_server.services.context import CallContext

MAX_OBSERVATIONS = 100
"""How many observations a briefing has at most, those with the most support."""

MAX_CONFLICTS = 100
"""How many open conflicts a briefing has at most, the newest."""

_CHANGES_READ = 50
_TOKENS_OF_A_LINE = 15
"""Fewest tokens that a line about a fact takes, about."""


@dataclass(frozen=True, slots=True)
class BriefingQuery:
    """Whom a briefing is about, and what it leaves out.

    Attributes:
        where: which facts of the entity; its own ``entity`` is filled in.
        include_conflicted: shows members of open conflicts in the current part of the markdown too.
        max_tokens: bound of the markdown; 0 for the default.
        recompute_confidence: gives confidence as of now.
    """

    entity: EntityRef
    where: FactFilter = EVERY_FACT
    include_conflicted: bool = False
    max_tokens: int = 0
    recompute_confidence: bool = False


@dataclass(frozen=True, slots=True)
class Briefing:
    """What is known about an entity.

    Attributes:
        entity: by the id that it goes by, which after a merge is another than was asked for.
        facts: a page of them: ACTIVE first, then by noteworthiness, then id.
        counts: over all pages.
        observations: what is believed about it, best supported first.
        open_conflicts: newest first.
    """

    entity: EntityRef
    facts: Page[Fact]
    counts: FactCounts
    observations: Sequence[Observation]
    open_conflicts: Sequence[Conflict]
    markdown: str
    generate_time: datetime


class GetEntityBriefing:
    """Gathers what is known about an entity."""

    def __init__(self, ledger: Ledger, clock: Clock, settings: SettingsOfProjects | None = None) -> None:
        self._ledger = ledger
        self._clock = clock
        self._settings = settings or DefaultSettings()

    async def execute(
        self, context: CallContext, query: BriefingQuery, after: Cursor | None, size: int
    ) -> Briefing:
        """Returns the briefing; one about an unknown entity is empty."""
        now = self._clock.now()
        horizons = (await self._settings.of(context.project)).horizons
        where = replace(query.where, entity=query.entity)
        async with self._ledger.read(context.project) as session:
            name = (query.entity.entity_type, query.entity.entity_id)
            entity_id = (await session.entities.resolve([name])).get(name, name[1])
            counts = await session.briefings.counts(where)
            facts, _ = await session.briefings.ranked(
                where, None, now=where.known_at or now, after=after, size=size
            )
            conflicts = await _open_conflicts(session, where)
            about = replace(query.entity, entity_id=entity_id)
            observations = await _observations(session, replace(where, entity=about))
            page = await _page(session, query, where, now, horizons)
            if query.recompute_confidence:
                facts = replace(facts, items=await recomputed(session, facts.items, now))
        page = replace(page, entity_id=entity_id, total_count=counts.total, open_conflicts=conflicts)
        page = replace(page, observations=observations)
        return Briefing(
            entity=about,
            facts=facts,
            counts=counts,
            observations=observations,
            open_conflicts=conflicts,
            markdown=render(page, bounded_tokens(query.max_tokens)),
            generate_time=now,
        )


def bounded_tokens(asked: int) -> int:
    """Returns the bound of the markdown: what was asked for, within what can be, or the default."""
    return min(asked, LIMIT_OF_TOKENS) if asked > 0 else DEFAULT_MAX_TOKENS


async def _page(
    session: ReadSession, query: BriefingQuery, where: FactFilter, now: datetime, horizons: Horizons
) -> BriefingPage:
    """Returns the page without what the briefing has anyway."""
    moment = where.as_of or where.known_at or now
    current: CurrentRead | None = None
    holding = where
    if where.as_of is None:
        current = CurrentRead(moment, include_conflicted=query.include_conflicted, horizons=horizons)
    else:
        holding = replace(where, unconflicted=not query.include_conflicted)
    lines = min(bounded_tokens(query.max_tokens) // _TOKENS_OF_A_LINE + 1, MAX_PAGE_SIZE)
    facts, _ = await session.briefings.ranked(holding, current, now=moment, after=None, size=lines)
    recorded = where.known_at or now
    changes = await session.briefings.latest_changes(replace(where, as_of=None), recorded - LATELY, _CHANGES_READ)
    return BriefingPage(
        entity_type=query.entity.entity_type,
        entity_id=query.entity.entity_id,
        moment=moment,
        current=facts.items,
        current_count=facts.total,
        changes=changes,
        horizons=horizons,
    )


async def _observations(session: ReadSession, where: FactFilter) -> Sequence[Observation]:
    """Returns what is believed now about the entity of a filter; nothing where the briefing is about the past."""
    if where.known_at is not None or where.as_of is not None:
        return ()
    about = ObservationFilter(subject=where.entity, domain=where.domain, access_scope=where.access_scope)
    page = await session.observations.list(
        about, "proof_count", descending=True, after=None, size=MAX_OBSERVATIONS
    )
    return [observation for observation in page.items if observation.text]


async def _open_conflicts(session: ReadSession, where: FactFilter) -> Sequence[Conflict]:
    """Returns what is in dispute now; which facts were at a recorded time says their ``conflict_id``."""
    if where.known_at is not None:
        return ()
    about = ConflictFilter(
        state=ConflictState.OPEN, entity=where.entity, domain=where.domain, access_scope=where.access_scope
    )
    page, _ = await session.conflicts.list(about, after=None, size=MAX_CONFLICTS)
    return page.items

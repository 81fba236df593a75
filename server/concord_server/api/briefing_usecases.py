"""What BriefingService needs of the services, reading single facts and lists of them aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from concord_server.domain.claim_check import ClaimCheck
from concord_server.domain.entities import EntityOrder, EntitySummary
from concord_server.domain.model import Fact
from concord_server.domain.noteworthiness import RankedFact
from concord_server.domain.observations import FoundObservation
from concord_server.domain.queries import Cursor, FactFilter, Page
from concord_server.domain.search import SearchQuery, SearchResult
from concord_server.services.briefing import Briefing, BriefingQuery
from concord_server.services.check_claim import ClaimQuestion
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.entities import LinkChange
from concord_server.services.merge_entities import EntityMerge, MergeReceipt


class SearchFacts(Protocol):
    """Finds facts."""

    async def execute(self, context: CallContext, query: SearchQuery, /) -> Sequence[SearchResult]:
        """Returns the best first."""


class SearchObservations(Protocol):
    """Finds observations beside a search for facts."""

    async def execute(self, context: CallContext, query: SearchQuery, /) -> Sequence[FoundObservation]:
        """Returns the nearest first."""


class GetEntityBriefing(Protocol):
    """Gathers what is known about an entity."""

    async def execute(
        self, context: CallContext, query: BriefingQuery, after: Cursor | None, size: int, /
    ) -> Briefing:
        """Returns the briefing with a page of the facts."""


class ListNoteworthyFacts(Protocol):
    """Ranks current facts."""

    async def execute(
        self, context: CallContext, where: FactFilter, after: Cursor | None, size: int, include_conflicted: bool, /
    ) -> Page[RankedFact]:
        """Returns a page, most noteworthy first."""


class CheckClaim(Protocol):
    """Checks a statement against the ledger."""

    async def execute(self, context: CallContext, question: ClaimQuestion, /) -> ClaimCheck:
        """Returns what the ledger says."""


class ListEntities(Protocol):
    """Lists entities."""

    async def execute(
        self, context: CallContext, entity_type: str, order: EntityOrder, after: Cursor | None, size: int, /
    ) -> Page[EntitySummary]:
        """Returns a page."""


class ChangeLinks(Protocol):
    """Changes which entities a fact is linked to."""

    async def link(
        self, context: CallContext, change: LinkChange, idempotency: Idempotency[Fact] | None, /
    ) -> Fact | Replay:
        """Returns the fact with the link, or the stored answer of a repeated request."""

    async def unlink(
        self, context: CallContext, change: LinkChange, idempotency: Idempotency[Fact] | None, /
    ) -> Fact | Replay:
        """Returns the fact without the link, or the stored answer of a repeated request."""


class MergeEntities(Protocol):
    """Makes one entity of two."""

    async def execute(
        self, context: CallContext, merge: EntityMerge, idempotency: Idempotency[MergeReceipt] | None, /
    ) -> MergeReceipt | Replay:
        """Returns what it did, or the stored answer of a repeated request."""


class RecomputeConfidence(Protocol):
    """Gives facts the confidence that they have now."""

    async def execute(self, context: CallContext, facts: Sequence[Fact], /) -> Sequence[Fact]:
        """Returns the facts in their order."""


@dataclass(frozen=True, slots=True)
class BriefingUseCases:
    """The use cases of BriefingService that are not shared with others."""

    search_facts: SearchFacts
    search_observations: SearchObservations
    get_entity_briefing: GetEntityBriefing
    list_noteworthy_facts: ListNoteworthyFacts
    check_claim: CheckClaim
    list_entities: ListEntities
    change_links: ChangeLinks
    merge_entities: MergeEntities
    recompute_confidence: RecomputeConfidence

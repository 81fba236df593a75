"""What a caller reads of one project: searches, briefings, checks and entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from concord_server.domain.claim_check import ClaimCheck
from concord_server.domain.commands import ClaimInput
from concord_server.domain.entities import EntityOrder, EntitySummary
from concord_server.domain.enums import SubjectRole
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.noteworthiness import RankedFact
from concord_server.domain.queries import Cursor, FactFilter, Page
from concord_server.domain.search import SearchQuery, SearchResult
from concord_server.ports.clock import Clock
from concord_server.ports.embedder import Embedder
from concord_server.ports.judge import Judge
from concord_server.ports.project_settings import SettingsOfProjects
from concord_server.providers.system import TimeOrderedIds
from concord_server.services.briefing import Briefing, BriefingQuery, GetEntityBriefing
from concord_server.services.check_claim import CheckClaim, ClaimQuestion
from concord_server.services.confidence import RecomputeConfidence
from concord_server.services.context import CallContext
from concord_server.services.entities import ChangeLinks, LinkChange, ListEntities
from concord_server.services.merge_entities import EntityMerge, MergeEntities, MergeReceipt
from concord_server.services.noteworthy import ListNoteworthyFacts
from concord_server.services.search import SearchFacts
from concord_server.storage.sessions import PostgresLedger


class Reader:
    """Reads one project, and changes what entities its facts are about."""

    def __init__(
        self,
        ledger: PostgresLedger,
        embedder: Embedder,
        judge: Judge,
        clock: Clock,
        context: CallContext,
        settings: SettingsOfProjects | None = None,
    ) -> None:
        self.context = context
        self._search = SearchFacts(ledger, embedder, clock, settings)
        self._briefing = GetEntityBriefing(ledger, clock, settings)
        self._noteworthy = ListNoteworthyFacts(ledger, clock, settings)
        self._check = CheckClaim(ledger, embedder, judge, judge, clock, settings)
        self._entities = ListEntities(ledger)
        self._links = ChangeLinks(ledger, clock)
        self._merge = MergeEntities(ledger, clock, TimeOrderedIds())
        self._confidence = RecomputeConfidence(ledger, clock)

    async def search(self, text: str, where: FactFilter | None = None, **fields: Any) -> list[SearchResult]:
        query = SearchQuery(text, where or FactFilter(), **fields)
        return await self._search.execute(self.context, query)

    async def found(self, text: str, where: FactFilter | None = None, **fields: Any) -> list[str]:
        return [result.fact.text for result in await self.search(text, where, **fields)]

    async def brief(
        self,
        entity: str,
        where: FactFilter | None = None,
        *,
        after: Cursor | None = None,
        size: int = 50,
        **fields: Any,
    ) -> Briefing:
        query = BriefingQuery(ref(entity), where or FactFilter(), **fields)
        return await self._briefing.execute(self.context, query, after, size)

    async def noteworthy(
        self,
        where: FactFilter | None = None,
        *,
        after: Cursor | None = None,
        size: int = 50,
        include_conflicted: bool = False,
    ) -> Page[RankedFact]:
        filtered = where or FactFilter()
        return await self._noteworthy.execute(self.context, filtered, after, size, include_conflicted)

    async def check(
        self, text: str = "", *, claim: ClaimInput | None = None, where: FactFilter | None = None
    ) -> ClaimCheck:
        return await self._check.execute(self.context, ClaimQuestion(text, claim, where or FactFilter()))

    async def entities(
        self,
        entity_type: str = "",
        order: EntityOrder = EntityOrder.NEWEST,
        *,
        after: Cursor | None = None,
        size: int = 50,
    ) -> Page[EntitySummary]:
        return await self._entities.execute(self.context, entity_type, order, after, size)

    async def link(self, fact: Fact, entity: str, role: SubjectRole | None = None, etag: str = "") -> Fact:
        changed = await self._links.link(self.context, _change(fact, entity, role, etag), None)
        assert isinstance(changed, Fact)
        return changed

    async def unlink(self, fact: Fact, entity: str, role: SubjectRole | None = None, etag: str = "") -> Fact:
        changed = await self._links.unlink(self.context, _change(fact, entity, role, etag), None)
        assert isinstance(changed, Fact)
        return changed

    async def merge(self, source: str, into: str, reason: str = "") -> MergeReceipt:
        entity = ref(source)
        merge = EntityMerge(entity.entity_type, entity.entity_id, ref(into).entity_id, reason)
        receipt = await self._merge.execute(self.context, merge, None)
        assert isinstance(receipt, MergeReceipt)
        return receipt

    async def recomputed(self, facts: Sequence[Fact]) -> list[Fact]:
        return await self._confidence.execute(self.context, facts)


def ref(entity: str, role: SubjectRole = SubjectRole.SUBJECT) -> EntityRef:
    """Returns the entity that ``TYPE:ID`` names."""
    entity_type, _, entity_id = entity.partition(":")
    return replace(EntityRef(entity_type, entity_id), role=role)


def _change(fact: Fact, entity: str, role: SubjectRole | None, etag: str) -> LinkChange:
    named = ref(entity)
    return LinkChange(fact.fact_id, (named.entity_type, named.entity_id), role, etag)

"""BriefingService."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import grpc
from concord.v1 import briefing_service_pb2 as pb
from concord.v1 import briefing_service_pb2_grpc

from concord_server.api.authentication import current_call
from concord_server.api.mapping.briefing import (
    to_briefing_response,
    to_check_response,
    to_noteworthy_response,
    to_search_response,
)
from concord_server.api.mapping.evolution import to_batch_get_facts_response
from concord_server.api.mapping.responses import to_get_fact_response, to_list_facts_response
from concord_server.api.parsing.briefing import parse_briefing, parse_check, parse_noteworthy, parse_search
from concord_server.api.parsing.evolution import parse_fact_ids
from concord_server.api.parsing.queries import parse_list_facts, parse_one_id
from concord_server.api.servicers.entities import EntitiesServicer
from concord_server.api.usecases import UseCases

Context = grpc.aio.ServicerContext[Any, Any]

LIST_FACTS_METHOD = "concord.v1.BriefingService/ListFacts"
LIST_NOTEWORTHY_FACTS_METHOD = "concord.v1.BriefingService/ListNoteworthyFacts"
GET_ENTITY_BRIEFING_METHOD = "concord.v1.BriefingService/GetEntityBriefing"


class BriefingServicer(EntitiesServicer, briefing_service_pb2_grpc.BriefingServiceServicer):
    """Reads the ledger."""

    def __init__(self, use_cases: UseCases) -> None:
        self._use_cases = use_cases

    async def GetFact(self, request: pb.GetFactRequest, context: Context) -> pb.GetFactResponse:
        """Reads a fact with its sources and evidence."""
        fact_id = parse_one_id("fact_id", request.fact_id)
        details = await self._use_cases.get_fact.execute(current_call(), fact_id)
        return to_get_fact_response(
            details, self._use_cases.clock.now(), recompute_confidence=request.recompute_confidence
        )

    async def BatchGetFacts(self, request: pb.BatchGetFactsRequest, context: Context) -> pb.BatchGetFactsResponse:
        """Reads facts by their ids."""
        fact_ids = parse_fact_ids(request)
        found = await self._use_cases.evolution.batch_get_facts.execute(
            current_call(), fact_ids, recompute=request.recompute_confidence
        )
        return to_batch_get_facts_response(found, self._use_cases.clock.now())

    async def ListFacts(self, request: pb.ListFactsRequest, context: Context) -> pb.ListFactsResponse:
        """Lists facts."""
        caller = current_call()
        query = parse_list_facts(request, caller.project, LIST_FACTS_METHOD)
        page = await self._use_cases.list_facts.execute(caller, query.where, query.order, query.after, query.size)
        if request.recompute_confidence:
            facts = await self._use_cases.briefing.recompute_confidence.execute(caller, page.items)
            page = replace(page, items=facts)
        return to_list_facts_response(page, query.tokens.write(page.next), self._use_cases.clock.now())

    async def SearchFacts(self, request: pb.SearchFactsRequest, context: Context) -> pb.SearchFactsResponse:
        """Finds current facts by meaning and by words, best first."""
        caller, query = current_call(), parse_search(request)
        use_cases = self._use_cases.briefing
        # At once, so that the query is embedded once for both.
        results, observations = await asyncio.gather(
            use_cases.search_facts.execute(caller, query), use_cases.search_observations.execute(caller, query)
        )
        return to_search_response(results, observations, self._use_cases.clock.now())

    async def GetEntityBriefing(
        self, request: pb.GetEntityBriefingRequest, context: Context
    ) -> pb.GetEntityBriefingResponse:
        """Gathers what is known about an entity."""
        caller = current_call()
        query, paging = parse_briefing(request, caller.project, GET_ENTITY_BRIEFING_METHOD)
        use_case = self._use_cases.briefing.get_entity_briefing
        briefing = await use_case.execute(caller, query, paging.after, paging.size)
        return to_briefing_response(briefing, paging.tokens.write(briefing.facts.next))

    async def ListNoteworthyFacts(
        self, request: pb.ListNoteworthyFactsRequest, context: Context
    ) -> pb.ListNoteworthyFactsResponse:
        """Ranks current facts by confidence, number of sources and recency."""
        caller = current_call()
        where, paging = parse_noteworthy(request, caller.project, LIST_NOTEWORTHY_FACTS_METHOD)
        use_case = self._use_cases.briefing.list_noteworthy_facts
        page = await use_case.execute(caller, where, paging.after, paging.size, request.include_conflicted)
        return to_noteworthy_response(page, paging.tokens.write(page.next), self._use_cases.clock.now())

    async def CheckClaim(self, request: pb.CheckClaimRequest, context: Context) -> pb.CheckClaimResponse:
        """Says whether the ledger supports a statement."""
        check = await self._use_cases.briefing.check_claim.execute(current_call(), parse_check(request))
        return to_check_response(check, self._use_cases.clock.now())

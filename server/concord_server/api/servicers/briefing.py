"""BriefingService."""

from __future__ import annotations

from typing import Any

import grpc
from concord.v1 import briefing_service_pb2 as pb
from concord.v1 import briefing_service_pb2_grpc

from concord_server.api.authentication import current_call
from concord_server.api.mapping.responses import to_get_fact_response, to_list_facts_response
from concord_server.api.parsing.queries import parse_list_facts, parse_one_id
from concord_server.api.usecases import UseCases

Context = grpc.aio.ServicerContext[Any, Any]

LIST_FACTS_METHOD = "concord.v1.BriefingService/ListFacts"


class BriefingServicer(briefing_service_pb2_grpc.BriefingServiceServicer):
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

    async def ListFacts(self, request: pb.ListFactsRequest, context: Context) -> pb.ListFactsResponse:
        """Lists facts."""
        caller = current_call()
        query = parse_list_facts(request, caller.project, LIST_FACTS_METHOD)
        page = await self._use_cases.list_facts.execute(caller, query.where, query.order, query.after, query.size)
        return to_list_facts_response(page, query.tokens.write(page.next), self._use_cases.clock.now())

"""The calls of BriefingService that are about entities and their links."""

from __future__ import annotations

from typing import Any

import grpc
from concord.v1 import briefing_service_pb2 as pb

from concord_server.api.authentication import current_call
from concord_server.api.mapping.briefing import to_list_entities_response, to_merge_response
from concord_server.api.mapping.resources import to_fact
from concord_server.api.parsing.briefing import (
    LINK_ENTITY_METHOD,
    UNLINK_ENTITY_METHOD,
    parse_link,
    parse_list_entities,
    parse_merge,
)
from concord_server.api.usecases import UseCases
from concord_server.domain.model import Fact
from concord_server.services.context import Replay
from concord_server.services.merge_entities import MergeReceipt

Context = grpc.aio.ServicerContext[Any, Any]

LIST_ENTITIES_METHOD = "concord.v1.BriefingService/ListEntities"


class EntitiesServicer:
    """Lists, links and merges entities; a part of BriefingService."""

    _use_cases: UseCases

    async def ListEntities(self, request: pb.ListEntitiesRequest, context: Context) -> pb.ListEntitiesResponse:
        """Lists entities that facts are linked to or owned by."""
        caller = current_call()
        entity_type, order, paging = parse_list_entities(request, caller.project, LIST_ENTITIES_METHOD)
        use_case = self._use_cases.briefing.list_entities
        page = await use_case.execute(caller, entity_type, order, paging.after, paging.size)
        return to_list_entities_response(page, paging.tokens.write(page.next))

    async def LinkEntity(self, request: pb.LinkEntityRequest, context: Context) -> pb.LinkEntityResponse:
        """Links an entity to a fact."""
        change, idempotency = parse_link(
            LINK_ENTITY_METHOD, request, lambda fact: self._linked(fact).SerializeToString()
        )
        answer = await self._use_cases.briefing.change_links.link(current_call(), change, idempotency)
        if isinstance(answer, Replay):
            return pb.LinkEntityResponse.FromString(answer.response)
        return self._linked(answer)

    async def UnlinkEntity(self, request: pb.UnlinkEntityRequest, context: Context) -> pb.UnlinkEntityResponse:
        """Removes an entity's link to a fact."""
        change, idempotency = parse_link(
            UNLINK_ENTITY_METHOD, request, lambda fact: self._unlinked(fact).SerializeToString()
        )
        answer = await self._use_cases.briefing.change_links.unlink(current_call(), change, idempotency)
        if isinstance(answer, Replay):
            return pb.UnlinkEntityResponse.FromString(answer.response)
        return self._unlinked(answer)

    async def MergeEntities(self, request: pb.MergeEntitiesRequest, context: Context) -> pb.MergeEntitiesResponse:
        """Makes one entity of two."""
        merge, idempotency = parse_merge(request, lambda receipt: self._merged(receipt).SerializeToString())
        answer = await self._use_cases.briefing.merge_entities.execute(current_call(), merge, idempotency)
        if isinstance(answer, Replay):
            return pb.MergeEntitiesResponse.FromString(answer.response)
        return self._merged(answer)

    def _linked(self, fact: Fact) -> pb.LinkEntityResponse:
        return pb.LinkEntityResponse(fact=to_fact(fact, self._use_cases.clock.now()))

    def _unlinked(self, fact: Fact) -> pb.UnlinkEntityResponse:
        return pb.UnlinkEntityResponse(fact=to_fact(fact, self._use_cases.clock.now()))

    def _merged(self, receipt: MergeReceipt) -> pb.MergeEntitiesResponse:
        return to_merge_response(receipt, self._use_cases.clock.now())

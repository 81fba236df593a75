"""EvolutionService."""

from __future__ import annotations

from typing import Any

import grpc
from concord.v1 import evolution_service_pb2 as pb
from concord.v1 import evolution_service_pb2_grpc

from concord_server.api.authentication import current_call
from concord_server.api.mapping.responses import to_update_fact_status_response
from concord_server.api.parsing.changes import parse_status_change
from concord_server.api.servicers.watching import WatchingServicer
from concord_server.api.usecases import UseCases
from concord_server.domain.model import Fact
from concord_server.services.context import Replay

Context = grpc.aio.ServicerContext[Any, Any]


class EvolutionServicer(WatchingServicer, evolution_service_pb2_grpc.EvolutionServiceServicer):
    """Descends, dates and ends facts."""

    def __init__(self, use_cases: UseCases) -> None:
        self._use_cases = use_cases

    async def UpdateFactStatus(
        self, request: pb.UpdateFactStatusRequest, context: Context
    ) -> pb.UpdateFactStatusResponse:
        """Takes a fact to another status."""
        change = parse_status_change(request, lambda fact: self._changed(fact).SerializeToString())
        answer = await self._use_cases.update_fact_status.execute(
            current_call(), change.fact_id, change.status, change.reason, change.etag, change.idempotency
        )
        if isinstance(answer, Replay):
            return pb.UpdateFactStatusResponse.FromString(answer.response)
        return self._changed(answer)

    def _changed(self, fact: Fact) -> pb.UpdateFactStatusResponse:
        return to_update_fact_status_response(fact, self._use_cases.clock.now())

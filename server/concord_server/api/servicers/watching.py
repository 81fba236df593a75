"""The part of EvolutionService that watches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
from concord.v1 import evolution_service_pb2 as pb
from concord.v1 import evolution_service_pb2_grpc

from concord_server.api.authentication import current_call
from concord_server.api.mapping.watching import to_watch_facts_response
from concord_server.api.parsing.watching import parse_watch
from concord_server.api.streams import closing
from concord_server.api.usecases import UseCases

Context = grpc.aio.ServicerContext[Any, Any]


class WatchingServicer(evolution_service_pb2_grpc.EvolutionServiceServicer):
    """Tells changes as they commit."""

    _use_cases: UseCases

    async def WatchFacts(
        self, request: pb.WatchFactsRequest, context: Context
    ) -> AsyncIterator[pb.WatchFactsResponse]:
        """Streams changes of facts.

        The headers are sent as soon as the watch has its place in the log: what is changed after they have
        arrived is told.
        """
        query = parse_watch(request)
        watch = await self._use_cases.watch_facts.execute(current_call(), query.where, query.after_sequence)
        async with closing(watch) as told:
            await context.send_initial_metadata(())
            async for item in told:
                yield to_watch_facts_response(item, self._use_cases.clock.now())

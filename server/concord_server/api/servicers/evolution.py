"""EvolutionService."""

from __future__ import annotations

from typing import Any

import grpc
from concord.v1 import evolution_service_pb2 as pb
from concord.v1 import evolution_service_pb2_grpc

from concord_server.api.authentication import current_call
from concord_server.api.mapping.evolution import (
    to_branch_response,
    to_chain_response,
    to_latest_response,
    to_tree_response,
    to_update_fact_response,
    to_versions_response,
)
from concord_server.api.mapping.responses import to_update_fact_status_response
from concord_server.api.parsing.changes import parse_status_change
from concord_server.api.parsing.evolution import parse_branch, parse_fact_update, parse_family_page
from concord_server.api.parsing.queries import parse_one_id
from concord_server.api.servicers.watching import WatchingServicer
from concord_server.api.usecases import UseCases
from concord_server.domain.model import Fact
from concord_server.domain.queries import Cursor
from concord_server.services.branch import Branched
from concord_server.services.context import Replay

Context = grpc.aio.ServicerContext[Any, Any]

TREE_METHOD = "concord.v1.EvolutionService/GetEvolutionTree"
VERSIONS_METHOD = "concord.v1.EvolutionService/ListFactVersions"


class EvolutionServicer(WatchingServicer, evolution_service_pb2_grpc.EvolutionServiceServicer):
    """Descends, dates and ends facts."""

    def __init__(self, use_cases: UseCases) -> None:
        self._use_cases = use_cases

    async def Branch(self, request: pb.BranchRequest, context: Context) -> pb.BranchResponse:
        """Adds a fact below its parents."""
        command, idempotency = parse_branch(
            request, lambda branched: self._branched(branched).SerializeToString(), self._use_cases.clock.now()
        )
        answer = await self._use_cases.evolution.branch.execute(current_call(), command, idempotency)
        if isinstance(answer, Replay):
            return pb.BranchResponse.FromString(answer.response)
        return self._branched(answer)

    async def GetEvolutionChain(
        self, request: pb.GetEvolutionChainRequest, context: Context
    ) -> pb.GetEvolutionChainResponse:
        """Reads the line from the root to a fact."""
        fact_id = parse_one_id("fact_id", request.fact_id)
        chain = await self._use_cases.evolution.get_evolution_chain.execute(current_call(), fact_id)
        return to_chain_response(chain, self._use_cases.clock.now())

    async def GetLatestInChain(
        self, request: pb.GetLatestInChainRequest, context: Context
    ) -> pb.GetLatestInChainResponse:
        """Reads what a fact has become."""
        fact_id = parse_one_id("fact_id", request.fact_id)
        latest = await self._use_cases.evolution.get_latest_in_chain.execute(current_call(), fact_id)
        return to_latest_response(latest, self._use_cases.clock.now())

    async def GetEvolutionTree(
        self, request: pb.GetEvolutionTreeRequest, context: Context
    ) -> pb.GetEvolutionTreeResponse:
        """Reads a page of a family, breadth-first."""
        caller = current_call()
        query = parse_family_page(request, caller.project, TREE_METHOD)
        after = query.after.last_id if query.after else None
        page = await self._use_cases.evolution.get_evolution_tree.execute(caller, query.where, after, query.size)
        following = Cursor("", page.last) if page.last else None
        return to_tree_response(page, query.tokens.write(following), self._use_cases.clock.now())

    async def ListFactVersions(
        self, request: pb.ListFactVersionsRequest, context: Context
    ) -> pb.ListFactVersionsResponse:
        """Lists recorded states of a fact, oldest first."""
        caller = current_call()
        query = parse_family_page(request, caller.project, VERSIONS_METHOD)
        page = await self._use_cases.evolution.list_fact_versions.execute(
            caller, query.where, query.after, query.size
        )
        return to_versions_response(page, query.tokens.write(page.next), self._use_cases.clock.now())

    async def UpdateFact(self, request: pb.UpdateFactRequest, context: Context) -> pb.UpdateFactResponse:
        """Changes what is not a statement about a fact."""
        revision = parse_fact_update(request, lambda fact: self._revised(fact).SerializeToString())
        answer = await self._use_cases.evolution.update_fact.execute(
            current_call(),
            revision.fact_id,
            revision.update,
            revision.reason,
            revision.etag,
            revision.idempotency,
        )
        if isinstance(answer, Replay):
            return pb.UpdateFactResponse.FromString(answer.response)
        return self._revised(answer)

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

    def _branched(self, branched: Branched) -> pb.BranchResponse:
        return to_branch_response(branched, self._use_cases.clock.now())

    def _revised(self, fact: Fact) -> pb.UpdateFactResponse:
        return to_update_fact_response(fact, self._use_cases.clock.now())

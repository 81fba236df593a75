"""The calls of AdminService that are about predicates."""

from __future__ import annotations

from typing import Any

import grpc
from concord.v1 import admin_service_pb2 as pb

from concord_server.api.authentication import current_call
from concord_server.api.mapping.predicates import to_list_predicates_response, to_update_predicate_response
from concord_server.api.parsing.predicates import parse_list_predicates, parse_predicate_update
from concord_server.api.usecases import UseCases
from concord_server.services.context import Replay

Context = grpc.aio.ServicerContext[Any, Any]


class PredicatesServicer:
    """Lists and changes predicates; a part of AdminService."""

    _use_cases: UseCases

    async def ListPredicates(
        self, request: pb.ListPredicatesRequest, context: Context
    ) -> pb.ListPredicatesResponse:
        """Lists the predicates of the caller's project by name."""
        caller = current_call()
        query = parse_list_predicates(request, caller.project)
        page = await self._use_cases.admin.list_predicates.execute(caller, query.where, query.after, query.size)
        return to_list_predicates_response(page, query.tokens.write(page.next))

    async def UpdatePredicate(
        self, request: pb.UpdatePredicateRequest, context: Context
    ) -> pb.UpdatePredicateResponse:
        """Changes a predicate."""
        revision = parse_predicate_update(
            request, lambda predicate: to_update_predicate_response(predicate).SerializeToString()
        )
        answer = await self._use_cases.admin.update_predicate.execute(
            current_call(), revision.update, revision.etag, revision.idempotency
        )
        if isinstance(answer, Replay):
            return pb.UpdatePredicateResponse.FromString(answer.response)
        return to_update_predicate_response(answer)

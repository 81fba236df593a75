"""ReconcileService."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
from concord.v1 import reconcile_service_pb2 as pb
from concord.v1 import reconcile_service_pb2_grpc

from concord_server.api.authentication import current_call
from concord_server.api.errors import to_status
from concord_server.api.mapping.evolution import to_withdraw_source_response
from concord_server.api.mapping.resources import to_conflict, to_decision
from concord_server.api.mapping.responses import (
    to_list_conflicts_response,
    to_reconcile_response,
    to_resolve_conflict_response,
)
from concord_server.api.parsing.changes import parse_conflict_resolution
from concord_server.api.parsing.evolution import parse_withdrawal
from concord_server.api.parsing.queries import parse_list_conflicts, parse_one_id
from concord_server.api.parsing.statements import parse_statement
from concord_server.api.streams import closing, windows
from concord_server.api.usecases import UseCases
from concord_server.domain.errors import ConcordError, InvalidFieldsError
from concord_server.domain.model import Conflict
from concord_server.services.batch import BatchItem, ReconcileItem
from concord_server.services.context import Replay
from concord_server.services.results import ReconcileResult

Context = grpc.aio.ServicerContext[Any, Any]

LIST_CONFLICTS_METHOD = "concord.v1.ReconcileService/ListConflicts"

MAX_BATCH = 1000
"""Statements of one BatchReconcile at most."""

STREAM_WINDOW = 64
"""Statements of a stream that are read ahead and reconciled together at most."""


class ReconcileServicer(reconcile_service_pb2_grpc.ReconcileServiceServicer):
    """Takes statements; lists and decides conflicts."""

    def __init__(self, use_cases: UseCases) -> None:
        self._use_cases = use_cases

    async def Reconcile(self, request: pb.ReconcileRequest, context: Context) -> pb.ReconcileResponse:
        """Reconciles one statement."""
        item = self._item(request)
        if isinstance(item, ConcordError):
            raise item
        outcome = await self._use_cases.reconcile.execute(current_call(), item.command, item.idempotency)
        return self._response(item, outcome)

    async def BatchReconcile(
        self, request: pb.BatchReconcileRequest, context: Context
    ) -> pb.BatchReconcileResponse:
        """Reconciles statements in order; each succeeds or fails by itself."""
        count = len(request.requests)
        if not 1 <= count <= MAX_BATCH:
            raise InvalidFieldsError.of("requests", f"must have 1 to {MAX_BATCH} items, has {count}")
        items = [self._item(item) for item in request.requests]
        response = pb.BatchReconcileResponse()
        async with closing(self._outcomes(items)) as outcomes:
            async for outcome in outcomes:
                if isinstance(outcome, ConcordError):
                    response.results.add(error=to_status(outcome))
                else:
                    response.results.add(response=outcome)
        return response

    async def StreamReconcile(
        self, request_iterator: AsyncIterator[pb.StreamReconcileRequest], context: Context
    ) -> AsyncIterator[pb.StreamReconcileResponse]:
        """Reconciles statements as they arrive, and answers them in their order."""
        async with closing(windows(request_iterator, STREAM_WINDOW)) as arrived:
            async for requests in arrived:
                items = [self._item(request.request) for request in requests]
                indexes = iter([request.index for request in requests])
                async with closing(self._outcomes(items)) as outcomes:
                    async for outcome in outcomes:
                        index = next(indexes)
                        if isinstance(outcome, ConcordError):
                            yield pb.StreamReconcileResponse(index=index, error=to_status(outcome))
                        else:
                            yield pb.StreamReconcileResponse(index=index, response=outcome)

    async def WithdrawSource(
        self, request: pb.WithdrawSourceRequest, context: Context
    ) -> pb.WithdrawSourceResponse:
        """Takes a source away from every fact."""
        asked = parse_withdrawal(request, lambda done: to_withdraw_source_response(done).SerializeToString())
        answer = await self._use_cases.evolution.withdraw_source.execute(
            current_call(), asked.source, asked.reason, asked.idempotency
        )
        if isinstance(answer, Replay):
            return pb.WithdrawSourceResponse.FromString(answer.response)
        return to_withdraw_source_response(answer)

    async def GetDecision(self, request: pb.GetDecisionRequest, context: Context) -> pb.GetDecisionResponse:
        """Reads the decision behind an answer."""
        decision_id = parse_one_id("decision_id", request.decision_id)
        decision = await self._use_cases.get_decision.execute(current_call(), decision_id)
        return pb.GetDecisionResponse(decision=to_decision(decision))

    async def ListConflicts(self, request: pb.ListConflictsRequest, context: Context) -> pb.ListConflictsResponse:
        """Lists conflicts by the time that they opened."""
        caller = current_call()
        query = parse_list_conflicts(request, caller.project, LIST_CONFLICTS_METHOD)
        page, summary = await self._use_cases.list_conflicts.execute(
            caller, query.where, query.order, query.after, query.size
        )
        token = query.tokens.write(page.next)
        return to_list_conflicts_response(page, summary, token, self._use_cases.clock.now())

    async def GetConflict(self, request: pb.GetConflictRequest, context: Context) -> pb.GetConflictResponse:
        """Reads a conflict."""
        conflict_id = parse_one_id("conflict_id", request.conflict_id)
        conflict = await self._use_cases.get_conflict.execute(current_call(), conflict_id)
        return pb.GetConflictResponse(conflict=to_conflict(conflict, self._use_cases.clock.now()))

    async def ResolveConflict(
        self, request: pb.ResolveConflictRequest, context: Context
    ) -> pb.ResolveConflictResponse:
        """Decides a conflict."""
        asked = parse_conflict_resolution(request, lambda conflict: self._resolved(conflict).SerializeToString())
        answer = await self._use_cases.resolve_conflict.execute(
            current_call(), asked.conflict_id, asked.resolution, asked.note, asked.etag, asked.idempotency
        )
        if isinstance(answer, Replay):
            return pb.ResolveConflictResponse.FromString(answer.response)
        return self._resolved(answer)

    def _resolved(self, conflict: Conflict) -> pb.ResolveConflictResponse:
        return to_resolve_conflict_response(conflict, self._use_cases.clock.now())

    def _item(self, request: pb.ReconcileRequest) -> BatchItem:
        """Returns a statement, or what is wrong with it."""
        clock = self._use_cases.clock
        try:
            command, idempotency = parse_statement(
                request, lambda result: to_reconcile_response(result, clock.now()).SerializeToString(), clock.now()
            )
        except InvalidFieldsError as error:
            return error
        return ReconcileItem(command, idempotency)

    async def _outcomes(self, items: Sequence[BatchItem]) -> AsyncIterator[pb.ReconcileResponse | ConcordError]:
        """Yields the answer or the error of every item, in order."""
        position = 0
        async with closing(self._use_cases.batch_reconcile.execute(current_call(), items)) as outcomes:
            async for outcome in outcomes:
                item = items[position]
                position += 1
                yield outcome if isinstance(outcome, ConcordError) else self._response(item, outcome)

    def _response(self, item: BatchItem, outcome: ReconcileResult | Replay) -> pb.ReconcileResponse:
        if isinstance(outcome, Replay):
            return pb.ReconcileResponse.FromString(outcome.response)
        dry = isinstance(item, ReconcileItem) and item.command.validate_only
        return to_reconcile_response(outcome, self._use_cases.clock.now(), stored=not dry)

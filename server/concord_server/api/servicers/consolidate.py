"""ConsolidateService; the parts of it that read events and observations are in modules of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import consolidate_service_pb2_grpc

from concord_server.api.authentication import current_call
from concord_server.api.enums import RUN_STATE
from concord_server.api.mapping.consolidation import (
    to_append_events_response,
    to_consolidate_response,
    to_list_runs_response,
    to_run,
    to_watch_run_response,
)
from concord_server.api.paging import PageTokens
from concord_server.api.parsing.consolidation import (
    CONSOLIDATE_METHOD,
    START_RUN_METHOD,
    parse_append,
    parse_run,
)
from concord_server.api.parsing.fields import parse_enums, parse_id, parse_page_size
from concord_server.api.parsing.idempotency import parse_idempotency
from concord_server.api.parsing.queries import parse_one_id, parse_start
from concord_server.api.servicers.events import EventsServicer
from concord_server.api.servicers.observations import ObservationsServicer
from concord_server.api.streams import closing
from concord_server.api.usecases import UseCases
from concord_server.domain.commands import Violations
from concord_server.domain.runs import Run, RunMessage
from concord_server.services.context import Idempotency, Replay

Context = grpc.aio.ServicerContext[Any, Any]

CANCEL_RUN_METHOD = "concord.v1.ConsolidateService/CancelRun"
LIST_RUNS_METHOD = "concord.v1.ConsolidateService/ListRuns"


class ConsolidateServicer(
    EventsServicer, ObservationsServicer, consolidate_service_pb2_grpc.ConsolidateServiceServicer
):
    """Takes events, and runs that turn them into facts."""

    def __init__(self, use_cases: UseCases) -> None:
        self._use_cases = use_cases

    async def AppendEvents(self, request: pb.AppendEventsRequest, context: Context) -> pb.AppendEventsResponse:
        """Stores events."""
        events, idempotency = parse_append(
            request, lambda appended: to_append_events_response(appended).SerializeToString()
        )
        answer = await self._use_cases.consolidate.append_events.execute(current_call(), events, idempotency)
        if isinstance(answer, Replay):
            return pb.AppendEventsResponse.FromString(answer.response)
        return to_append_events_response(answer)

    async def Consolidate(
        self, request: pb.ConsolidateRequest, context: Context
    ) -> AsyncIterator[pb.ConsolidateResponse]:
        """Starts a run and streams it; it goes on without its caller."""
        use_cases, caller = self._use_cases.consolidate, current_call()
        scope, idempotency = parse_run(CONSOLIDATE_METHOD, request, lambda run: _started(run).SerializeToString())
        if request.validate_only:
            for message in await use_cases.start_run.plan(caller, scope):
                yield self._told(message)
            return
        answer = await use_cases.start_run.execute(caller, scope, idempotency)
        if isinstance(answer, Replay):
            run_id = parse_one_id("run_id", pb.StartRunResponse.FromString(answer.response).run.run_id)
        else:
            assert answer.run_id is not None
            run_id = answer.run_id
        async with closing(await use_cases.watch_run.execute(caller, run_id, 0)) as messages:
            async for message in messages:
                yield self._told(message)

    async def StartRun(self, request: pb.StartRunRequest, context: Context) -> pb.StartRunResponse:
        """Starts a run."""
        scope, idempotency = parse_run(START_RUN_METHOD, request, lambda run: _started(run).SerializeToString())
        start = self._use_cases.consolidate.start_run
        execute = start.plan_stored if request.validate_only else start.execute
        answer = await execute(current_call(), scope, idempotency)
        if isinstance(answer, Replay):
            return pb.StartRunResponse.FromString(answer.response)
        return _started(answer)

    async def GetRun(self, request: pb.GetRunRequest, context: Context) -> pb.GetRunResponse:
        """Reads a run."""
        run_id = parse_one_id("run_id", request.run_id)
        return pb.GetRunResponse(
            run=to_run(await self._use_cases.consolidate.get_run.execute(current_call(), run_id))
        )

    async def ListRuns(self, request: pb.ListRunsRequest, context: Context) -> pb.ListRunsResponse:
        """Lists runs, newest first."""
        found, caller = Violations(), current_call()
        states = parse_enums("states", request.states, RUN_STATE, found)
        size = parse_page_size(request.page_size, found)
        tokens = PageTokens(caller.project, LIST_RUNS_METHOD, request)
        after = parse_start(tokens, request.page_token, found)
        page = await self._use_cases.consolidate.list_runs.execute(caller, states, after, size)
        return to_list_runs_response(page, tokens.write(page.next))

    async def CancelRun(self, request: pb.CancelRunRequest, context: Context) -> pb.CancelRunResponse:
        """Stops a run."""
        found = Violations()
        run_id = parse_id("run_id", request.run_id, found)
        idempotency: Idempotency[Run] | None = parse_idempotency(
            CANCEL_RUN_METHOD, request, request.request_id, lambda run: _cancelled(run).SerializeToString(), found
        )
        found.raise_if_any()
        answer = await self._use_cases.consolidate.cancel_run.execute(current_call(), run_id, idempotency)
        if isinstance(answer, Replay):
            return pb.CancelRunResponse.FromString(answer.response)
        return _cancelled(answer)

    async def WatchRun(self, request: pb.WatchRunRequest, context: Context) -> AsyncIterator[pb.WatchRunResponse]:
        """Streams what a run tells, until its summary."""
        found = Violations()
        run_id = parse_id("run_id", request.run_id, found)
        if request.after_sequence < 0:
            found.add("after_sequence", "must not be negative")
        found.raise_if_any()
        watch = self._use_cases.consolidate.watch_run
        async with closing(await watch.execute(current_call(), run_id, request.after_sequence)) as messages:
            async for message in messages:
                yield to_watch_run_response(message, self._use_cases.clock.now())

    def _told(self, message: RunMessage) -> pb.ConsolidateResponse:
        return to_consolidate_response(message, self._use_cases.clock.now())


def _started(run: Run) -> pb.StartRunResponse:
    return pb.StartRunResponse(run=to_run(run))


def _cancelled(run: Run) -> pb.CancelRunResponse:
    return pb.CancelRunResponse(run=to_run(run))

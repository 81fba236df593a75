"""The part of ConsolidateService that reads events, and gives failed ones another chance."""

from __future__ import annotations

from typing import Any

import grpc
from concord.v1 import consolidate_service_pb2 as pb

from concord_server.api.authentication import current_call
from concord_server.api.enums import EVENT_STATE
from concord_server.api.mapping.consolidation import (
    to_event,
    to_list_events_response,
    to_search_events_response,
)
from concord_server.api.paging import PageTokens
from concord_server.api.parsing.consolidation import parse_search_events
from concord_server.api.parsing.fields import parse_entity_filter, parse_enums, parse_label, parse_page_size
from concord_server.api.parsing.idempotency import parse_idempotency
from concord_server.api.parsing.queries import parse_one_id, parse_order, parse_start
from concord_server.api.usecases import UseCases
from concord_server.domain.commands import Violations
from concord_server.domain.events import EventFilter
from concord_server.services.context import Idempotency, Replay
from concord_server.services.events import RETRYABLE, Requeued

Context = grpc.aio.ServicerContext[Any, Any]

LIST_EVENTS_METHOD = "concord.v1.ConsolidateService/ListEvents"
RETRY_EVENTS_METHOD = "concord.v1.ConsolidateService/RetryEvents"


class EventsServicer:
    """Reads events."""

    _use_cases: UseCases

    async def GetEvent(self, request: pb.GetEventRequest, context: Context) -> pb.GetEventResponse:
        """Reads an event."""
        event_id = parse_one_id("event_id", request.event_id)
        event = await self._use_cases.consolidate.get_event.execute(current_call(), event_id)
        return pb.GetEventResponse(event=to_event(event))

    async def ListEvents(self, request: pb.ListEventsRequest, context: Context) -> pb.ListEventsResponse:
        """Lists events."""
        found, caller = Violations(), current_call()
        scoped = request.HasField("access_scope")
        where = EventFilter(
            states=parse_enums("states", request.states, EVENT_STATE, found),
            subject=parse_entity_filter(request, "subject", found),
            domain=parse_label("domain", request.domain, found) or None,
            access_scope=parse_label("access_scope", request.access_scope, found) if scoped else None,
        )
        order = parse_order("order_by", request.order_by, ("create_time", "occur_time"), found)
        size = parse_page_size(request.page_size, found)
        tokens = PageTokens(caller.project, LIST_EVENTS_METHOD, request)
        after = parse_start(tokens, request.page_token, found)
        page = await self._use_cases.consolidate.list_events.execute(caller, where, order, after, size)
        return to_list_events_response(page, tokens.write(page.next))

    async def SearchEvents(self, request: pb.SearchEventsRequest, context: Context) -> pb.SearchEventsResponse:
        """Finds events of a subject by meaning and by words, best first."""
        query = parse_search_events(request)
        return to_search_events_response(
            await self._use_cases.consolidate.search_events.execute(current_call(), query)
        )

    async def RetryEvents(self, request: pb.RetryEventsRequest, context: Context) -> pb.RetryEventsResponse:
        """Makes failed events wait again."""
        found = Violations()
        states = parse_enums("states", request.states, EVENT_STATE, found)
        if any(state not in RETRYABLE for state in states):
            found.add("states", f"must be of {', '.join(state.value for state in RETRYABLE)}")
        subject = parse_entity_filter(request, "subject", found)
        idempotency: Idempotency[Requeued] | None = parse_idempotency(
            RETRY_EVENTS_METHOD,
            request,
            request.request_id,
            lambda requeued: _requeued(requeued).SerializeToString(),
            found,
        )
        found.raise_if_any()
        answer = await self._use_cases.consolidate.retry_events.execute(
            current_call(), states, subject, idempotency
        )
        if isinstance(answer, Replay):
            return pb.RetryEventsResponse.FromString(answer.response)
        return _requeued(answer)


def _requeued(requeued: Requeued) -> pb.RetryEventsResponse:
    return pb.RetryEventsResponse(requeued_count=requeued.events, requeued_fact_count=requeued.facts)

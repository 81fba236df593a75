"""The part of ConsolidateService that reads observations."""

from __future__ import annotations

from typing import Any

import grpc
from concord.v1 import consolidate_service_pb2 as pb

from concord_server.api.authentication import current_call
from concord_server.api.enums import OBSERVATION_STATE
from concord_server.api.mapping.observations import (
    to_get_observation_response,
    to_list_observation_versions_response,
    to_list_observations_response,
)
from concord_server.api.paging import PageTokens
from concord_server.api.parsing.fields import (
    parse_entity_filter,
    parse_enum,
    parse_id,
    parse_label,
    parse_page_size,
)
from concord_server.api.parsing.queries import parse_one_id, parse_order, parse_start
from concord_server.api.usecases import UseCases
from concord_server.domain.commands import MAX_LABEL, MAX_TAGS, Violations
from concord_server.domain.enums import ObservationState
from concord_server.domain.observations import ObservationFilter
from concord_server.domain.text import required_label_problem

Context = grpc.aio.ServicerContext[Any, Any]

LIST_METHOD = "concord.v1.ConsolidateService/ListObservations"
LIST_VERSIONS_METHOD = "concord.v1.ConsolidateService/ListObservationVersions"
ORDERS = ("create_time", "update_time", "proof_count")
"""Fields that observations can be ordered by."""


class ObservationsServicer:
    """Reads observations."""

    _use_cases: UseCases

    async def ListObservations(
        self, request: pb.ListObservationsRequest, context: Context
    ) -> pb.ListObservationsResponse:
        """Lists observations."""
        found, caller = Violations(), current_call()
        where = _filter(request, found)
        order = parse_order("order_by", request.order_by, ORDERS, found)
        size = parse_page_size(request.page_size, found)
        tokens = PageTokens(caller.project, LIST_METHOD, request)
        after = parse_start(tokens, request.page_token, found)
        page = await self._use_cases.consolidate.list_observations.execute(caller, where, order, after, size)
        return to_list_observations_response(page, self._use_cases.clock.now(), tokens.write(page.next))

    async def GetObservation(
        self, request: pb.GetObservationRequest, context: Context
    ) -> pb.GetObservationResponse:
        """Reads an observation with the facts that it rests on."""
        observation_id = parse_one_id("observation_id", request.observation_id)
        use_case = self._use_cases.consolidate.get_observation
        observation, facts = await use_case.execute(current_call(), observation_id)
        return to_get_observation_response(observation, facts, self._use_cases.clock.now())

    async def ListObservationVersions(
        self, request: pb.ListObservationVersionsRequest, context: Context
    ) -> pb.ListObservationVersionsResponse:
        """Lists every recorded state of an observation, oldest first."""
        found, caller = Violations(), current_call()
        observation_id = parse_id("observation_id", request.observation_id, found)
        size = parse_page_size(request.page_size, found)
        tokens = PageTokens(caller.project, LIST_VERSIONS_METHOD, request)
        after = parse_start(tokens, request.page_token, found)
        use_case = self._use_cases.consolidate.list_observation_versions
        page = await use_case.execute(caller, observation_id, after, size)
        return to_list_observation_versions_response(page, tokens.write(page.next))


def _filter(request: pb.ListObservationsRequest, found: Violations) -> ObservationFilter:
    for index, tag in enumerate(request.tags):
        found.add(f"tags[{index}]", required_label_problem(tag, max_length=MAX_LABEL))
    if len(request.tags) > MAX_TAGS:
        found.add("tags", f"must have at most {MAX_TAGS} items, has {len(request.tags)}")
    scoped = request.HasField("access_scope")
    return ObservationFilter(
        subject=parse_entity_filter(request, "subject", found),
        domain=parse_label("domain", request.domain, found) or None,
        access_scope=parse_label("access_scope", request.access_scope, found) if scoped else None,
        tags=tuple(dict.fromkeys(request.tags)),
        states=_states(request, found),
    )


def _states(request: pb.ListObservationsRequest, found: Violations) -> tuple[ObservationState, ...]:
    """Returns the states that a filter names; UNSPECIFIED among them stands for any."""
    members = {
        parse_enum(f"states[{index}]", number, OBSERVATION_STATE, found)
        for index, number in enumerate(request.states)
    }
    if None in members:
        return tuple(ObservationState)
    return tuple(state for state in ObservationState if state in members)

"""The calls that read observations."""

from __future__ import annotations

from collections.abc import Sequence

from concord import _parse, _requests
from concord import events as e
from concord import results as r
from concord._briefing_calls import EVERY_FACT
from concord._call import Call, Rpc
from concord.enums import ObservationAction, ObservationState, enum_from_proto
from concord.inputs import EntityRef, FactFilter
from concord.resources import Observation
from concord.results import Page
from concord.v1 import briefing_service_pb2 as bpb
from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import consolidation_pb2 as cpb

_SERVICE = pb.DESCRIPTOR.services_by_name["ConsolidateService"]
_LIST = Rpc.of(_SERVICE, pb.ListObservationsRequest, pb.ListObservationsResponse)
_GET = Rpc.of(_SERVICE, pb.GetObservationRequest, pb.GetObservationResponse)
_LIST_VERSIONS = Rpc.of(_SERVICE, pb.ListObservationVersionsRequest, pb.ListObservationVersionsResponse)
_SEARCH = Rpc.of(
    bpb.DESCRIPTOR.services_by_name["BriefingService"], bpb.SearchFactsRequest, bpb.SearchFactsResponse
)


def list_observations(
    *,
    subject: EntityRef | None = None,
    domain: str = "",
    access_scope: str | None = None,
    tags: Sequence[str] = (),
    states: Sequence[ObservationState] = (),
    order_by: str = "",
    page_size: int = 0,
    page_token: str = "",
    timeout: float | None = None,
) -> Call[Page[Observation]]:
    """Lists observations, newest first.

    Args:
        subject: only those about this entity.
        domain: only this domain; empty for all.
        access_scope: only this scope; "" for unscoped ones, None for all that the credential may read.
        tags: only those with all of these.
        states: only these; empty for ACTIVE ones.
        order_by: "create_time desc" (default), "create_time", "update_time desc" or "proof_count desc".
        page_size: observations per page, at most 500; 0 means 50.
        page_token: the ``next_page_token`` of the page before.
        timeout: seconds for all attempts of a page; None means the client's default.
    """
    request = pb.ListObservationsRequest(
        subject=_requests.entity(subject),
        domain=domain,
        access_scope=access_scope,
        tags=tags,
        states=_requests.numbers(states),
        order_by=order_by,
        page_size=page_size,
        page_token=page_token,
    )

    def parse(response: pb.ListObservationsResponse) -> Page[Observation]:
        return Page(
            items=_parse.every(response.observations, _parse.observation),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
        )

    return _LIST.call(request, parse, timeout=timeout)


def get_observation(observation_id: str, *, timeout: float | None = None) -> Call[r.ObservationDetails]:
    """Reads an observation with the facts that it rests on, oldest first.

    Raises:
        NotFoundError: no such observation.
    """
    request = pb.GetObservationRequest(observation_id=observation_id)

    def parse(response: pb.GetObservationResponse) -> r.ObservationDetails:
        return r.ObservationDetails(
            observation=_parse.required(response, "observation", _parse.observation),
            facts=_parse.every(response.facts, _parse.fact),
        )

    return _GET.call(request, parse, timeout=timeout)


def list_observation_versions(
    observation_id: str, *, page_size: int = 0, page_token: str = "", timeout: float | None = None
) -> Call[Page[r.ObservationVersion]]:
    """Lists every recorded state of an observation, oldest first.

    Raises:
        NotFoundError: no such observation.
    """
    request = pb.ListObservationVersionsRequest(
        observation_id=observation_id, page_size=page_size, page_token=page_token
    )

    def parse(response: pb.ListObservationVersionsResponse) -> Page[r.ObservationVersion]:
        return Page(
            items=_parse.every(response.versions, _version),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
        )

    return _LIST_VERSIONS.call(request, parse, timeout=timeout)


def search_observations(
    query: str,
    where: FactFilter = EVERY_FACT,
    *,
    top_k: int = 0,
    min_similarity: float = 0.0,
    timeout: float | None = None,
) -> Call[tuple[r.ObservationMatch, ...]]:
    """Finds what is believed by meaning, nearest first.

    Args:
        query: what to find, with at least one letter or digit.
        where: which facts a search would look through; its domain, scope, entity, owner and tag count. None are
            found where it is about the past, or about what only facts have.
        top_k: how many to return, at most 100; 0 means 10.
        min_similarity: leaves out what is less similar.
        timeout: seconds for all attempts; None means the client's default.
    """
    request = bpb.SearchFactsRequest(
        **_requests.fact_filter(where), query=query, top_k=top_k, min_similarity=min_similarity
    )

    def parse(response: bpb.SearchFactsResponse) -> tuple[r.ObservationMatch, ...]:
        return tuple(
            r.ObservationMatch(
                observation=_parse.required(found, "observation", _parse.observation), similarity=found.similarity
            )
            for found in response.observations
        )

    return _SEARCH.call(request, parse, timeout=timeout)


def outcome(given: cpb.ObservationOutcome) -> e.ObservationOutcome:
    """Parses what became of an observation."""
    return e.ObservationOutcome(
        action=enum_from_proto(ObservationAction, given.action),
        observation=_parse.required(given, "observation", _parse.observation),
        reason=given.reason,
    )


def _version(given: cpb.ObservationVersion) -> r.ObservationVersion:
    return r.ObservationVersion(
        observation=_parse.required(given, "observation", _parse.observation),
        action=enum_from_proto(ObservationAction, given.action),
        run_id=given.run_id,
        reason=given.reason,
        recorded_from=_parse.time(given, "recorded_from"),
        recorded_to=_parse.time(given, "recorded_to"),
    )

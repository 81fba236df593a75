"""Observations, with how their support develops as of when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import consolidation_pb2, enums_pb2

from concord_server.api.enums import OBSERVATION_ACTION, OBSERVATION_STATE, TREND
from concord_server.api.mapping.resources import to_entity, to_fact, to_id
from concord_server.api.wellknown import optional_timestamp, to_timestamp
from concord_server.domain.model import Fact
from concord_server.domain.observations import Observation, ObservationVersion, trend
from concord_server.domain.queries import Page
from concord_server.domain.runs import ObservationOutcome


def to_observation(observation: Observation, now: datetime | None) -> consolidation_pb2.Observation:
    """Returns an observation with its trend as of ``now``; without a time, no trend is told."""
    owner = observation.group.owner
    return consolidation_pb2.Observation(
        observation_id=to_id(observation.observation_id),
        text=observation.text,
        owner=None if owner is None else to_entity(owner),
        domain=observation.group.domain,
        access_scope=observation.group.access_scope,
        tags=observation.group.tags,
        proof_count=observation.proof_count,
        source_fact_ids=[to_id(each.fact_id) for each in observation.support],
        first_time=optional_timestamp(observation.first_time),
        last_time=optional_timestamp(observation.last_time),
        state=OBSERVATION_STATE.to_proto(observation.state),
        trend=enums_pb2.TREND_UNSPECIFIED if now is None else TREND.to_proto(trend(observation.support, now)),
        create_time=to_timestamp(observation.create_time),
        update_time=to_timestamp(observation.update_time),
        version=observation.version,
        etag=observation.etag,
    )


def to_observation_outcome(outcome: ObservationOutcome, now: datetime) -> consolidation_pb2.ObservationOutcome:
    """Returns what became of an observation."""
    return consolidation_pb2.ObservationOutcome(
        action=OBSERVATION_ACTION.to_proto(outcome.action),
        observation=to_observation(outcome.observation, now),
        reason=outcome.reason,
    )


def to_list_observations_response(
    page: Page[Observation], now: datetime, next_page_token: str
) -> pb.ListObservationsResponse:
    """Returns a page of observations."""
    return pb.ListObservationsResponse(
        observations=[to_observation(each, now) for each in page.items],
        next_page_token=next_page_token,
        total_size=page.total,
    )


def to_get_observation_response(
    observation: Observation, facts: Sequence[Fact], now: datetime
) -> pb.GetObservationResponse:
    """Returns an observation with its facts."""
    return pb.GetObservationResponse(
        observation=to_observation(observation, now), facts=[to_fact(fact, now) for fact in facts]
    )


def to_list_observation_versions_response(
    page: Page[ObservationVersion], next_page_token: str
) -> pb.ListObservationVersionsResponse:
    """Returns a page of recorded states. How support develops depends on when one looks: no trend is told."""
    return pb.ListObservationVersionsResponse(
        versions=[_version(each) for each in page.items], next_page_token=next_page_token, total_size=page.total
    )


def _version(version: ObservationVersion) -> consolidation_pb2.ObservationVersion:
    return consolidation_pb2.ObservationVersion(
        observation=to_observation(version.observation, None),
        action=OBSERVATION_ACTION.to_proto(version.action),
        run_id="" if version.run_id is None else to_id(version.run_id),
        reason=version.reason,
        recorded_from=to_timestamp(version.recorded_from),
        recorded_to=optional_timestamp(version.recorded_to),
    )

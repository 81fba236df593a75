from __future__ import annotations

from datetime import timedelta

import pytest
from concord.v1 import enums_pb2
from concord.v1.briefing_service_pb2 import GetEntityBriefingRequest, SearchFactsRequest
from concord.v1.consolidate_service_pb2 import (
    ConsolidateRequest,
    GetObservationRequest,
    ListObservationsRequest,
    ListObservationVersionsRequest,
    RetryEventsRequest,
    StartRunRequest,
)
from concord.v1.resources_pb2 import EntityRef as EntityMessage
from concord_server.api.mapping.observations import to_observation
from concord_server.domain.enums import ObservationAction, ObservationState, RunStage, RunState
from concord_server.domain.model import EntityRef
from concord_server.domain.observations import ObservationFilter
from concord_server.domain.queries import Cursor, FactOrder, Page
from concord_server.domain.runs import (
    ObservationOutcome,
    ObserveProgress,
    Progress,
    ProgressReport,
    Run,
    RunMessage,
    RunScope,
)

from tests.contract.event_values import RUN_ID
from tests.contract.ledger_values import FACT_ID, NOW
from tests.contract.observation_values import OBSERVATION
from tests.contract.scripted import Edge, failure
from tests.contract.test_calls import CALLER

ID = str(OBSERVATION.observation_id)


async def test_an_observation_is_told_with_its_group_its_evidence_and_its_trend(edge: Edge):
    response = await edge.consolidate.GetObservation(GetObservationRequest(observation_id=ID))
    told = response.observation
    assert (told.observation_id, told.text, told.domain, told.access_scope) == (
        ID,
        "Ada likes the sea",
        "sport",
        "team-a",
    )
    assert (told.owner.entity_type, told.owner.entity_id, list(told.tags)) == ("Person", "ada", ["sea", "summer"])
    assert (told.proof_count, len(told.source_fact_ids), told.source_fact_ids[0]) == (2, 2, str(FACT_ID))
    assert told.first_time.ToDatetime() == (NOW - timedelta(days=9)).replace(tzinfo=None)
    assert told.last_time.ToDatetime() == (NOW - timedelta(days=2)).replace(tzinfo=None)
    assert told.state == enums_pb2.OBSERVATION_STATE_ACTIVE
    assert told.trend == enums_pb2.TREND_STRENGTHENING
    assert (told.version, told.etag) == (3, '"3"')
    assert [fact.fact_id for fact in response.facts] == [str(FACT_ID)]


async def test_filters_orders_and_pages_of_a_list_reach_the_use_case(edge: Edge):
    script = edge.script.consolidate.list_observations
    script.answer = Page([OBSERVATION], Cursor("2", OBSERVATION.observation_id), 5)
    request = ListObservationsRequest(
        subject=EntityMessage(entity_type="Person", entity_id="ada"),
        domain="sport",
        access_scope="",
        tags=["sea", "sea"],
        states=[enums_pb2.OBSERVATION_STATE_RETIRED],
        order_by="proof_count desc",
        page_size=7,
    )
    response = await edge.consolidate.ListObservations(request)
    assert (response.observations[0], response.total_size) == (to_observation(OBSERVATION, NOW), 5)
    where = ObservationFilter(
        EntityRef("Person", "ada"), "sport", "", tags=("sea",), states=(ObservationState.RETIRED,)
    )
    assert script.calls == [(CALLER, where, FactOrder("proof_count", descending=True), None, 7)]
    request.page_token = response.next_page_token
    await edge.consolidate.ListObservations(request)
    assert script.calls[-1][3] == Cursor("2", OBSERVATION.observation_id)
    request.domain = "other"
    failed = await failure(edge.consolidate.ListObservations(request))
    assert failed.fields == ("page_token",)


@pytest.mark.parametrize(
    ("states", "meant"),
    [
        ([], ()),
        ([enums_pb2.OBSERVATION_STATE_UNSPECIFIED], tuple(ObservationState)),
        ([enums_pb2.OBSERVATION_STATE_ACTIVE], (ObservationState.ACTIVE,)),
    ],
)
async def test_unspecified_among_the_states_stands_for_any(edge: Edge, states, meant):
    await edge.consolidate.ListObservations(ListObservationsRequest(states=states))
    [(_, where, *_)] = edge.script.consolidate.list_observations.calls
    assert where.states == meant


async def test_every_bad_field_of_a_list_is_named(edge: Edge):
    request = ListObservationsRequest(
        subject=EntityMessage(entity_type="Person"), tags=[" "], order_by="text", page_size=-1
    )
    failed = await failure(edge.consolidate.ListObservations(request))
    assert set(failed.fields) == {"subject.entity_id", "tags[0]", "order_by", "page_size"}


async def test_versions_say_what_led_to_them(edge: Edge):
    request = ListObservationVersionsRequest(observation_id=ID, page_size=3)
    response = await edge.consolidate.ListObservationVersions(request)
    [version] = response.versions
    assert version.action == enums_pb2.OBSERVATION_ACTION_UPDATED
    assert (version.reason, version.observation.text) == ("one more fact agrees", "Ada likes the sea")
    assert version.observation.trend == enums_pb2.TREND_UNSPECIFIED
    assert not version.HasField("recorded_to")


@pytest.mark.parametrize("given", ["", "7"])
async def test_an_id_that_is_none_is_refused(edge: Edge, given):
    for call in (
        edge.consolidate.GetObservation(GetObservationRequest(observation_id=given)),
        edge.consolidate.ListObservationVersions(ListObservationVersionsRequest(observation_id=given)),
    ):
        assert (await failure(call)).fields == ("observation_id",)


async def test_a_run_tells_of_observations_and_counts_both_stages(edge: Edge):
    scope = RunScope(stages=(RunStage.EXTRACT, RunStage.OBSERVE))
    counts = ObserveProgress(total=8, processed=8, observations_created=2, model_calls=1, rejected=1)
    ended = Run(
        RUN_ID, RunState.SUCCEEDED, scope, NOW, extract=Progress(total=3, processed=3, rejected=1), observe=counts
    )
    edge.script.consolidate.watch_run.answer = (
        RunMessage(1, ObservationOutcome(ObservationAction.CREATED, OBSERVATION, "they agree")),
        RunMessage(2, ProgressReport(ended.extract, None, counts)),
        RunMessage(3, ended, last=True),
    )
    first, progress, last = [each async for each in edge.consolidate.Consolidate(ConsolidateRequest())]
    assert first.observation.action == enums_pb2.OBSERVATION_ACTION_CREATED
    assert (first.observation.observation, first.observation.reason) == (
        to_observation(OBSERVATION, NOW),
        "they agree",
    )
    assert (progress.progress.total, progress.progress.rejected, progress.progress.observations_created) == (
        11,
        2,
        2,
    )
    extract, observe = last.summary.stage_progress
    assert (extract.total, extract.observations_created, observe.total, observe.observations_created) == (
        3,
        0,
        8,
        2,
    )
    assert observe.stage == enums_pb2.RUN_STAGE_OBSERVE


async def test_retrying_tells_how_many_facts_wait_again(edge: Edge):
    response = await edge.consolidate.RetryEvents(RetryEventsRequest())
    assert (response.requeued_count, response.requeued_fact_count) == (3, 2)


async def test_observations_are_found_and_briefed_apart_from_facts(edge: Edge):
    found = await edge.briefing.SearchFacts(SearchFactsRequest(query="sea"))
    [match] = found.observations
    assert (match.observation, match.similarity) == (to_observation(OBSERVATION, NOW), 0.75)
    request = GetEntityBriefingRequest(entity_type="Person", entity_id="ada")
    briefing = await edge.briefing.GetEntityBriefing(request)
    assert list(briefing.observations) == [to_observation(OBSERVATION, NOW)]


async def test_a_run_may_be_of_one_stage(edge: Edge):
    await edge.consolidate.StartRun(StartRunRequest(stages=[enums_pb2.RUN_STAGE_OBSERVE]))
    [(_, scope, _)] = edge.script.consolidate.start_run.calls
    assert scope.stages == (RunStage.OBSERVE,)

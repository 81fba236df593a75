"""Events and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime, timedelta

from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import consolidation_pb2, resources_pb2

from concord_server.api.enums import (
    CANDIDATE_ACTION,
    CANDIDATE_OUTCOME,
    CARDINALITY,
    EVENT_STATE,
    EVIDENCE_STANCE,
    FACT_TYPE,
    RUN_STAGE,
    RUN_STATE,
    TRUST,
    VOLATILITY,
)
from concord_server.api.errors import stored_status
from concord_server.api.mapping.observations import to_observation_outcome
from concord_server.api.mapping.resources import to_entity, to_fact, to_id
from concord_server.api.wellknown import optional_timestamp, to_duration, to_struct, to_timestamp, to_value
from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import RunStage
from concord_server.domain.event_search import EventMatch
from concord_server.domain.events import Appended, Event, EventCandidate, EventMessage, Failure
from concord_server.domain.model import Claim, EvidenceInput, SourceInput
from concord_server.domain.queries import Page
from concord_server.domain.runs import (
    CandidateResult,
    EventOutcome,
    ObservationOutcome,
    ObserveProgress,
    Progress,
    ProgressReport,
    Run,
    RunMessage,
)


def to_append_events_response(appended: Sequence[Appended]) -> pb.AppendEventsResponse:
    """Returns what became of each event."""
    results = [pb.AppendEventsResult(event_id=to_id(one.event_id), duplicate=one.duplicate) for one in appended]
    return pb.AppendEventsResponse(results=results)


def to_event(event: Event) -> consolidation_pb2.Event:
    """Returns an event with where it is on its way."""
    return consolidation_pb2.Event(
        event_id=to_id(event.event_id),
        subject=to_entity(event.subject),
        kind=event.kind,
        text=event.text,
        payload=to_struct(event.payload) if event.payload else None,
        messages=[_message(message) for message in event.messages],
        occur_time=to_timestamp(event.occur_time),
        trust=TRUST.to_proto(event.trust),
        access_scope=event.access_scope,
        domain=event.domain,
        source=None if event.source is None else _source(event.source),
        tags=event.tags,
        idempotency_key=event.idempotency_key,
        candidates=[_candidate(candidate) for candidate in event.candidates],
        state=EVENT_STATE.to_proto(event.state),
        attempts=event.attempts,
        last_error=_error(event.last_error),
        retry_time=optional_timestamp(event.retry_time),
        create_time=to_timestamp(event.create_time),
        update_time=to_timestamp(event.update_time),
        delete_time=optional_timestamp(event.delete_time),
        partial=event.partial,
    )


def to_list_events_response(page: Page[Event], next_page_token: str) -> pb.ListEventsResponse:
    """Returns a page of events."""
    return pb.ListEventsResponse(
        events=[to_event(event) for event in page.items], next_page_token=next_page_token, total_size=page.total
    )


def to_search_events_response(matches: Sequence[EventMatch]) -> pb.SearchEventsResponse:
    """Returns the events that were found, and how well each matches, in the same order."""
    return pb.SearchEventsResponse(
        events=[to_event(match.event) for match in matches],
        matches=[
            pb.EventMatch(
                event_id=to_id(match.event.event_id),
                similarity=match.similarity,
                text_rank=match.text_rank,
                score=match.score,
            )
            for match in matches
        ],
    )


def to_run(run: Run) -> consolidation_pb2.Run:
    """Returns a run; one that is not stored has no id."""
    return consolidation_pb2.Run(
        run_id=to_id(run.run_id),
        state=RUN_STATE.to_proto(run.state),
        stages=[RUN_STAGE.to_proto(stage) for stage in run.scope.stages],
        progress=to_progress(run.extract, run.observe),
        stage_progress=[
            to_progress(run.extract, stage=stage)
            if stage is RunStage.EXTRACT
            else to_progress(Progress(), run.observe, stage=stage)
            for stage in run.scope.stages
        ],
        error=_error(run.error),
        retry_time=optional_timestamp(run.retry_time),
        create_time=to_timestamp(run.create_time),
        start_time=optional_timestamp(run.start_time),
        end_time=optional_timestamp(run.end_time),
        subject=None if run.scope.subject is None else to_entity(run.scope.subject),
        domain=run.scope.domain,
        max_events=run.scope.max_events,
        validate_only=run.validate_only,
    )


def to_list_runs_response(page: Page[Run], next_page_token: str) -> pb.ListRunsResponse:
    """Returns a page of runs."""
    return pb.ListRunsResponse(
        runs=[to_run(run) for run in page.items], next_page_token=next_page_token, total_size=page.total
    )


def to_progress(
    extract: Progress,
    observe: ObserveProgress | None = None,
    left: timedelta | None = None,
    stage: RunStage | None = None,
) -> consolidation_pb2.Progress:
    """Returns counts, of all stages together unless one is named."""
    counts = {each.name: getattr(extract, each.name) for each in fields(extract)}
    for each in fields(observe) if observe is not None else ():
        counts[each.name] = counts.get(each.name, 0) + getattr(observe, each.name)
    return consolidation_pb2.Progress(
        stage=RUN_STAGE.optional_to_proto(stage), eta=None if left is None else to_duration(left), **counts
    )


def to_consolidate_response(message: RunMessage, now: datetime) -> pb.ConsolidateResponse:
    """Returns a message of a run's stream, with facts as they are read at ``now``."""
    response = pb.ConsolidateResponse(sequence=message.sequence)
    update = message.update
    if isinstance(update, EventOutcome):
        response.outcome.CopyFrom(to_event_outcome(update, now))
    elif isinstance(update, ProgressReport):
        response.progress.CopyFrom(to_progress(update.progress, update.observe, update.left))
    elif isinstance(update, ObservationOutcome):
        response.observation.CopyFrom(to_observation_outcome(update, now))
    elif message.last:
        response.summary.CopyFrom(to_run(update))
    else:
        response.run.CopyFrom(to_run(update))
    return response


def to_watch_run_response(message: RunMessage, now: datetime) -> pb.WatchRunResponse:
    """Returns the same message as Consolidate streams it."""
    return pb.WatchRunResponse.FromString(to_consolidate_response(message, now).SerializeToString())


def to_event_outcome(outcome: EventOutcome, now: datetime) -> consolidation_pb2.EventOutcome:
    """Returns what became of an event."""
    return consolidation_pb2.EventOutcome(
        event_id=to_id(outcome.event_id),
        state=EVENT_STATE.to_proto(outcome.state),
        candidates=[_result(result, now) for result in outcome.candidates],
    )


def _result(result: CandidateResult, now: datetime) -> consolidation_pb2.CandidateResult:
    return consolidation_pb2.CandidateResult(
        claim=None if result.claim is None else _claim(result.claim),
        text=result.text,
        outcome=CANDIDATE_OUTCOME.to_proto(result.outcome),
        reason=result.reason,
        fact=None if result.fact is None else to_fact(result.fact, now),
    )


def _claim(claim: Claim | ClaimInput) -> resources_pb2.Claim:
    return resources_pb2.Claim(
        subject=claim.subject,
        predicate=claim.predicate,
        value=None if claim.value is None else to_value(claim.value),
        qualifiers=to_struct(claim.qualifiers) if claim.qualifiers else None,
        cardinality=CARDINALITY.optional_to_proto(claim.cardinality),
    )


def _candidate(candidate: EventCandidate) -> consolidation_pb2.EventCandidate:
    return consolidation_pb2.EventCandidate(
        claim=None if candidate.claim is None else _claim(candidate.claim),
        text=candidate.text,
        type=FACT_TYPE.to_proto(candidate.type),
        action=CANDIDATE_ACTION.to_proto(candidate.action),
        reject_reason=candidate.reject_reason,
        confidence=candidate.confidence,
        valid_from=optional_timestamp(candidate.valid_from),
        valid_to=optional_timestamp(candidate.valid_to),
        volatility=VOLATILITY.optional_to_proto(candidate.volatility),
        tags=candidate.tags,
        evidence=[_evidence(item) for item in candidate.evidence],
    )


def _evidence(item: EvidenceInput) -> resources_pb2.EvidenceInput:
    return resources_pb2.EvidenceInput(
        stance=EVIDENCE_STANCE.to_proto(item.stance),
        quote=item.quote,
        locator=item.locator,
        source_kind=item.source_kind,
        source_ref=item.source_ref,
        confidence=item.confidence,
        extraction_method=item.extraction_method,
    )


def _message(message: EventMessage) -> consolidation_pb2.EventMessage:
    return consolidation_pb2.EventMessage(
        role=message.role, name=message.name, text=message.text, time=optional_timestamp(message.time)
    )


def _source(source: SourceInput) -> resources_pb2.SourceInput:
    return resources_pb2.SourceInput(
        source_type=source.source_type,
        url=source.url,
        title=source.title,
        external_id=source.external_id,
        credibility=source.credibility,
        extract_time=optional_timestamp(source.extract_time),
        trust=TRUST.to_proto(source.trust),
        metadata=to_struct(source.metadata) if source.metadata else None,
    )


def _error(failure: Failure | None):  # type: ignore[no-untyped-def]  # noqa: ANN202 - google.rpc has no types
    return None if failure is None else stored_status(failure.reason, failure.message)

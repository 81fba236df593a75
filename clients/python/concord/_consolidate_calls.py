"""The calls of ConsolidateService."""

from __future__ import annotations

from collections.abc import Sequence

from concord import _parse, _requests
from concord import events as e
from concord._call import Call, Rpc
from concord._convert import duration_from_proto, optional_struct, struct_from_proto, time_to_proto
from concord._observation_calls import outcome as observation_outcome
from concord._watch import Watch
from concord.enums import (
    CandidateOutcome,
    EventState,
    RunStage,
    RunState,
    Trust,
    enum_from_proto,
    enum_to_proto,
)
from concord.errors import ConcordError, InternalError, error_from_status
from concord.inputs import EntityRef
from concord.results import Page
from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import consolidation_pb2 as cpb

_SERVICE = pb.DESCRIPTOR.services_by_name["ConsolidateService"]
_APPEND = Rpc.of(_SERVICE, pb.AppendEventsRequest, pb.AppendEventsResponse)
_START = Rpc.of(_SERVICE, pb.StartRunRequest, pb.StartRunResponse)
_GET_RUN = Rpc.of(_SERVICE, pb.GetRunRequest, pb.GetRunResponse)
_LIST_RUNS = Rpc.of(_SERVICE, pb.ListRunsRequest, pb.ListRunsResponse)
_CANCEL = Rpc.of(_SERVICE, pb.CancelRunRequest, pb.CancelRunResponse)
_GET_EVENT = Rpc.of(_SERVICE, pb.GetEventRequest, pb.GetEventResponse)
_LIST_EVENTS = Rpc.of(_SERVICE, pb.ListEventsRequest, pb.ListEventsResponse)
_SEARCH_EVENTS = Rpc.of(_SERVICE, pb.SearchEventsRequest, pb.SearchEventsResponse)
_RETRY = Rpc.of(_SERVICE, pb.RetryEventsRequest, pb.RetryEventsResponse)
WATCH_RUN = Rpc.of(_SERVICE, pb.WatchRunRequest, pb.WatchRunResponse)


def append_events(
    events: Sequence[e.EventInput], *, request_id: str = "", timeout: float | None = None
) -> Call[tuple[e.AppendedEvent, ...]]:
    """Stores up to 500 events, all or none, and tells what became of each, in order.

    Raises:
        InvalidArgumentError: an event is malformed.
        AlreadyExistsError: an idempotency key stands for other content.
    """
    request = pb.AppendEventsRequest(events=[_event_input(event) for event in events], request_id=request_id)

    def parse(response: pb.AppendEventsResponse) -> tuple[e.AppendedEvent, ...]:
        return tuple(e.AppendedEvent(event_id=one.event_id, duplicate=one.duplicate) for one in response.results)

    return _APPEND.call(request, parse, timeout=timeout)


def start_run(
    scope: e.RunScope | None = None, *, request_id: str = "", timeout: float | None = None
) -> Call[e.Run]:
    """Starts a run and returns at once; ``watch_run`` tells how it goes."""
    given = scope or e.RunScope()
    request = pb.StartRunRequest(
        subject=_requests.entity(given.subject),
        domain=given.domain,
        max_events=given.max_events,
        stages=_requests.numbers(given.stages),
        validate_only=given.validate_only,
        request_id=request_id,
    )
    return _START.call(request, lambda response: _parse.required(response, "run", run), timeout=timeout)


def get_run(run_id: str, *, timeout: float | None = None) -> Call[e.Run]:
    """Reads a run.

    Raises:
        NotFoundError: no such run.
    """
    request = pb.GetRunRequest(run_id=run_id)
    return _GET_RUN.call(request, lambda response: _parse.required(response, "run", run), timeout=timeout)


def list_runs(
    *, states: Sequence[RunState] = (), page_size: int = 0, page_token: str = "", timeout: float | None = None
) -> Call[Page[e.Run]]:
    """Lists runs, newest first."""
    request = pb.ListRunsRequest(states=_requests.numbers(states), page_size=page_size, page_token=page_token)

    def parse(response: pb.ListRunsResponse) -> Page[e.Run]:
        return Page(
            items=_parse.every(response.runs, run),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
        )

    return _LIST_RUNS.call(request, parse, timeout=timeout)


def cancel_run(run_id: str, *, request_id: str = "", timeout: float | None = None) -> Call[e.Run]:
    """Stops a run between two events.

    Raises:
        NotFoundError: no such run.
        FailedPreconditionError: the run is over.
    """
    request = pb.CancelRunRequest(run_id=run_id, request_id=request_id)
    return _CANCEL.call(request, lambda response: _parse.required(response, "run", run), timeout=timeout)


def get_event(event_id: str, *, timeout: float | None = None) -> Call[e.Event]:
    """Reads an event.

    Raises:
        NotFoundError: no such event.
    """
    request = pb.GetEventRequest(event_id=event_id)
    return _GET_EVENT.call(request, lambda response: _parse.required(response, "event", event), timeout=timeout)


def list_events(
    *,
    states: Sequence[EventState] = (),
    subject: EntityRef | None = None,
    domain: str = "",
    access_scope: str | None = None,
    order_by: str = "",
    page_size: int = 0,
    page_token: str = "",
    timeout: float | None = None,
) -> Call[Page[e.Event]]:
    """Lists events, newest first unless ``order_by`` says otherwise ("occur_time", "create_time desc")."""
    request = pb.ListEventsRequest(
        states=_requests.numbers(states),
        subject=_requests.entity(subject),
        domain=domain,
        access_scope=access_scope,
        order_by=order_by,
        page_size=page_size,
        page_token=page_token,
    )

    def parse(response: pb.ListEventsResponse) -> Page[e.Event]:
        return Page(
            items=_parse.every(response.events, event),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
        )

    return _LIST_EVENTS.call(request, parse, timeout=timeout)


def search_events(
    subject: EntityRef,
    query: str,
    *,
    states: Sequence[EventState] = (),
    access_scope: str | None = None,
    top_k: int = 0,
    timeout: float | None = None,
) -> Call[tuple[e.EventMatch, ...]]:
    """Finds events of a subject by meaning and by words, best first; new ones within seconds of their appending.

    Args:
        subject: whose events.
        query: what to find, with at least one letter or digit.
        states: only events in these states; empty for all.
        access_scope: only this scope; "" for unscoped events, None for all that the credential may read.
        top_k: how many to return, at most 100; 0 means 10.
        timeout: seconds for all attempts; None means the client's default.
    """
    request = pb.SearchEventsRequest(
        subject=_requests.entity(subject),
        query=query,
        access_scope=access_scope,
        states=_requests.numbers(states),
        top_k=top_k,
    )
    return _SEARCH_EVENTS.call(request, _matches, timeout=timeout)


def _matches(response: pb.SearchEventsResponse) -> tuple[e.EventMatch, ...]:
    return tuple(
        e.EventMatch(event=event(found), similarity=m.similarity, text_rank=m.text_rank, score=m.score)
        for found, m in zip(response.events, response.matches, strict=True)
    )


def retry_events(
    *,
    states: Sequence[EventState] = (),
    subject: EntityRef | None = None,
    request_id: str = "",
    timeout: float | None = None,
) -> Call[int]:
    """Makes failed events wait again, and returns how many; ``states`` of FAILED and DEAD, none for both.

    Facts that observations could not be formed from become pending again too; they are not in the number.
    """
    request = pb.RetryEventsRequest(
        states=_requests.numbers(states), subject=_requests.entity(subject), request_id=request_id
    )
    return _RETRY.call(request, lambda response: response.requeued_count, timeout=timeout)


class RunWatch:
    """Follows a run over broken connections."""

    def __init__(self, run_id: str, after_sequence: int, outage: Watch) -> None:
        self._request = pb.WatchRunRequest(run_id=run_id, after_sequence=after_sequence)
        self._outage = outage

    def request(self) -> pb.WatchRunRequest:
        """Returns what to send to go on."""
        return pb.WatchRunRequest(run_id=self._request.run_id, after_sequence=self._request.after_sequence)

    def receive(self, response: pb.WatchRunResponse) -> e.RunMessage:
        """Notes a message, and returns what it tells."""
        self._outage.answered()
        self._request.after_sequence = response.sequence
        return message(response)

    def wait_after(self, error: ConcordError) -> float:
        """Returns the seconds to wait before connecting again.

        Raises:
            ConcordError: ``error`` itself, when connecting again cannot help, or has not helped for too long.
        """
        return self._outage.wait_after(error)


def ended(messages: Sequence[e.RunMessage]) -> e.Run:
    """Returns the run as it ended.

    Raises:
        InternalError: the service ended the stream without a summary.
    """
    last = messages[-1].update if messages else None
    if not isinstance(last, e.Run):
        raise InternalError("the run told no summary")
    return last


def message(response: pb.WatchRunResponse) -> e.RunMessage:
    """Parses a message of a run."""
    kind = response.WhichOneof("update")
    update: e.Run | e.Progress | e.EventOutcome | e.ObservationOutcome | None = None
    if kind in {"run", "summary"}:
        update = run(response.run if kind == "run" else response.summary)
    elif kind == "progress":
        update = progress(response.progress)
    elif kind == "outcome":
        update = _outcome(response.outcome)
    elif kind == "observation":
        update = observation_outcome(response.observation)
    return e.RunMessage(sequence=response.sequence, update=update, last=kind == "summary")


def run(given: cpb.Run) -> e.Run:
    """Parses a run."""
    return e.Run(
        run_id=given.run_id,
        state=enum_from_proto(RunState, given.state),
        stages=tuple(enum_from_proto(RunStage, stage) for stage in given.stages),
        progress=progress(given.progress),
        error=given.error.message,
        error_reason=error_from_status(given.error).reason,
        retry_time=_parse.time(given, "retry_time"),
        create_time=_parse.time(given, "create_time"),
        start_time=_parse.time(given, "start_time"),
        end_time=_parse.time(given, "end_time"),
    )


def progress(given: cpb.Progress) -> e.Progress:
    """Parses the counts of a run."""
    return e.Progress(
        total=given.total,
        processed=given.processed,
        created=given.created,
        reinforced=given.reinforced,
        superseded=given.superseded,
        historical=given.historical,
        conflicted=given.conflicted,
        suppressed=given.suppressed,
        duplicate=given.duplicate,
        rejected=given.rejected,
        failed=given.failed,
        observations_created=given.observations_created,
        observations_updated=given.observations_updated,
        observations_merged=given.observations_merged,
        observations_retired=given.observations_retired,
        model_calls=given.model_calls,
        input_tokens=given.input_tokens,
        output_tokens=given.output_tokens,
        eta=_parse.optional(given, "eta", duration_from_proto),
    )


def event(given: cpb.Event) -> e.Event:
    """Parses an event."""
    return e.Event(
        event_id=given.event_id,
        subject=_parse.owner(given.subject),
        kind=given.kind,
        text=given.text,
        payload=struct_from_proto(given.payload),
        messages=tuple(
            e.EventMessage(role=m.role, text=m.text, name=m.name, time=_parse.time(m, "time"))
            for m in given.messages
        ),
        occur_time=_parse.time(given, "occur_time"),
        trust=enum_from_proto(Trust, given.trust),
        access_scope=given.access_scope,
        domain=given.domain,
        tags=tuple(given.tags),
        idempotency_key=given.idempotency_key,
        state=enum_from_proto(EventState, given.state),
        attempts=given.attempts,
        partial=given.partial,
        last_error=given.last_error.message,
        retry_time=_parse.time(given, "retry_time"),
        create_time=_parse.time(given, "create_time"),
        update_time=_parse.time(given, "update_time"),
    )


def _outcome(given: cpb.EventOutcome) -> e.EventOutcome:
    return e.EventOutcome(
        event_id=given.event_id,
        state=enum_from_proto(EventState, given.state),
        candidates=tuple(
            e.CandidateResult(
                claim=_parse.optional(one, "claim", _parse.claim),
                text=one.text,
                outcome=enum_from_proto(CandidateOutcome, one.outcome),
                reason=one.reason,
                fact=_parse.optional(one, "fact", _parse.fact),
            )
            for one in given.candidates
        ),
    )


def _event_input(given: e.EventInput) -> cpb.EventInput:
    return cpb.EventInput(
        subject=_requests.entity(given.subject),
        kind=given.kind,
        text=given.text,
        payload=optional_struct(given.payload),
        messages=[
            cpb.EventMessage(role=m.role, name=m.name, text=m.text, time=time_to_proto(m.time))
            for m in given.messages
        ],
        occur_time=time_to_proto(given.occur_time),
        trust=enum_to_proto(given.trust),
        access_scope=given.access_scope,
        domain=given.domain,
        source=_requests.source(given.source),
        tags=given.tags,
        idempotency_key=given.idempotency_key,
        candidates=[_candidate_input(candidate) for candidate in given.candidates],
    )


def _candidate_input(given: e.EventCandidate) -> cpb.EventCandidate:
    return cpb.EventCandidate(
        claim=_requests.claim(given.claim),
        text=given.text,
        type=enum_to_proto(given.type),
        action=enum_to_proto(given.action),
        reject_reason=given.reject_reason,
        confidence=given.confidence,
        valid_from=time_to_proto(given.valid_from),
        valid_to=time_to_proto(given.valid_to),
        volatility=enum_to_proto(given.volatility),
        tags=given.tags,
        evidence=[_requests.evidence(item) for item in given.evidence],
    )

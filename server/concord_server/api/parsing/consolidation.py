"""Events to append, and runs to start."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence

from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import consolidation_pb2

from concord_server.api.enums import (
    CANDIDATE_ACTION,
    EVENT_STATE,
    FACT_TYPE,
    RUN_STAGE,
    TRUST,
    VOLATILITY,
)
from concord_server.api.parsing.fields import (
    parse_entity,
    parse_entity_filter,
    parse_enum,
    parse_enums,
    parse_label,
    parse_time,
)
from concord_server.api.parsing.idempotency import parse_idempotency
from concord_server.api.parsing.statements import parse_claim, parse_evidence, parse_source
from concord_server.api.wellknown import to_json_object
from concord_server.domain.commands import Violations
from concord_server.domain.consolidation import clamped
from concord_server.domain.enums import CandidateAction, FactType, Trust
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.event_search import EventQuery
from concord_server.domain.events import (
    MAX_EVENTS,
    Appended,
    EventCandidate,
    EventFilter,
    EventMessage,
    NewEvent,
)
from concord_server.domain.model import EvidenceInput
from concord_server.domain.runs import ALL_STAGES, Run, RunScope
from concord_server.domain.search import DEFAULT_TOP_K, MAX_TOP_K
from concord_server.domain.text import characters_problem
from concord_server.domain.values import value_problem
from concord_server.services.context import Idempotency

APPEND_METHOD = "concord.v1.ConsolidateService/AppendEvents"
CONSOLIDATE_METHOD = "concord.v1.ConsolidateService/Consolidate"
START_RUN_METHOD = "concord.v1.ConsolidateService/StartRun"


def parse_append(
    request: pb.AppendEventsRequest, encode: Callable[[Sequence[Appended]], bytes]
) -> tuple[list[NewEvent], Idempotency[Sequence[Appended]] | None]:
    """Returns the events of a request, and under which id it may be repeated.

    What can be read is left to the use case to validate. Candidates are never refused here: what is wrong with one
    is kept with it, and told in the run.

    Raises:
        InvalidFieldsError: something cannot be read.
    """
    count = len(request.events)
    if not 1 <= count <= MAX_EVENTS:
        raise InvalidFieldsError.of("events", f"must have 1 to {MAX_EVENTS} items, has {count}")
    found = Violations()
    events = [_event(f"events[{index}]", event, found) for index, event in enumerate(request.events)]
    idempotency = parse_idempotency(APPEND_METHOD, request, request.request_id, encode, found)
    found.raise_if_any()
    return events, idempotency


def _event(name: str, event: consolidation_pb2.EventInput, found: Violations) -> NewEvent:
    return NewEvent(
        subject=parse_entity(f"{name}.subject", event.subject, found),
        kind=event.kind,
        text=event.text,
        payload=to_json_object(event.payload),
        messages=tuple(_message(f"{name}.messages[{i}].", m, found) for i, m in enumerate(event.messages)),
        occur_time=parse_time(event, "occur_time", found, within=f"{name}."),
        trust=parse_enum(f"{name}.trust", event.trust, TRUST, found) or Trust.TRUSTED,
        access_scope=event.access_scope,
        domain=event.domain,
        source=parse_source(f"{name}.source", event.source, found) if event.HasField("source") else None,
        tags=tuple(event.tags),
        idempotency_key=event.idempotency_key,
        candidates=tuple(parse_candidate(candidate) for candidate in event.candidates),
        digest=hashlib.sha256(event.SerializeToString(deterministic=True)).hexdigest(),
        size=event.ByteSize(),
    )


def _message(name: str, message: consolidation_pb2.EventMessage, found: Violations) -> EventMessage:
    return EventMessage(message.role, message.text, message.name, parse_time(message, "time", found, within=name))


def parse_candidate(candidate: consolidation_pb2.EventCandidate) -> EventCandidate:
    """Returns a candidate as given; one that cannot be read or kept has a problem, and nothing else."""
    found = Violations()
    parsed = EventCandidate(
        claim=parse_claim("claim", candidate.claim, found) if candidate.HasField("claim") else None,
        text=candidate.text,
        type=parse_enum("type", candidate.type, FACT_TYPE, found) or FactType.ASSERTION,
        action=parse_enum("action", candidate.action, CANDIDATE_ACTION, found) or CandidateAction.CREATE,
        reject_reason=candidate.reject_reason,
        confidence=clamped(candidate.confidence),
        valid_from=parse_time(candidate, "valid_from", found),
        valid_to=parse_time(candidate, "valid_to", found),
        volatility=parse_enum("volatility", candidate.volatility, VOLATILITY, found),
        tags=tuple(candidate.tags),
        evidence=tuple(parse_evidence("evidence", item, found) for item in candidate.evidence),
    )
    problem = _problem(parsed, found)
    return EventCandidate(action=parsed.action, problem=problem) if problem else parsed


def _problem(candidate: EventCandidate, found: Violations) -> str:
    try:
        found.raise_if_any()
    except InvalidFieldsError as error:
        return f"invalid_{error.violations[0].field.rpartition('.')[2]}"
    claim = candidate.claim
    if claim is not None:
        if value_problem(claim.value):
            return "invalid_value"
        if value_problem(dict(claim.qualifiers)):
            return "invalid_qualifiers"
    if any(characters_problem(text) for text in _texts(candidate)):
        return "invalid_characters"
    if not all(math.isfinite(item.confidence) for item in candidate.evidence):
        return "invalid_confidence"
    return ""


def _texts(candidate: EventCandidate) -> list[str]:
    claim = candidate.claim
    own = [candidate.text, candidate.reject_reason, *candidate.tags]
    said = [claim.subject, claim.predicate] if claim is not None else []
    return [*own, *said, *(text for item in candidate.evidence for text in _texts_of(item))]


def _texts_of(item: EvidenceInput) -> list[str]:
    return [item.quote, item.locator, item.source_kind, item.source_ref, item.extraction_method]


def parse_run(
    method: str, request: pb.ConsolidateRequest | pb.StartRunRequest, encode: Callable[[Run], bytes]
) -> tuple[RunScope, Idempotency[Run] | None]:
    """Returns what to run, and under which id the request may be repeated.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    if request.max_events < 0:
        found.add("max_events", "must not be negative")
    named = parse_enums("stages", request.stages, RUN_STAGE, found)
    scope = RunScope(
        subject=parse_entity_filter(request, "subject", found),
        domain=parse_label("domain", request.domain, found),
        max_events=request.max_events,
        stages=tuple(stage for stage in ALL_STAGES if stage in named or not named),
    )
    idempotency = parse_idempotency(method, request, request.request_id, encode, found)
    found.raise_if_any()
    return scope, idempotency


def parse_search_events(request: pb.SearchEventsRequest) -> EventQuery:
    """Returns what to search for; the use case validates the query itself.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    scoped = request.HasField("access_scope")
    where = EventFilter(
        states=parse_enums("states", request.states, EVENT_STATE, found),
        subject=parse_entity_filter(request, "subject", found),
        access_scope=parse_label("access_scope", request.access_scope, found) if scoped else None,
    )
    if request.top_k < 0:
        found.add("top_k", "must not be negative")
    query = EventQuery(request.query, where, min(request.top_k or DEFAULT_TOP_K, MAX_TOP_K))
    query.validate(found)
    found.raise_if_any()
    return query

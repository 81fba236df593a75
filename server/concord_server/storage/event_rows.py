"""Events to rows and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import (
    CandidateAction,
    Cardinality,
    EventState,
    EvidenceStance,
    FactType,
    Trust,
    Volatility,
)
from concord_server.domain.events import Event, EventCandidate, EventMessage, Failure
from concord_server.domain.model import EntityRef, EvidenceInput, SourceInput
from concord_server.ports.events import Extraction, RejectedCandidate

Document = dict[str, Any]
"""A JSON object."""


def event_values(event: Event, digest: str) -> Document:
    """Returns the columns of a new event as JSON, but for its project."""
    return {
        "event_id": str(event.event_id),
        "subject_type": event.subject.entity_type,
        "subject_id": event.subject.entity_id,
        "kind": event.kind,
        "text": event.text,
        "payload": dict(event.payload),
        "messages": [_message_document(message) for message in event.messages],
        "occur_time": event.occur_time.isoformat(),
        "trust": event.trust.name,
        "access_scope": event.access_scope,
        "domain": event.domain,
        "source": None if event.source is None else _source_document(event.source),
        "tags": list(event.tags),
        "idempotency_key": event.idempotency_key,
        "digest": digest,
        "candidates": [_candidate_document(candidate) for candidate in event.candidates],
        "state": event.state.value,
        "attempts": event.attempts,
        "error_reason": "",
        "error_message": "",
        "create_time": event.create_time.isoformat(),
        "update_time": event.update_time.isoformat(),
    }


def event_from_row(row: Row[Any]) -> Event:
    """Returns the event of a row of ``events``."""
    error = Failure(row.error_reason, row.error_message) if row.error_reason else None
    return Event(
        event_id=row.event_id,
        subject=EntityRef(row.subject_type, row.subject_id),
        kind=row.kind,
        text=row.text,
        payload=row.payload,
        messages=tuple(_message(document) for document in row.messages),
        occur_time=row.occur_time,
        trust=Trust[row.trust],
        access_scope=row.access_scope,
        domain=row.domain,
        source=None if row.source is None else _source(row.source),
        tags=tuple(row.tags),
        idempotency_key=row.idempotency_key,
        candidates=candidates_of(row.candidates),
        create_time=row.create_time,
        update_time=row.update_time,
        state=EventState(row.state),
        attempts=row.attempts,
        last_error=error,
        retry_time=row.retry_time,
        delete_time=row.delete_time,
        partial=row.partial,
    )


def candidates_of(documents: list[Document]) -> tuple[EventCandidate, ...]:
    """Returns the candidates that an event's column holds."""
    return tuple(_candidate(document) for document in documents)


def extraction_document(extraction: Extraction) -> Document:
    """Returns what is kept of an extraction."""
    return {
        "candidates": [_candidate_document(candidate) for candidate in extraction.candidates],
        "rejected": [[one.text, one.reason] for one in extraction.rejected],
        "partial": extraction.partial,
    }


def extraction_from(document: Document) -> Extraction:
    """Returns an extraction as it was kept."""
    rejected = tuple(RejectedCandidate(text, reason) for text, reason in document["rejected"])
    return Extraction(candidates_of(document["candidates"]), rejected, document["partial"])


def _message_document(message: EventMessage) -> Document:
    return {"role": message.role, "name": message.name, "text": message.text, "time": _stamp(message.time)}


def _message(document: Document) -> EventMessage:
    return EventMessage(document["role"], document["text"], document["name"], _moment(document["time"]))


def _source_document(source: SourceInput) -> Document:
    return {
        "source_type": source.source_type,
        "url": source.url,
        "title": source.title,
        "external_id": source.external_id,
        "credibility": source.credibility,
        "extract_time": _stamp(source.extract_time),
        "trust": source.trust.name,
        "metadata": dict(source.metadata),
    }


def _source(document: Document) -> SourceInput:
    return SourceInput(
        **{
            **document,
            "extract_time": _moment(document["extract_time"]),
            "trust": Trust[document["trust"]],
        }
    )


def _candidate_document(candidate: EventCandidate) -> Document:
    return {
        "claim": None if candidate.claim is None else _claim_document(candidate.claim),
        "text": candidate.text,
        "type": candidate.type.value,
        "action": candidate.action.value,
        "reject_reason": candidate.reject_reason,
        "confidence": candidate.confidence,
        "valid_from": _stamp(candidate.valid_from),
        "valid_to": _stamp(candidate.valid_to),
        "volatility": None if candidate.volatility is None else candidate.volatility.value,
        "tags": list(candidate.tags),
        "evidence": [_evidence_document(item) for item in candidate.evidence],
        "problem": candidate.problem,
    }


def _candidate(document: Document) -> EventCandidate:
    volatility = document["volatility"]
    return EventCandidate(
        claim=None if document["claim"] is None else _claim(document["claim"]),
        text=document["text"],
        type=FactType(document["type"]),
        action=CandidateAction(document["action"]),
        reject_reason=document["reject_reason"],
        confidence=document["confidence"],
        valid_from=_moment(document["valid_from"]),
        valid_to=_moment(document["valid_to"]),
        volatility=None if volatility is None else Volatility(volatility),
        tags=tuple(document["tags"]),
        evidence=tuple(_evidence(item) for item in document["evidence"]),
        problem=document["problem"],
    )


def _claim_document(claim: ClaimInput) -> Document:
    return {
        "subject": claim.subject,
        "predicate": claim.predicate,
        "value": claim.value,
        "qualifiers": dict(claim.qualifiers),
        "cardinality": None if claim.cardinality is None else claim.cardinality.value,
    }


def _claim(document: Mapping[str, Any]) -> ClaimInput:
    cardinality = document["cardinality"]
    return ClaimInput(**{**document, "cardinality": None if cardinality is None else Cardinality(cardinality)})


def _evidence_document(item: EvidenceInput) -> Document:
    return {
        "stance": item.stance.value,
        "quote": item.quote,
        "locator": item.locator,
        "source_kind": item.source_kind,
        "source_ref": item.source_ref,
        "confidence": item.confidence,
        "extraction_method": item.extraction_method,
    }


def _evidence(document: Document) -> EvidenceInput:
    return EvidenceInput(**{**document, "stance": EvidenceStance(document["stance"])})


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(stamp: str | None) -> datetime | None:
    return None if stamp is None else datetime.fromisoformat(stamp)

"""What a candidate of an event is to the ledger: refused with a reason, or a statement to be placed.

A candidate is admitted as a :class:`~concord_server.domain.commands.ReconcileCommand` whose partition and links
come from its event alone; :func:`concord_server.domain.placement.place` then decides what it does to its slot. So
both ways into the ledger share one set of rules.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from concord_server.domain.commands import ClaimInput, ReconcileCommand, Violations, validate_reconcile
from concord_server.domain.confidence import event_credibility
from concord_server.domain.enums import CandidateAction, CandidateOutcome, ContradictionPolicy, EventState
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.events import Event, EventCandidate
from concord_server.domain.model import EntityRef, EvidenceInput, SourceInput, Thresholds
from concord_server.domain.placement import Outcome
from concord_server.domain.values import Json, canonical, normalise_predicate, normalise_subject

SOURCE_TYPE = "event"
"""Type of the source that an event is to its facts."""

MAX_VALUE_BYTES = 4 << 10
"""Longest value of a candidate's claim, as JSON."""

MAX_ATTEMPTS = 5
"""How often an event is taken up before it is given up."""

FIRST_DELAY = timedelta(seconds=10)
"""How long a failed event rests after its first attempt; twice as long after each further one."""

_MAX_REASON = 256
_OUTCOMES = {outcome: CandidateOutcome[outcome.name] for outcome in Outcome}


@dataclass(frozen=True, slots=True)
class Rejection:
    """A candidate that is refused; ``reason`` is a word in lower snake case, or what its sender gave."""

    reason: str


def admit(
    event: Event, candidate: EventCandidate, policy: ContradictionPolicy = ContradictionPolicy.CONFLICT
) -> ReconcileCommand | Rejection:
    """Returns the statement that a candidate makes, or why it is refused.

    Args:
        event: where it comes from; decides owner, domain, access scope, trust and time.
        candidate: as given; nothing about it is trusted.
        policy: what a candidate that does not supersede does against another value.
    """
    refused = _refusal(candidate)
    if refused is not None:
        return Rejection(refused)
    assert candidate.claim is not None
    claim = candidate.claim
    if not claim.subject.strip():
        claim = replace(claim, subject=event.subject.entity_id)
    supersedes = candidate.action is CandidateAction.SUPERSEDE
    command = ReconcileCommand(
        text=candidate.text.strip() or rendered(claim),
        type=candidate.type,
        domain=event.domain,
        access_scope=event.access_scope,
        owner=EntityRef(event.subject.entity_type, event.subject.entity_id),
        claim=claim,
        source=source_of(event),
        evidence=_evidence(event, candidate),
        tags=tuple(dict.fromkeys((*event.tags, *candidate.tags))),
        observe_time=event.occur_time,
        valid_from=candidate.valid_from,
        valid_to=candidate.valid_to,
        contradiction_policy=ContradictionPolicy.SUPERSEDE if supersedes else policy,
        volatility=candidate.volatility,
    )
    found = Violations()
    validate_reconcile(command, Thresholds(), event.occur_time, found)
    try:
        found.raise_if_any()
    except InvalidFieldsError as error:
        return Rejection(_reason(error.violations[0].field))
    return command


def _refusal(candidate: EventCandidate) -> str | None:
    if candidate.action is CandidateAction.REJECT:
        return candidate.reject_reason.strip()[:_MAX_REASON] or "rejected_by_sender"
    if candidate.problem:
        return candidate.problem
    claim = candidate.claim
    if claim is None:
        return "missing_claim"
    if claim.value is None:
        return "missing_value"
    if len(json.dumps(claim.value, ensure_ascii=False).encode("utf-8", "surrogatepass")) > MAX_VALUE_BYTES:
        return "value_too_large"
    return None


def _reason(field: str) -> str:
    """Returns the reason for a bad field: ``claim.predicate`` is ``invalid_predicate``."""
    name = field.rpartition(".")[2].partition("[")[0]
    return "invalid_interval" if name == "valid_to" else f"invalid_{name}"


def source_of(event: Event) -> SourceInput:
    """Returns the one source that an event is to all its facts; what it comes from itself is told with it."""
    given = event.source
    metadata: dict[str, Json] = {"kind": event.kind} if event.kind else {}
    if given is None:
        return SourceInput(
            source_type=SOURCE_TYPE,
            external_id=str(event.event_id),
            credibility=event_credibility(event.trust),
            extract_time=event.occur_time,
            trust=event.trust,
            metadata=metadata,
        )
    origin: dict[str, Json] = {"source_type": given.source_type, "external_id": given.external_id}
    metadata |= {f"origin_{name}": value for name, value in origin.items() if value}
    return SourceInput(
        source_type=SOURCE_TYPE,
        url=given.url,
        title=given.title,
        external_id=str(event.event_id),
        credibility=event_credibility(event.trust) if given.credibility is None else given.credibility,
        extract_time=given.extract_time or event.occur_time,
        trust=event.trust,
        metadata={**given.metadata, **metadata},
    )


def _evidence(event: Event, candidate: EventCandidate) -> tuple[EvidenceInput, ...]:
    """Returns the candidate's evidence with its confidence; without any, the event itself is the evidence."""
    confidence = clamped(candidate.confidence)
    if candidate.evidence:
        return tuple(
            item if item.confidence else replace(item, confidence=confidence) for item in candidate.evidence
        )
    return (EvidenceInput(source_kind=SOURCE_TYPE, source_ref=str(event.event_id), confidence=confidence),)


def clamped(confidence: float) -> float:
    """Returns a confidence within [0, 1]; what is no number counts for nothing."""
    return min(max(confidence, 0.0), 1.0) if math.isfinite(confidence) else 0.0


def rendered(claim: ClaimInput) -> str:
    """Returns a claim in words: subject, predicate, value ("u1 favorite color blue")."""
    words = normalise_predicate(claim.predicate).replace("_", " ")
    return " ".join(part for part in (claim.subject.strip(), words, _in_words(claim.value)) if part)


def _in_words(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_in_words(item)}" for key, item in value.items() if item is not None)
    if isinstance(value, list):
        return ", ".join(_in_words(item) for item in value)
    return "" if value is None else str(value).strip()


def candidate_key(event: Event, candidate: EventCandidate) -> str:
    """Returns a digest that is equal for candidates of an event that say the same, whatever their wording."""
    claim = candidate.claim
    parts: list[Json] = [candidate.type.value, candidate.action.value]
    parts += [_stamp(candidate.valid_from or event.occur_time), _stamp(candidate.valid_to)]
    if claim is not None:
        subject = normalise_subject(claim.subject.strip() or event.subject.entity_id)
        parts += [subject, normalise_predicate(claim.predicate)]
        parts += [canonical(claim.value), canonical(dict(claim.qualifiers))]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _stamp(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat()


def outcome_of(outcome: Outcome) -> CandidateOutcome:
    """Returns what the placing of a statement means for its candidate."""
    return _OUTCOMES[outcome]


@dataclass(frozen=True, slots=True)
class Setback:
    """What becomes of an event whose attempt failed; ``retry_time`` is ``None`` when it is given up."""

    state: EventState
    retry_time: datetime | None


def setback(attempts: int, now: datetime) -> Setback:
    """Returns what becomes of an event whose attempt number ``attempts`` (from 1) failed."""
    if attempts >= MAX_ATTEMPTS:
        return Setback(EventState.DEAD, None)
    return Setback(EventState.FAILED, now + FIRST_DELAY * 2 ** (attempts - 1))

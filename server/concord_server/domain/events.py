"""Events: what happened, from which facts are taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from concord_server.domain.commands import (
    MAX_LABEL,
    MAX_TAGS,
    OBSERVE_TIME_TOLERANCE,
    ClaimInput,
    Violations,
    validate_entity,
    validate_source,
)
from concord_server.domain.enums import CandidateAction, EventState, FactType, Trust, Volatility
from concord_server.domain.model import EntityRef, EvidenceInput, SourceInput
from concord_server.domain.text import characters_problem, label_problem, required_label_problem
from concord_server.domain.values import Json, value_problem

MAX_EVENTS = 500
"""Events that are appended at once at most."""

MAX_EVENT_BYTES = 256 << 10
"""Size of one event at most, as received."""

MAX_KIND = 128


@dataclass(frozen=True, slots=True)
class EventMessage:
    """One turn of a conversation; ``role`` is "user", "assistant", "system" or "tool"."""

    role: str
    text: str
    name: str = ""
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class EventCandidate:
    """A statement taken from an event, by its sender or by a model; judged when the event is worked.

    Attributes:
        text: the wording; empty where it is to be made from the claim.
        confidence: of the extraction. It stays with the evidence and is not mixed into the fact's.
        valid_from: ``None`` is the event's time.
        volatility: ``None`` leaves it to what is known, else STABLE.
        problem: why it cannot be read ("unknown type"); empty where it can.
    """

    claim: ClaimInput | None = None
    text: str = ""
    type: FactType = FactType.ASSERTION
    action: CandidateAction = CandidateAction.CREATE
    reject_reason: str = ""
    confidence: float = 0.0
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    volatility: Volatility | None = None
    tags: tuple[str, ...] = ()
    evidence: tuple[EvidenceInput, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event as it is handed over, validated by :func:`validate_event`.

    Attributes:
        occur_time: ``None`` is now.
        trust: as the caller says; its credential caps it.
        digest: of the event as received, before defaults: what an idempotency key stands for.
        size: in bytes, as received.
    """

    subject: EntityRef
    kind: str = ""
    text: str = ""
    payload: Mapping[str, Json] = field(default_factory=dict)
    messages: tuple[EventMessage, ...] = ()
    occur_time: datetime | None = None
    trust: Trust = Trust.TRUSTED
    access_scope: str = ""
    domain: str = ""
    source: SourceInput | None = None
    tags: tuple[str, ...] = ()
    idempotency_key: str = ""
    candidates: tuple[EventCandidate, ...] = ()
    digest: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt or a run failed: the reason of a public error, and a sentence for people."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Event:
    """An event as stored. All but its state is immutable.

    Attributes:
        attempts: how often it was taken up.
        retry_time: when a failed one may be taken up again.
        partial: whether a model's answer about it was cut off, so that facts may be missing.
    """

    event_id: UUID
    subject: EntityRef
    kind: str
    text: str
    payload: Mapping[str, Json]
    messages: tuple[EventMessage, ...]
    occur_time: datetime
    trust: Trust
    access_scope: str
    domain: str
    source: SourceInput | None
    tags: tuple[str, ...]
    idempotency_key: str
    candidates: tuple[EventCandidate, ...]
    create_time: datetime
    update_time: datetime
    state: EventState = EventState.PENDING
    attempts: int = 0
    last_error: Failure | None = None
    retry_time: datetime | None = None
    delete_time: datetime | None = None
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of one event of an append: its id, and whether it was known already."""

    event_id: UUID
    duplicate: bool


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events a list is about; empty fields do not restrict.

    Attributes:
        access_scope: ``None`` for every scope, "" for unscoped events alone.
    """

    states: tuple[EventState, ...] = ()
    subject: EntityRef | None = None
    domain: str | None = None
    access_scope: str | None = None


def recorded(new: NewEvent, event_id: UUID, trust_cap: Trust, now: datetime) -> Event:
    """Returns a new event as it is stored, with its defaults."""
    return Event(
        event_id=event_id,
        subject=new.subject,
        kind=new.kind,
        text=new.text,
        payload=new.payload,
        messages=new.messages,
        occur_time=new.occur_time or now,
        trust=min(new.trust, trust_cap),
        access_scope=new.access_scope,
        domain=new.domain,
        source=new.source,
        tags=new.tags,
        idempotency_key=new.idempotency_key,
        candidates=new.candidates,
        create_time=now,
        update_time=now,
    )


def validate_events(events: Sequence[NewEvent], now: datetime, found: Violations) -> None:
    """Adds everything that is wrong with events to ``found``. Candidates are judged in the run."""
    if not 1 <= len(events) <= MAX_EVENTS:
        found.add("events", f"must have 1 to {MAX_EVENTS} items, has {len(events)}")
    for index, event in enumerate(events[:MAX_EVENTS]):
        validate_event(f"events[{index}]", event, now, found)


def validate_event(name: str, event: NewEvent, now: datetime, found: Violations) -> None:
    """Adds what is wrong with one event."""
    validate_entity(f"{name}.subject", event.subject, found)
    if event.size > MAX_EVENT_BYTES:
        found.add(name, f"must have at most {MAX_EVENT_BYTES} bytes, has {event.size}")
    if not (event.text.strip() or event.payload or event.messages or event.candidates):
        found.add(name, "must have a text, a payload, messages or candidates")
    found.add(f"{name}.kind", label_problem(event.kind, max_length=MAX_KIND))
    found.add(f"{name}.text", characters_problem(event.text))
    found.add(f"{name}.payload", value_problem(dict(event.payload)))
    for position, message in enumerate(event.messages):
        for part, text in (("role", message.role), ("name", message.name), ("text", message.text)):
            found.add(f"{name}.messages[{position}].{part}", characters_problem(text))
    if event.occur_time is not None and event.occur_time > now + OBSERVE_TIME_TOLERANCE:
        found.add(f"{name}.occur_time", "must be at most 5 minutes ahead")
    found.add(f"{name}.access_scope", label_problem(event.access_scope, max_length=MAX_LABEL))
    found.add(f"{name}.domain", label_problem(event.domain, max_length=MAX_LABEL))
    found.add(f"{name}.idempotency_key", label_problem(event.idempotency_key, max_length=MAX_LABEL))
    if event.source is not None:
        validate_source(f"{name}.source", event.source, found)
    for position, tag in enumerate(event.tags):
        found.add(f"{name}.tags[{position}]", required_label_problem(tag, max_length=MAX_LABEL))
    if len(event.tags) > MAX_TAGS:
        found.add(f"{name}.tags", f"must have at most {MAX_TAGS} items, has {len(event.tags)}")

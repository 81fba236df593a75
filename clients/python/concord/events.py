"""Events, the runs that work them, and what runs tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta

from concord._convert import JsonValue
from concord.enums import (
    CandidateAction,
    CandidateOutcome,
    EventState,
    FactType,
    ObservationAction,
    RunStage,
    RunState,
    Trust,
    Volatility,
)
from concord.inputs import Claim, EntityRef, EvidenceInput, SourceInput
from concord.resources import Fact, Observation


@dataclass(frozen=True, slots=True)
class EventMessage:
    """One turn of a conversation; ``role`` is "user", "assistant", "system" or "tool"."""

    role: str
    text: str
    name: str = ""
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class EventCandidate:
    """A statement that the caller took from an event.

    Attributes:
        claim: the structured form; indispensable unless rejected.
        text: the wording; made from the claim if empty.
        action: UNSPECIFIED means CREATE, which waits for review against another value.
        confidence: of the extraction, in [0, 1].
        valid_from: None means the event's time.
    """

    claim: Claim | None = None
    _: KW_ONLY
    text: str = ""
    type: FactType = FactType.UNSPECIFIED
    action: CandidateAction = CandidateAction.UNSPECIFIED
    reject_reason: str = ""
    confidence: float = 0.0
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    volatility: Volatility = Volatility.UNSPECIFIED
    tags: Sequence[str] = ()
    evidence: Sequence[EvidenceInput] = ()


@dataclass(frozen=True, slots=True)
class EventInput:
    """Something that happened, at most 256 KiB; at least one of text, payload, messages and candidates.

    Attributes:
        subject: whom it is about; owner of the facts that come out of it.
        occur_time: None means now.
        trust: UNSPECIFIED means TRUSTED, capped by the credential.
        idempotency_key: unique in the project: the same key and content is the same event.
        candidates: with some, no model is asked.
    """

    subject: EntityRef
    _: KW_ONLY
    kind: str = ""
    text: str = ""
    payload: Mapping[str, JsonValue] = field(default_factory=dict)
    messages: Sequence[EventMessage] = ()
    occur_time: datetime | None = None
    trust: Trust = Trust.UNSPECIFIED
    access_scope: str = ""
    domain: str = ""
    source: SourceInput | None = None
    tags: Sequence[str] = ()
    idempotency_key: str = ""
    candidates: Sequence[EventCandidate] = ()


@dataclass(frozen=True, slots=True)
class RunScope:
    """What a run works on; empty fields do not restrict. ``validate_only`` plans and writes no fact."""

    subject: EntityRef | None = None
    domain: str = ""
    max_events: int = 0
    stages: Sequence[RunStage] = ()
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedEvent:
    """What became of one event of ``append_events``."""

    event_id: str
    duplicate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event as stored.

    Attributes:
        last_error: why the last attempt failed, empty otherwise.
        partial: whether the model's answer about it was cut off, so that facts may be missing.
    """

    event_id: str
    subject: EntityRef
    kind: str
    text: str
    payload: Mapping[str, JsonValue]
    messages: tuple[EventMessage, ...]
    occur_time: datetime | None
    trust: Trust
    access_scope: str
    domain: str
    tags: tuple[str, ...]
    idempotency_key: str
    state: EventState
    attempts: int
    last_error: str
    retry_time: datetime | None
    create_time: datetime | None
    update_time: datetime | None
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMatch:
    """An event that was found.

    Attributes:
        similarity: cosine with the query, in [-1, 1]; 0 while the event or the query has no embedding.
        text_rank: how well its words match, 0 when none does.
        score: what the order goes by, the fusion of both rankings.
    """

    event: Event
    similarity: float
    text_rank: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come: events and facts worked, candidates by outcome, observations by action.

    Attributes:
        eta: None while unknown.
    """

    total: int
    processed: int
    created: int
    reinforced: int
    superseded: int
    historical: int
    conflicted: int
    suppressed: int
    duplicate: int
    rejected: int
    failed: int
    eta: timedelta | None
    observations_created: int = 0
    observations_updated: int = 0
    observations_merged: int = 0
    observations_retired: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Background work over events.

    Attributes:
        error: why it could not go on, empty otherwise.
        error_reason: the same as a word of the contract, such as "NO_MODEL", "RATE_LIMITED" or "BUDGET_EXHAUSTED".
        retry_time: from when another run may go on, for RATE_LIMITED.
    """

    run_id: str
    state: RunState
    stages: tuple[RunStage, ...]
    progress: Progress
    error: str
    create_time: datetime | None
    start_time: datetime | None
    end_time: datetime | None
    error_reason: str = ""
    retry_time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateResult:
    """What became of one candidate; ``fact`` carries it, None where there is none."""

    claim: Claim | None
    text: str
    outcome: CandidateOutcome
    reason: str
    fact: Fact | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutcome:
    """What became of one event."""

    event_id: str
    state: EventState
    candidates: tuple[CandidateResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationOutcome:
    """What became of one observation, and why; it is as it is when this is read."""

    action: ObservationAction
    observation: Observation
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMessage:
    """One message of a run: the run, its progress, what became of an event or an observation.

    Attributes:
        last: with the run as it ended.
    """

    sequence: int
    update: Run | Progress | EventOutcome | ObservationOutcome | None
    last: bool

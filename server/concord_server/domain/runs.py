"""Runs: background work over events, and what it tells as it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import CandidateOutcome, EventState, ObservationAction, RunStage, RunState
from concord_server.domain.events import Failure
from concord_server.domain.model import Claim, EntityRef, Fact
from concord_server.domain.observations import Observation

ALL_STAGES = (RunStage.EXTRACT, RunStage.OBSERVE)
"""The stages of a run that names none, in their order."""

UNFINISHED = frozenset({RunState.QUEUED, RunState.RUNNING})
"""States in which a run still takes up work."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of a run or a stage; ``total`` and ``processed`` are events of EXTRACT, facts of OBSERVE.

    Attributes:
        failed: of those processed.
    """

    total: int = 0
    processed: int = 0
    created: int = 0
    reinforced: int = 0
    superseded: int = 0
    historical: int = 0
    conflicted: int = 0
    suppressed: int = 0
    duplicate: int = 0
    rejected: int = 0
    failed: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def plus(self, other: Progress) -> Progress:
        """Returns the sums of both."""
        return Progress(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


COUNTS = tuple(f.name for f in fields(Progress))
"""Names of the counts."""


@dataclass(frozen=True, slots=True)
class ObserveProgress:
    """Counts of the stage OBSERVE; ``total``, ``processed`` and ``failed`` are facts.

    Attributes:
        rejected: parts of answers that were not followed.
    """

    total: int = 0
    processed: int = 0
    failed: int = 0
    rejected: int = 0
    observations_created: int = 0
    observations_updated: int = 0
    observations_merged: int = 0
    observations_retired: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


OBSERVE_COUNTS = tuple(f.name for f in fields(ObserveProgress))
"""Names of the counts of the stage OBSERVE."""


def progress_of(outcomes: Sequence[CandidateOutcome], *, failed: bool = False) -> Progress:
    """Returns what one event adds to its run's counts."""
    counted = {outcome.value.lower(): outcomes.count(outcome) for outcome in CandidateOutcome}
    return replace(Progress(processed=1, failed=int(failed)), **counted)


def eta(progress: Progress | ObserveProgress, started: datetime | None, now: datetime) -> timedelta | None:
    """Returns the time left at the pace so far, ``None`` while there is no pace."""
    if started is None or progress.processed == 0:
        return None
    left = max(progress.total - progress.processed, 0)
    return (now - started) / progress.processed * left


@dataclass(frozen=True, slots=True)
class RunScope:
    """What a run works on; empty fields do not restrict.

    Attributes:
        max_events: 0 for all that wait.
    """

    subject: EntityRef | None = None
    domain: str = ""
    max_events: int = 0
    stages: tuple[RunStage, ...] = ALL_STAGES


@dataclass(frozen=True, slots=True)
class Run:
    """Background work over events.

    Attributes:
        run_id: ``None`` for a dry run that is not stored.
        extract: counts of the stage EXTRACT.
        observe: counts of the stage OBSERVE.
        error: why it could not go on, for FAILED and RATE_LIMITED.
        retry_time: from when another run may go on, for RATE_LIMITED.
    """

    run_id: UUID | None
    state: RunState
    scope: RunScope
    create_time: datetime
    validate_only: bool = False
    extract: Progress = Progress()
    observe: ObserveProgress = ObserveProgress()
    error: Failure | None = None
    retry_time: datetime | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None

    @property
    def worked(self) -> Progress:
        """Units of all stages together, for the time that is left."""
        return Progress(
            total=self.extract.total + self.observe.total,
            processed=self.extract.processed + self.observe.processed,
        )


@dataclass(frozen=True, slots=True)
class Interruption:
    """Why a run cannot go on; what it has not done yet waits as before.

    Attributes:
        state: RATE_LIMITED where it helps to wait, else FAILED.
        retry_time: from when another run may go on, for RATE_LIMITED.
    """

    state: RunState
    error: Failure
    retry_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """What became of one candidate.

    Attributes:
        claim: as it was given or normalised; ``None`` once the fact that carries it is erased.
        reason: why, for a rejection, a conflict and the like.
        fact: that carries it; ``None`` when there is none, or none is stored.
    """

    outcome: CandidateOutcome
    claim: Claim | ClaimInput | None = None
    text: str = ""
    reason: str = ""
    fact: Fact | None = None


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """What became of one event; ``candidates`` are in the event's order."""

    event_id: UUID
    state: EventState
    candidates: tuple[CandidateResult, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservationOutcome:
    """What became of one observation; it is as it is read, not as it was then."""

    action: ObservationAction
    observation: Observation
    reason: str = ""


class MessageKind(StrEnum):
    """What a message of a run's stream tells."""

    RUN = "RUN"
    PROGRESS = "PROGRESS"
    OUTCOME = "OUTCOME"
    OBSERVATION = "OBSERVATION"
    SUMMARY = "SUMMARY"


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """How far a run had come; ``left`` is the time left, where it can be told."""

    progress: Progress
    left: timedelta | None = None
    observe: ObserveProgress = ObserveProgress()


@dataclass(frozen=True, slots=True)
class RunMessage:
    """One message of a run's stream.

    Attributes:
        sequence: strictly increasing within the run, from 1.
        update: the run as it started, how far it has come, what became of an event or an observation,
            or the run as it ended.
        last: whether the stream ends with it.
    """

    sequence: int
    update: Run | ProgressReport | EventOutcome | ObservationOutcome
    last: bool = False

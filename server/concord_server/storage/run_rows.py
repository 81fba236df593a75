"""Runs and their messages to rows and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row

from concord_server.domain.consolidation import rendered
from concord_server.domain.enums import (
    CandidateOutcome,
    EventState,
    FactStatus,
    ObservationAction,
    RunStage,
    RunState,
)
from concord_server.domain.events import EventCandidate, Failure
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.observations import Observation
from concord_server.domain.runs import (
    COUNTS,
    OBSERVE_COUNTS,
    CandidateResult,
    EventOutcome,
    MessageKind,
    ObservationOutcome,
    ObserveProgress,
    Progress,
    ProgressReport,
    Run,
    RunMessage,
    RunScope,
)
from concord_server.ports.events import Settled
from concord_server.ports.observations import Told
from concord_server.storage.event_rows import Document


def run_values(run: Run, actor: str) -> Document:
    """Returns the columns of a new run, but for its project."""
    subject = run.scope.subject
    return {
        "run_id": run.run_id,
        "actor": actor,
        "state": run.state.value,
        "stages": [stage.value for stage in run.scope.stages],
        "subject_type": subject.entity_type if subject else "",
        "subject_id": subject.entity_id if subject else "",
        "domain": run.scope.domain,
        "max_events": run.scope.max_events,
        "validate_only": run.validate_only,
        **counts_of(run.extract),
        "observing": False,
        **{f"observe_{name}": count for name, count in observe_counts_of(run.observe).items()},
        "error_reason": run.error.reason if run.error else "",
        "error_message": run.error.message if run.error else "",
        "retry_time": run.retry_time,
        "create_time": run.create_time,
        "start_time": run.start_time,
        "end_time": run.end_time,
        "sequence": 0,
        "progress_time": None,
        "told": False,
    }


def run_from_row(row: Row[Any]) -> Run:
    """Returns the run of a row of ``runs``."""
    scope = RunScope(
        subject=EntityRef(row.subject_type, row.subject_id) if row.subject_type else None,
        domain=row.domain,
        max_events=row.max_events,
        stages=tuple(RunStage(stage) for stage in row.stages),
    )
    return Run(
        run_id=row.run_id,
        state=RunState(row.state),
        scope=scope,
        create_time=row.create_time,
        validate_only=row.validate_only,
        extract=Progress(*(getattr(row, name) for name in COUNTS)),
        observe=ObserveProgress(*(getattr(row, f"observe_{name}") for name in OBSERVE_COUNTS)),
        error=Failure(row.error_reason, row.error_message) if row.error_reason else None,
        retry_time=row.retry_time,
        start_time=row.start_time,
        end_time=row.end_time,
    )


def counts_of(progress: Progress) -> dict[str, int]:
    """Returns the counts by name."""
    return {name: getattr(progress, name) for name in COUNTS}


def observe_counts_of(progress: ObserveProgress) -> dict[str, int]:
    """Returns the counts of the stage OBSERVE by name."""
    return {name: getattr(progress, name) for name in OBSERVE_COUNTS}


def run_document(run: Run) -> Document:
    """Returns what a message about a run keeps: what changes about it."""
    return {
        "state": run.state.value,
        "progress": counts_of(run.extract),
        "observe": observe_counts_of(run.observe),
        "error": [run.error.reason, run.error.message] if run.error else None,
        "retry_time": _stamp(run.retry_time),
        "start_time": _stamp(run.start_time),
        "end_time": _stamp(run.end_time),
    }


def progress_document(run: Run, left: timedelta | None) -> Document:
    """Returns what a message about a run's progress keeps."""
    return {
        "progress": counts_of(run.extract),
        "observe": observe_counts_of(run.observe),
        "left": None if left is None else left.total_seconds(),
    }


def observation_document(told: Told) -> Document:
    """Returns what a message about an observation keeps: no words, so that erasing reaches it."""
    return {
        "action": told.action.value,
        "observation_id": str(told.observation_id),
        "version": told.version,
        "code": told.code,
    }


def outcome_document(event_id: UUID, state: EventState, settled: Sequence[Settled]) -> Document:
    """Returns what a message about an event keeps: no words, so that erasing facts reaches it."""
    candidates = [[one.outcome.value, one.reason, str(one.fact_id) if one.fact_id else None] for one in settled]
    return {"event_id": str(event_id), "state": state.value, "candidates": candidates}


def facts_in(row: Row[Any]) -> list[UUID]:
    """Returns the facts that a message names."""
    if row.kind != MessageKind.OUTCOME.value:
        return []
    return [UUID(fact_id) for _, _, fact_id in row.payload["candidates"] if fact_id]


def observations_in(row: Row[Any]) -> list[tuple[UUID, int]]:
    """Returns the observation that a message names, with its version."""
    if row.kind != MessageKind.OBSERVATION.value:
        return []
    return [(UUID(row.payload["observation_id"]), row.payload["version"])]


@dataclass(frozen=True, slots=True)
class Observed:
    """Observations by id, and why versions of them were written."""

    observations: Mapping[UUID, Observation] = field(default_factory=dict)
    reasons: Mapping[tuple[UUID, int], str] = field(default_factory=dict)


def message_from_row(
    row: Row[Any],
    run: Run,
    candidates: Mapping[UUID, Mapping[int, EventCandidate]],
    facts: dict[UUID, Fact],
    observed: Observed,
) -> RunMessage:
    """Returns a message of a run.

    Args:
        row: of ``run_messages``.
        run: as it is now.
        candidates: of the events that the page names, by their position in the outcome.
        facts: that the page names, as they are now.
        observed: the observations that the page names, as they are now, and why their versions were written.
    """
    payload: Document = row.payload
    update: Run | ProgressReport | EventOutcome | ObservationOutcome
    if row.kind == MessageKind.PROGRESS.value:
        left = payload["left"]
        update = ProgressReport(
            Progress(**payload["progress"]),
            None if left is None else timedelta(seconds=left),
            ObserveProgress(**payload.get("observe", {})),
        )
    elif row.kind == MessageKind.OUTCOME.value:
        update = _outcome(payload, candidates, facts)
    elif row.kind == MessageKind.OBSERVATION.value:
        observation_id = UUID(payload["observation_id"])
        reason = payload["code"] or observed.reasons.get((observation_id, payload["version"]), "")
        action = ObservationAction(payload["action"])
        update = ObservationOutcome(action, observed.observations[observation_id], reason)
    else:
        update = _run_then(payload, run)
    return RunMessage(row.sequence, update, last=row.kind == MessageKind.SUMMARY.value)


def _run_then(payload: Document, run: Run) -> Run:
    return Run(
        run_id=run.run_id,
        state=RunState(payload["state"]),
        scope=run.scope,
        create_time=run.create_time,
        validate_only=run.validate_only,
        extract=Progress(**payload["progress"]),
        observe=ObserveProgress(**payload.get("observe", {})),
        error=Failure(*payload["error"]) if payload["error"] else None,
        retry_time=_moment(payload["retry_time"]),
        start_time=_moment(payload["start_time"]),
        end_time=_moment(payload["end_time"]),
    )


def _outcome(
    payload: Document, candidates: Mapping[UUID, Mapping[int, EventCandidate]], facts: dict[UUID, Fact]
) -> EventOutcome:
    event_id = UUID(payload["event_id"])
    given = candidates.get(event_id, {})
    results = []
    for position, (outcome, reason, fact_id) in enumerate(payload["candidates"]):
        fact = facts.get(UUID(fact_id)) if fact_id else None
        candidate = given.get(position) or EventCandidate()
        results.append(result_of(candidate, Settled("", CandidateOutcome(outcome), reason), fact))
    return EventOutcome(event_id, EventState(payload["state"]), tuple(results))


def result_of(candidate: EventCandidate, settled: Settled, fact: Fact | None) -> CandidateResult:
    """Returns what became of a candidate; its words are left out once the fact that carried them is erased.

    What a model took from an event has its words from the fact that carries it.
    """
    erased = fact is not None and fact.status is FactStatus.DELETED
    claim = None if erased else candidate.claim
    text = candidate.text or ("" if claim is None else rendered(claim))
    if fact is not None and not (erased or claim or text):
        return CandidateResult(settled.outcome, fact.claim, fact.text, settled.reason, fact)
    return CandidateResult(
        outcome=settled.outcome,
        claim=claim,
        text="" if erased else text,
        reason=settled.reason,
        fact=fact,
    )


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(stamp: str | None) -> datetime | None:
    return None if stamp is None else datetime.fromisoformat(stamp)

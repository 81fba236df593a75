"""Failures that callers can act on; each carries the ``reason`` of the public ``ErrorReason`` enum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One bad field of a request: its path (``source.credibility``) and what is wrong with it."""

    field: str
    description: str


class ConcordError(Exception):
    """Base of every failure that leaves the service with a reason of its own."""

    reason: ClassVar[str] = "INTERNAL"


class InvalidFieldsError(ConcordError):
    """A request has bad fields; nothing was read or written."""

    reason = "INVALID_FIELD"

    def __init__(self, violations: Sequence[FieldViolation]) -> None:
        super().__init__("; ".join(f"{v.field}: {v.description}" for v in violations))
        self.violations = tuple(violations)

    @classmethod
    def of(cls, field: str, description: str) -> InvalidFieldsError:
        """Returns the error for one bad field."""
        return cls([FieldViolation(field, description)])


class InvalidPageTokenError(InvalidFieldsError):
    """A page token is malformed or belongs to another request."""

    reason = "INVALID_PAGE_TOKEN"


class PartitionMismatchError(InvalidFieldsError):
    """A request names another partition than the fact it builds on."""

    reason = "PARTITION_MISMATCH"


class NotFoundError(ConcordError):
    """The named resource does not exist in this project."""

    def __init__(self, kind: str, identifier: str) -> None:
        super().__init__(f"{kind} {identifier} does not exist")
        self.kind = kind
        self.identifier = identifier


class FactNotFoundError(NotFoundError):
    """No such fact."""

    reason = "FACT_NOT_FOUND"

    def __init__(self, identifier: str) -> None:
        super().__init__("fact", identifier)


class ConflictNotFoundError(NotFoundError):
    """No such conflict."""

    reason = "CONFLICT_NOT_FOUND"

    def __init__(self, identifier: str) -> None:
        super().__init__("conflict", identifier)


class DecisionNotFoundError(NotFoundError):
    """No such decision, or it was erased."""

    reason = "DECISION_NOT_FOUND"

    def __init__(self, identifier: str) -> None:
        super().__init__("decision", identifier)


class EventNotFoundError(NotFoundError):
    """No such event."""

    reason = "EVENT_NOT_FOUND"

    def __init__(self, identifier: str) -> None:
        super().__init__("event", identifier)


class ObservationNotFoundError(NotFoundError):
    """No such observation."""

    reason = "OBSERVATION_NOT_FOUND"

    def __init__(self, identifier: str) -> None:
        super().__init__("observation", identifier)


class RunNotFoundError(NotFoundError):
    """No such run."""

    reason = "RUN_NOT_FOUND"

    def __init__(self, identifier: str) -> None:
        super().__init__("run", identifier)


class SourceNotFoundError(NotFoundError):
    """No such source."""

    reason = "SOURCE_NOT_FOUND"

    def __init__(self, identifier: str) -> None:
        super().__init__("source", identifier)


class PredicateNotFoundError(NotFoundError):
    """No claim uses such a predicate, by this name."""

    reason = "PREDICATE_NOT_FOUND"

    def __init__(self, identifier: str) -> None:
        super().__init__("predicate", identifier)


class AlreadyExistsError(ConcordError):
    """An identifier is taken by something else."""


class RequestIdReusedError(AlreadyExistsError):
    """A request id was used before for another request."""

    reason = "REQUEST_ID_REUSED"

    def __init__(self, request_id: str) -> None:
        super().__init__(f"request_id {request_id} was used before for another request")


class ProjectExistsError(AlreadyExistsError):
    """A project of that name exists."""

    reason = "PROJECT_EXISTS"

    def __init__(self, project_id: str) -> None:
        super().__init__(f"project {project_id!r} exists already")


class IdempotencyKeyReusedError(AlreadyExistsError):
    """An event's idempotency key stands for other content."""

    reason = "IDEMPOTENCY_KEY_REUSED"

    def __init__(self, key: str) -> None:
        super().__init__(f"idempotency_key {key!r} was used before for an event with other content")


class FailedPreconditionError(ConcordError):
    """The state of the ledger does not allow the call."""


class IllegalStatusTransitionError(FailedPreconditionError):
    """A fact cannot go from its status to the asked one."""

    reason = "ILLEGAL_STATUS_TRANSITION"

    def __init__(self, old: str, new: str) -> None:
        super().__init__(f"a fact cannot go from {old} to {new} this way")


class ConflictAlreadyResolvedError(FailedPreconditionError):
    """The conflict was resolved before."""

    reason = "CONFLICT_ALREADY_RESOLVED"


class FactNotInConflictError(FailedPreconditionError):
    """The fact to keep is not a member of the conflict."""

    reason = "FACT_NOT_IN_CONFLICT"


class SlotOccupiedError(FailedPreconditionError):
    """Another fact holds in the slot, or an interval would overlap a neighbour's."""

    reason = "SLOT_OCCUPIED"


class CycleError(FailedPreconditionError):
    """An edge would make a fact its own ancestor."""

    reason = "CYCLE"


class RunAlreadyFinishedError(FailedPreconditionError):
    """The run is over."""

    reason = "RUN_ALREADY_FINISHED"


class AbortedError(ConcordError):
    """The call lost a race and may be sent again.

    Attributes:
        retry_delay: how long to wait first; ``None`` when only a fresh read helps.
    """

    retry_delay: timedelta | None = None


class EtagMismatchError(AbortedError):
    """The resource changed since the caller read it."""

    reason = "ETAG_MISMATCH"


class ConcurrentUpdateError(AbortedError):
    """Other writers kept changing what the call depends on."""

    reason = "CONCURRENT_UPDATE"
    retry_delay = timedelta(milliseconds=100)


class LeaseLostError(AbortedError):
    """A worker took too long over an event, and another one has it now; nothing was written."""

    reason = "CONCURRENT_UPDATE"


class SequenceNotKeptError(ConcordError):
    """The change log does not have every change after a sequence: they were pruned, or it never came that far."""

    reason = "SEQUENCE_NOT_KEPT"


class UnavailableError(ConcordError):
    """The database or another part cannot be reached now."""

    reason = "UNAVAILABLE"


class OverloadedError(UnavailableError):
    """Too much is under way already; the call may be sent again in a moment."""

    reason = "UNAVAILABLE"


class UnsupportedError(ConcordError):
    """The call is part of the contract and not implemented yet."""

    reason = "NOT_IMPLEMENTED"

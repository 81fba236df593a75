"""The closed vocabularies of the domain; names equal the contract's enum values without their prefix."""

from __future__ import annotations

from enum import IntEnum, StrEnum, auto


class _NamedEnum(StrEnum):
    """An enum whose values are its member names, which is how the database stores them."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        del start, count, last_values
        return name


class FactType(_NamedEnum):
    """What kind of statement a fact is."""

    ASSERTION = auto()
    OBSERVATION = auto()
    MEASUREMENT = auto()
    DEFINITION = auto()
    RELATIONSHIP = auto()
    EVENT = auto()
    OPINION = auto()
    PREDICTION = auto()


class FactStatus(_NamedEnum):
    """Where a fact is in its life."""

    PENDING = auto()
    ACTIVE = auto()
    DISPUTED = auto()
    SUPERSEDED = auto()
    ARCHIVED = auto()
    RETRACTED = auto()
    DELETED = auto()


class EvolutionType(_NamedEnum):
    """How a fact came from its parents."""

    ORIGINAL = auto()
    CORRECTION = auto()
    REFINEMENT = auto()
    CONTRADICTION = auto()
    EXTENSION = auto()
    MERGE = auto()


class SubjectRole(_NamedEnum):
    """The part an entity plays in a fact."""

    SUBJECT = auto()
    OBJECT = auto()
    SOURCE = auto()
    LOCATION = auto()
    PARTICIPANT = auto()
    RELATED = auto()


class EvidenceStance(_NamedEnum):
    """What a piece of evidence says about the fact."""

    SUPPORTS = auto()
    CONTRADICTS = auto()
    UNCLEAR = auto()
    IRRELEVANT = auto()
    INVALID = auto()


class ContentRelationship(_NamedEnum):
    """How a fact relates to a piece of content of the caller's."""

    EXTRACTED_FROM = auto()
    REFERENCED_IN = auto()
    SUPPORTS = auto()
    CONTRADICTS = auto()
    RELATED = auto()


class Cardinality(_NamedEnum):
    """How many values of a predicate may hold at once."""

    SINGLE = auto()
    MULTI = auto()


class Trust(IntEnum):
    """How far a statement's author is trusted; higher outranks lower."""

    UNTRUSTED = 1
    THIRD_PARTY = 2
    SEMI_TRUSTED = 3
    TRUSTED = 4


class Volatility(_NamedEnum):
    """How fast a kind of fact goes out of date."""

    STABLE = auto()
    SLOW = auto()
    VOLATILE = auto()
    EPHEMERAL = auto()


class Freshness(_NamedEnum):
    """Whether a fact is still within its volatility's horizon."""

    FRESH = auto()
    UNCONFIRMED = auto()
    STALE = auto()


class ReconcileAction(_NamedEnum):
    """What became of a statement."""

    CREATED = auto()
    MERGED = auto()
    BRANCHED = auto()
    CONFLICTED = auto()
    SUPPRESSED = auto()


class DecisionBasis(_NamedEnum):
    """What a decision rests on."""

    EXACT_TEXT = auto()
    EXACT_CLAIM = auto()
    SLOT = auto()
    NO_CANDIDATE = auto()
    ABOVE_THRESHOLD = auto()
    JUDGED = auto()
    JUDGE_UNAVAILABLE = auto()
    EMBEDDER_UNAVAILABLE = auto()


class ContradictionPolicy(_NamedEnum):
    """What a contradiction does: replace by event time, or wait for review."""

    SUPERSEDE = auto()
    CONFLICT = auto()


class ConflictState(_NamedEnum):
    """Whether a conflict still waits for a person."""

    OPEN = auto()
    RESOLVED = auto()


class ClaimSupport(_NamedEnum):
    """What the ledger says about a statement."""

    SUPPORTED = auto()
    UNSUPPORTED = auto()
    CONTRADICTED = auto()
    NEEDS_REVIEW = auto()


class FactChange(_NamedEnum):
    """Why a version of a fact was recorded."""

    CREATED = auto()
    MERGED = auto()
    STATUS_CHANGED = auto()
    REVISED = auto()
    ERASED = auto()


class RunState(_NamedEnum):
    """Where a run is."""

    QUEUED = auto()
    RUNNING = auto()
    SUCCEEDED = auto()
    FAILED = auto()
    CANCELLED = auto()
    RATE_LIMITED = auto()


class RunStage(_NamedEnum):
    """A part of a run's work."""

    EXTRACT = auto()
    OBSERVE = auto()


class EventState(_NamedEnum):
    """Where an event is on its way to facts."""

    PENDING = auto()
    RUNNING = auto()
    DONE = auto()
    FAILED = auto()
    DEAD = auto()


class CandidateAction(_NamedEnum):
    """What a candidate asks for."""

    CREATE = auto()
    SUPERSEDE = auto()
    REJECT = auto()


class CandidateOutcome(_NamedEnum):
    """What became of a candidate."""

    DUPLICATE = auto()
    REINFORCED = auto()
    SUPERSEDED = auto()
    CONFLICTED = auto()
    CREATED = auto()
    REJECTED = auto()
    SUPPRESSED = auto()
    HISTORICAL = auto()


class ObservationAction(_NamedEnum):
    """What became of an observation."""

    CREATED = auto()
    UPDATED = auto()
    MERGED = auto()
    RETIRED = auto()
    KEPT = auto()


class ObservationState(_NamedEnum):
    """Whether an observation is believed."""

    ACTIVE = auto()
    RETIRED = auto()


class Trend(_NamedEnum):
    """How the support of an observation develops."""

    STRENGTHENING = auto()
    STABLE = auto()
    WEAKENING = auto()
    STALE = auto()


LIVE_STATUSES = frozenset({FactStatus.ACTIVE, FactStatus.PENDING, FactStatus.DISPUTED})
"""Statuses of facts that an equal statement corroborates."""

SUPPRESSING_STATUSES = frozenset({FactStatus.RETRACTED, FactStatus.ARCHIVED})
"""Statuses of facts that keep an equal statement from coming back."""

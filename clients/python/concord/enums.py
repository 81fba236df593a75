"""The vocabulary of the contract, as enums whose values are the names without prefix.

``FactStatus.ACTIVE == "ACTIVE"``. What each value means is said once, in ``protos/concord/v1/enums.proto``.
``UNSPECIFIED`` stands for "not given" in requests; in results it also stands for a value that a newer server
knows and this version does not.
"""

from __future__ import annotations

import functools
from enum import StrEnum
from typing import Any, TypeVar

from google.protobuf.descriptor import EnumDescriptor

from concord.v1 import admin_pb2, enums_pb2


class FactType(StrEnum):
    """What kind of statement a fact is."""

    UNSPECIFIED = "UNSPECIFIED"
    ASSERTION = "ASSERTION"
    OBSERVATION = "OBSERVATION"
    MEASUREMENT = "MEASUREMENT"
    DEFINITION = "DEFINITION"
    RELATIONSHIP = "RELATIONSHIP"
    EVENT = "EVENT"
    OPINION = "OPINION"
    PREDICTION = "PREDICTION"


class FactStatus(StrEnum):
    """Where a fact is in its life."""

    UNSPECIFIED = "UNSPECIFIED"
    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    DISPUTED = "DISPUTED"
    SUPERSEDED = "SUPERSEDED"
    ARCHIVED = "ARCHIVED"
    RETRACTED = "RETRACTED"
    DELETED = "DELETED"


class EvolutionType(StrEnum):
    """How a fact descends from its parents."""

    UNSPECIFIED = "UNSPECIFIED"
    ORIGINAL = "ORIGINAL"
    CORRECTION = "CORRECTION"
    REFINEMENT = "REFINEMENT"
    CONTRADICTION = "CONTRADICTION"
    EXTENSION = "EXTENSION"
    MERGE = "MERGE"


class SubjectRole(StrEnum):
    """The part an entity plays in a fact."""

    UNSPECIFIED = "UNSPECIFIED"
    SUBJECT = "SUBJECT"
    OBJECT = "OBJECT"
    SOURCE = "SOURCE"
    LOCATION = "LOCATION"
    PARTICIPANT = "PARTICIPANT"
    RELATED = "RELATED"


class EvidenceStance(StrEnum):
    """What a piece of evidence does for its fact."""

    UNSPECIFIED = "UNSPECIFIED"
    SUPPORTS = "SUPPORTS"
    CONTRADICTS = "CONTRADICTS"
    UNCLEAR = "UNCLEAR"
    IRRELEVANT = "IRRELEVANT"
    INVALID = "INVALID"


class ContentRelationship(StrEnum):
    """How a fact relates to a piece of the caller's content."""

    UNSPECIFIED = "UNSPECIFIED"
    EXTRACTED_FROM = "EXTRACTED_FROM"
    REFERENCED_IN = "REFERENCED_IN"
    SUPPORTS = "SUPPORTS"
    CONTRADICTS = "CONTRADICTS"
    RELATED = "RELATED"


class Cardinality(StrEnum):
    """How many values of a predicate hold at once."""

    UNSPECIFIED = "UNSPECIFIED"
    SINGLE = "SINGLE"
    MULTI = "MULTI"


class Trust(StrEnum):
    """How far a speaker is believed."""

    UNSPECIFIED = "UNSPECIFIED"
    UNTRUSTED = "UNTRUSTED"
    THIRD_PARTY = "THIRD_PARTY"
    SEMI_TRUSTED = "SEMI_TRUSTED"
    TRUSTED = "TRUSTED"


class Volatility(StrEnum):
    """How fast a fact goes out of date when nobody confirms it."""

    UNSPECIFIED = "UNSPECIFIED"
    STABLE = "STABLE"
    SLOW = "SLOW"
    VOLATILE = "VOLATILE"
    EPHEMERAL = "EPHEMERAL"


class Freshness(StrEnum):
    """How current a fact is."""

    UNSPECIFIED = "UNSPECIFIED"
    FRESH = "FRESH"
    UNCONFIRMED = "UNCONFIRMED"
    STALE = "STALE"


class ReconcileAction(StrEnum):
    """What became of a reconciled statement."""

    UNSPECIFIED = "UNSPECIFIED"
    CREATED = "CREATED"
    MERGED = "MERGED"
    BRANCHED = "BRANCHED"
    CONFLICTED = "CONFLICTED"
    SUPPRESSED = "SUPPRESSED"


class DecisionBasis(StrEnum):
    """What a decision rests on."""

    UNSPECIFIED = "UNSPECIFIED"
    EXACT_TEXT = "EXACT_TEXT"
    EXACT_CLAIM = "EXACT_CLAIM"
    SLOT = "SLOT"
    NO_CANDIDATE = "NO_CANDIDATE"
    ABOVE_THRESHOLD = "ABOVE_THRESHOLD"
    JUDGED = "JUDGED"
    JUDGE_UNAVAILABLE = "JUDGE_UNAVAILABLE"
    EMBEDDER_UNAVAILABLE = "EMBEDDER_UNAVAILABLE"


class Relation(StrEnum):
    """How a statement relates to a known fact."""

    UNSPECIFIED = "UNSPECIFIED"
    SAME = "SAME"
    REFINEMENT = "REFINEMENT"
    CONTRADICTION = "CONTRADICTION"
    CORRECTION = "CORRECTION"
    EXTENSION = "EXTENSION"
    DISTINCT = "DISTINCT"


class ContradictionPolicy(StrEnum):
    """What happens when a statement contradicts a known fact."""

    UNSPECIFIED = "UNSPECIFIED"
    SUPERSEDE = "SUPERSEDE"
    CONFLICT = "CONFLICT"


class ConflictState(StrEnum):
    """Whether a conflict still waits for a decision."""

    UNSPECIFIED = "UNSPECIFIED"
    OPEN = "OPEN"
    RESOLVED = "RESOLVED"


class ObservationAction(StrEnum):
    """What became of an observation."""

    UNSPECIFIED = "UNSPECIFIED"
    CREATED = "CREATED"
    UPDATED = "UPDATED"
    MERGED = "MERGED"
    RETIRED = "RETIRED"
    KEPT = "KEPT"


class ObservationState(StrEnum):
    """Whether an observation is believed."""

    UNSPECIFIED = "UNSPECIFIED"
    ACTIVE = "ACTIVE"
    RETIRED = "RETIRED"


class Trend(StrEnum):
    """How the support of an observation develops."""

    UNSPECIFIED = "UNSPECIFIED"
    STRENGTHENING = "STRENGTHENING"
    STABLE = "STABLE"
    WEAKENING = "WEAKENING"
    STALE = "STALE"


class ClaimSupport(StrEnum):
    """Whether the ledger supports a claim."""

    UNSPECIFIED = "UNSPECIFIED"
    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"
    CONTRADICTED = "CONTRADICTED"
    NEEDS_REVIEW = "NEEDS_REVIEW"


class FactChange(StrEnum):
    """What happened to a fact."""

    UNSPECIFIED = "UNSPECIFIED"
    CREATED = "CREATED"
    MERGED = "MERGED"
    STATUS_CHANGED = "STATUS_CHANGED"
    REVISED = "REVISED"
    ERASED = "ERASED"


class RunState(StrEnum):
    """Where a run is."""

    UNSPECIFIED = "UNSPECIFIED"
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    RATE_LIMITED = "RATE_LIMITED"


class RunStage(StrEnum):
    """A part of a run's work."""

    UNSPECIFIED = "UNSPECIFIED"
    EXTRACT = "EXTRACT"
    OBSERVE = "OBSERVE"


class EventState(StrEnum):
    """Where an event is on its way to facts."""

    UNSPECIFIED = "UNSPECIFIED"
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"
    DEAD = "DEAD"


class CandidateAction(StrEnum):
    """What a candidate asks for."""

    UNSPECIFIED = "UNSPECIFIED"
    CREATE = "CREATE"
    SUPERSEDE = "SUPERSEDE"
    REJECT = "REJECT"


class CandidateOutcome(StrEnum):
    """What became of a candidate."""

    UNSPECIFIED = "UNSPECIFIED"
    DUPLICATE = "DUPLICATE"
    REINFORCED = "REINFORCED"
    SUPERSEDED = "SUPERSEDED"
    CONFLICTED = "CONFLICTED"
    CREATED = "CREATED"
    REJECTED = "REJECTED"
    SUPPRESSED = "SUPPRESSED"
    HISTORICAL = "HISTORICAL"


E = TypeVar("E", bound=StrEnum)


@functools.cache
def _values(kind: type[StrEnum]) -> tuple[EnumDescriptor, str]:
    """The enum of the contract that has the name of ``kind``, and the prefix of its values."""
    known = {**enums_pb2.DESCRIPTOR.enum_types_by_name, **admin_pb2.DESCRIPTOR.enum_types_by_name}
    descriptor = known[kind.__name__]
    return descriptor, descriptor.values_by_number[0].name.removesuffix("UNSPECIFIED")


def enum_to_proto(member: StrEnum) -> Any:  # noqa: ANN401 - each enum of the stubs is a type of its own
    """Returns the number of a member, as the stubs of its enum want it.

    Raises:
        TypeError: plain text was given instead of a member.
    """
    if not isinstance(member, StrEnum):
        raise TypeError(f"{member!r} is not a member of an enum of concord")
    descriptor, prefix = _values(type(member))
    return descriptor.values_by_name[prefix + member.value].number


def enum_from_proto(kind: type[E], number: int) -> E:
    """Returns the member for a number; UNSPECIFIED for one that this version does not know."""
    descriptor, prefix = _values(kind)
    value = descriptor.values_by_number.get(number)
    return kind(value.name.removeprefix(prefix) if value else "UNSPECIFIED")


def enum_from_name(kind: type[E], name: str) -> E:
    """Returns the member for a full name (``FACT_TYPE_EVENT``); UNSPECIFIED for an unknown one."""
    descriptor, prefix = _values(kind)
    return kind(name.removeprefix(prefix) if name in descriptor.values_by_name else "UNSPECIFIED")

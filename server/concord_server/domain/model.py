"""The things the ledger keeps, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from concord_server.domain.confidence import DEFAULT_CREDIBILITY
from concord_server.domain.enums import (
    Cardinality,
    ConflictState,
    ContentRelationship,
    DecisionBasis,
    EvidenceStance,
    EvolutionType,
    FactChange,
    FactStatus,
    FactType,
    ReconcileAction,
    SubjectRole,
    Trust,
    Volatility,
)
from concord_server.domain.judgement import Discrepancy, Relation
from concord_server.domain.values import Json


@dataclass(frozen=True, slots=True)
class EntityRef:
    """A reference to an entity of the caller's world: type of at most 64, id of at most 256 characters."""

    entity_type: str
    entity_id: str
    role: SubjectRole = SubjectRole.SUBJECT


@dataclass(frozen=True, slots=True)
class Partition:
    """Within a project, the only facts that a statement can match: they share all of this."""

    access_scope: str = ""
    domain: str = ""
    type: FactType = FactType.ASSERTION
    owner_type: str = ""
    owner_id: str = ""

    @property
    def owner(self) -> EntityRef | None:
        """Whose facts these are, ``None`` where the statements speak for themselves."""
        return EntityRef(self.owner_type, self.owner_id) if self.owner_type else None


@dataclass(frozen=True, slots=True)
class Claim:
    """The structured form of a statement: a triple with qualifiers.

    ``predicate`` is normalised; ``value`` is stored as given.
    """

    subject: str
    predicate: str
    value: Json
    qualifiers: Mapping[str, Json] = field(default_factory=dict)
    cardinality: Cardinality = Cardinality.SINGLE


@dataclass(frozen=True, slots=True)
class SourceInput:
    """Where a statement comes from. ``credibility`` is in [0, 1]; ``extract_time`` defaults to now."""

    source_type: str = ""
    url: str = ""
    title: str = ""
    external_id: str = ""
    credibility: float | None = None
    extract_time: datetime | None = None
    trust: Trust = Trust.TRUSTED
    metadata: Mapping[str, Json] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """What makes two sources of a fact the same: external id, else URL, else type and title."""
        if self.external_id:
            return f"id:{self.external_id}"
        if self.url:
            return f"url:{self.url}"
        return f"title:{self.source_type}\x1f{self.title}"

    @property
    def effective_credibility(self) -> float:
        """The credibility given, else the default for sources of Reconcile."""
        return DEFAULT_CREDIBILITY if self.credibility is None else self.credibility


@dataclass(frozen=True, slots=True)
class Source:
    """One row per (fact, source identity)."""

    source_id: UUID
    fact_id: UUID
    source_type: str
    url: str
    title: str
    external_id: str
    credibility: float
    extract_time: datetime
    trust: Trust
    metadata: Mapping[str, Json]
    create_time: datetime


@dataclass(frozen=True, slots=True)
class EvidenceInput:
    """A piece of evidence for or against a statement; ``quote`` has at most 4,000 characters."""

    stance: EvidenceStance = EvidenceStance.SUPPORTS
    quote: str = ""
    locator: str = ""
    source_kind: str = ""
    source_ref: str = ""
    confidence: float = 0.0
    extraction_method: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence as stored with its fact and, where one came along, its source."""

    evidence_id: UUID
    fact_id: UUID
    source_id: UUID | None
    stance: EvidenceStance
    quote: str
    locator: str
    source_kind: str
    source_ref: str
    confidence: float
    extraction_method: str
    create_time: datetime


@dataclass(frozen=True, slots=True)
class ContentLink:
    """A link from a fact to a piece of content of the caller's."""

    content_id: str
    relationship: ContentRelationship = ContentRelationship.EXTRACTED_FROM


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement in the ledger, with what is known about it.

    Attributes:
        slot_id: the timeline that it is on: the slot of its claim, or its line of contradictions.
        value_key: digest of the claim's value (or of the wording, on a line without claims).
        text: the canonical wording; ``text_raw`` is the latest one.
        confidence: in [0, 1], as of ``update_time``.
        off_timeline: every statement behind it was withdrawn; until it is restored it is left out of ``as_of``
            and of the rule that intervals never overlap.
        partition_revision: the partition's revision at which the fact last changed in a way that others'
            decisions depend on.
        version: 1 for the first recorded state; the etag follows from it.
    """

    fact_id: UUID
    partition: Partition
    slot_id: UUID
    status: FactStatus
    text: str
    text_raw: str
    value_key: str
    claim: Claim | None
    evolution_type: EvolutionType
    confidence: float
    source_count: int
    corroboration_score: float
    reinforcement_count: int
    last_reinforce_time: datetime
    trust: Trust
    volatility: Volatility
    valid_from: datetime
    valid_to: datetime | None
    create_time: datetime
    update_time: datetime
    delete_time: datetime | None = None
    conflict_id: UUID | None = None
    off_timeline: bool = False
    partition_revision: int = 0
    version: int = 1
    metadata: Mapping[str, Json] = field(default_factory=dict)
    parent_ids: tuple[UUID, ...] = ()
    subjects: tuple[EntityRef, ...] = ()
    contents: tuple[ContentLink, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def etag(self) -> str:
        """Opaque token that changes with every recorded state."""
        return f'"{self.version}"'

    def holds_at(self, moment: datetime) -> bool:
        """Whether ``moment`` is within the valid interval, closed at its start and open at its end."""
        return self.valid_from <= moment and (self.valid_to is None or moment < self.valid_to)


@dataclass(frozen=True, slots=True)
class FactVersion:
    """One recorded state of a fact: what the ledger said from ``recorded_from`` until ``recorded_to``."""

    fact: Fact
    change: FactChange
    actor: str
    reason: str
    recorded_from: datetime
    recorded_to: datetime | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One hit of a decision, as judged."""

    fact_id: UUID
    similarity: float
    relation: Relation | None
    probabilities: Mapping[Relation, float]
    discrepancies: tuple[Discrepancy, ...]
    rationale: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where decisions turn; all in [0, 1].

    Attributes:
        similarity: cosine from which an undisputed ``same`` merges.
        conflict: cosine from which a fact is a candidate at all; at most ``similarity``.
        merge_probability: probability of ``same`` from which it merges below ``similarity``.
        supersede_probability: probability of a contradiction from which it supersedes.
    """

    similarity: float = 0.85
    conflict: float = 0.60
    merge_probability: float = 0.75
    supersede_probability: float = 0.75


@dataclass(frozen=True, slots=True)
class Decision:
    """Why a statement ended as it did."""

    decision_id: UUID
    basis: DecisionBasis
    judge: str
    action: ReconcileAction
    candidates: tuple[Candidate, ...]
    thresholds: Thresholds
    rationale: str
    create_time: datetime
    fact_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Facts that cannot all hold, waiting for a person; ``facts`` has the incumbent first."""

    conflict_id: UUID
    slot_id: UUID
    state: ConflictState
    facts: tuple[Fact, ...]
    reason: str
    create_time: datetime
    resolve_time: datetime | None = None
    kept_fact_id: UUID | None = None
    resolution_note: str = ""
    version: int = 1

    @property
    def etag(self) -> str:
        """Opaque token that changes with every change of the conflict."""
        return f'"{self.version}"'

"""Resources of the service as results hold them: frozen, with tuples for lists and read-only mappings.

Times are aware and in UTC; None stands for an absent time. What a field means is said in full with the messages
of the same names in ``protos/concord/v1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from concord._convert import JsonValue
from concord.enums import (
    ConflictState,
    DecisionBasis,
    EvidenceStance,
    EvolutionType,
    FactChange,
    FactStatus,
    FactType,
    Freshness,
    ObservationState,
    ReconcileAction,
    Relation,
    Trend,
    Trust,
    Volatility,
)
from concord.inputs import Claim, ContentLink, EntityRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source of a fact. ``credibility`` is in [0, 1], None when nobody said."""

    source_id: str
    fact_id: str
    source_type: str
    url: str
    title: str
    external_id: str
    credibility: float | None
    extract_time: datetime | None
    trust: Trust
    metadata: Mapping[str, JsonValue]
    create_time: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A passage for or against a fact. ``confidence`` is its extractor's, in [0, 1]."""

    evidence_id: str
    fact_id: str
    source_id: str
    stance: EvidenceStance
    quote: str
    locator: str
    source_kind: str
    source_ref: str
    confidence: float
    extraction_method: str
    create_time: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement with its provenance, validity and place in a family of facts.

    Attributes:
        text: the canonical wording, empty once erased; ``text_raw`` is the latest wording.
        claim: the structured form, None without one.
        parent_ids: facts it descends from, the main line first.
        confidence: in [0, 1].
        valid_from: from when it holds, inclusive; ``valid_to`` exclusive, None while open.
        conflict_id: the open conflict it is a member of, empty without one.
        etag: send it back with a write to refuse a lost update.
    """

    fact_id: str
    domain: str
    access_scope: str
    type: FactType
    owner: EntityRef | None
    status: FactStatus
    text: str
    text_raw: str
    claim: Claim | None
    evolution_type: EvolutionType
    parent_ids: tuple[str, ...]
    confidence: float
    source_count: int
    corroboration_score: float
    reinforcement_count: int
    last_reinforce_time: datetime | None
    trust: Trust
    volatility: Volatility
    freshness: Freshness
    valid_from: datetime | None
    valid_to: datetime | None
    create_time: datetime | None
    update_time: datetime | None
    delete_time: datetime | None
    subjects: tuple[EntityRef, ...]
    contents: tuple[ContentLink, ...]
    tags: tuple[str, ...]
    conflict_id: str
    version: int
    etag: str
    metadata: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A known fact that was considered.

    ``similarity`` is a cosine in [-1, 1]; ``probabilities`` sum to 1 and are empty when nothing was judged;
    ``discrepancies`` are names such as "number" or "negation".
    """

    fact_id: str
    similarity: float
    relation: Relation
    probabilities: Mapping[Relation, float]
    discrepancies: tuple[str, ...]
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Why an answer came out as it did. ``decision_id`` is empty for a dry run."""

    decision_id: str
    basis: DecisionBasis
    judge: str
    action: ReconcileAction
    candidates: tuple[Candidate, ...]
    similarity_threshold: float
    conflict_threshold: float
    merge_probability_threshold: float
    supersede_probability_threshold: float
    rationale: str
    create_time: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Facts of which only one can hold, the incumbent first."""

    conflict_id: str
    state: ConflictState
    facts: tuple[Fact, ...]
    reason: str
    create_time: datetime | None
    resolve_time: datetime | None
    kept_fact_id: str
    resolution_note: str
    etag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolutionEdge:
    """A parent and child in a family of facts."""

    parent_id: str
    child_id: str
    evolution_type: EvolutionType


@dataclass(frozen=True, slots=True, kw_only=True)
class FactVersion:
    """A state of a fact that was on record for some time; ``recorded_to`` is None for the current one."""

    fact: Fact
    change: FactChange
    actor: str
    reason: str
    recorded_from: datetime | None
    recorded_to: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A belief formed over several facts; ``proof_count`` of them, between ``first_time`` and ``last_time``."""

    observation_id: str
    text: str
    owner: EntityRef | None
    domain: str
    access_scope: str
    tags: tuple[str, ...]
    proof_count: int
    source_fact_ids: tuple[str, ...]
    first_time: datetime | None
    last_time: datetime | None
    state: ObservationState
    trend: Trend
    create_time: datetime | None
    update_time: datetime | None
    version: int
    etag: str

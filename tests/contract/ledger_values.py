"""Domain values with every field set, for tests of the edge."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

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
from concord_server.domain.model import (
    Candidate,
    Claim,
    Conflict,
    ContentLink,
    Decision,
    EntityRef,
    Evidence,
    Fact,
    FactVersion,
    Partition,
    Source,
    Thresholds,
)
from concord_server.services.results import ReconcileResult

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
FACT_ID = UUID("019a0000-0000-7000-8000-0000000000f1")
OTHER_ID = UUID("019a0000-0000-7000-8000-0000000000f2")
PARENT_ID = UUID("019a0000-0000-7000-8000-0000000000f0")
SLOT_ID = UUID("019a0000-0000-7000-8000-00000000000a")
SOURCE_ID = UUID("019a0000-0000-7000-8000-00000000000b")
EVIDENCE_ID = UUID("019a0000-0000-7000-8000-00000000000c")
CONFLICT_ID = UUID("019a0000-0000-7000-8000-00000000000d")
DECISION_ID = UUID("019a0000-0000-7000-8000-00000000000e")


def at(day: int) -> datetime:
    """A moment in January 2026, on a day of that month."""
    return datetime(2026, 1, day, 8, 30, 15, 654321, tzinfo=UTC)


FACT = Fact(
    fact_id=FACT_ID,
    partition=Partition("private", "ops", FactType.MEASUREMENT, "Person", "usr_42"),
    slot_id=SLOT_ID,
    status=FactStatus.ACTIVE,
    text="Priya owns 3 bikes",
    text_raw="priya has three bikes",
    value_key="key",
    claim=Claim("Priya", "bike_count", 3, {"bound": "upper"}, Cardinality.SINGLE),
    evolution_type=EvolutionType.CORRECTION,
    confidence=0.8812345678901234,
    source_count=2,
    corroboration_score=0.25,
    reinforcement_count=4,
    last_reinforce_time=at(9),
    trust=Trust.SEMI_TRUSTED,
    volatility=Volatility.SLOW,
    valid_from=at(2),
    valid_to=at(20),
    create_time=at(3),
    update_time=at(4),
    delete_time=None,
    conflict_id=CONFLICT_ID,
    version=7,
    metadata={"ticket": 17},
    parent_ids=(PARENT_ID,),
    subjects=(EntityRef("Person", "usr_42"), EntityRef("City", "paris", SubjectRole.LOCATION)),
    contents=(ContentLink("doc-1", ContentRelationship.SUPPORTS),),
    tags=("a", "b"),
)

PLAIN_FACT = Fact(
    fact_id=OTHER_ID,
    partition=Partition(),
    slot_id=SLOT_ID,
    status=FactStatus.ACTIVE,
    text="Water boils at 100 degrees",
    text_raw="Water boils at 100 degrees",
    value_key="key",
    claim=None,
    evolution_type=EvolutionType.ORIGINAL,
    confidence=0.7,
    source_count=0,
    corroboration_score=0.0,
    reinforcement_count=0,
    last_reinforce_time=at(1),
    trust=Trust.TRUSTED,
    volatility=Volatility.STABLE,
    valid_from=at(1),
    valid_to=None,
    create_time=at(1),
    update_time=at(1),
)

VERSION = FactVersion(FACT, FactChange.REVISED, "anna", "she moved", at(4), at(6))

SOURCE = Source(
    source_id=SOURCE_ID,
    fact_id=FACT_ID,
    source_type="web",
    url="https://a.example/1",
    title="Minutes",
    external_id="doc-1",
    credibility=0.9,
    extract_time=at(5),
    trust=Trust.THIRD_PARTY,
    metadata={"page": 4},
    create_time=at(6),
)

EVIDENCE = Evidence(
    evidence_id=EVIDENCE_ID,
    fact_id=FACT_ID,
    source_id=SOURCE_ID,
    stance=EvidenceStance.CONTRADICTS,
    quote="three bikes",
    locator="page 4",
    source_kind="document",
    source_ref="ref",
    confidence=0.6,
    extraction_method="manual",
    create_time=at(7),
)

CONFLICT = Conflict(
    conflict_id=CONFLICT_ID,
    slot_id=SLOT_ID,
    state=ConflictState.RESOLVED,
    facts=(FACT, PLAIN_FACT),
    reason="another value at the same time",
    create_time=at(10),
    resolve_time=at(11),
    kept_fact_id=FACT_ID,
    resolution_note="asked her",
    version=2,
)

DECISION = Decision(
    decision_id=DECISION_ID,
    basis=DecisionBasis.JUDGED,
    judge="local/1",
    action=ReconcileAction.MERGED,
    candidates=(
        Candidate(
            fact_id=FACT_ID,
            similarity=0.91,
            relation=Relation.SAME,
            probabilities={Relation.SAME: 0.9, Relation.DISTINCT: 0.1},
            discrepancies=(Discrepancy.NUMBER, Discrepancy.UNIT),
            rationale="",
            chosen=True,
        ),
        Candidate(OTHER_ID, 0.61, None, {}, (), "", chosen=False),
    ),
    thresholds=Thresholds(0.86, 0.61, 0.76, 0.77),
    rationale="says the same",
    create_time=at(12),
)

RESULT = ReconcileResult(
    action=ReconcileAction.MERGED,
    fact=FACT,
    decision=DECISION,
    source=SOURCE,
    similarity=0.91,
    matched_fact=FACT,
    evolution_type=None,
    conflict=None,
    warnings=("the cardinality is SINGLE",),
)

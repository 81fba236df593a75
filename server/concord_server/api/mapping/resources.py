"""The resources of the contract: facts, sources, evidence, conflicts, decisions."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from concord.v1 import resources_pb2

from concord_server.api.enums import (
    CARDINALITY,
    CONFLICT_STATE,
    CONTENT_RELATIONSHIP,
    DECISION_BASIS,
    EVIDENCE_STANCE,
    EVOLUTION_TYPE,
    FACT_STATUS,
    FACT_TYPE,
    FRESHNESS,
    RECONCILE_ACTION,
    RELATION,
    SUBJECT_ROLE,
    TRUST,
    VOLATILITY,
)
from concord_server.api.horizons import current_horizons
from concord_server.api.wellknown import optional_timestamp, to_struct, to_timestamp, to_value
from concord_server.domain.enums import FactStatus
from concord_server.domain.freshness import freshness
from concord_server.domain.model import Candidate, Claim, Conflict, Decision, EntityRef, Evidence, Fact, Source


def to_id(identifier: UUID | None) -> str:
    """Returns an id as the contract writes it, empty for none."""
    return "" if identifier is None else str(identifier)


def to_entity(entity: EntityRef) -> resources_pb2.EntityRef:
    """Returns a reference to an entity."""
    return resources_pb2.EntityRef(
        entity_type=entity.entity_type, entity_id=entity.entity_id, role=SUBJECT_ROLE.to_proto(entity.role)
    )


def to_claim(claim: Claim) -> resources_pb2.Claim:
    """Returns the structured form of a statement; without qualifiers the field stays unset."""
    return resources_pb2.Claim(
        subject=claim.subject,
        predicate=claim.predicate,
        value=to_value(claim.value),
        qualifiers=to_struct(claim.qualifiers) if claim.qualifiers else None,
        cardinality=CARDINALITY.to_proto(claim.cardinality),
    )


def to_fact(fact: Fact, now: datetime) -> resources_pb2.Fact:
    """Returns a fact as it is read at ``now``, which decides its freshness alone, by the horizons of the call.

    An erased fact has its ids, times and status; whatever else is left of it is not served.
    """
    message = resources_pb2.Fact(
        fact_id=to_id(fact.fact_id),
        domain=fact.partition.domain,
        access_scope=fact.partition.access_scope,
        type=FACT_TYPE.to_proto(fact.partition.type),
        owner=None if fact.partition.owner is None else to_entity(fact.partition.owner),
        status=FACT_STATUS.to_proto(fact.status),
        evolution_type=EVOLUTION_TYPE.to_proto(fact.evolution_type),
        parent_ids=[to_id(parent) for parent in fact.parent_ids],
        confidence=fact.confidence,
        source_count=fact.source_count,
        corroboration_score=fact.corroboration_score,
        reinforcement_count=fact.reinforcement_count,
        last_reinforce_time=to_timestamp(fact.last_reinforce_time),
        trust=TRUST.to_proto(fact.trust),
        volatility=VOLATILITY.to_proto(fact.volatility),
        freshness=FRESHNESS.to_proto(
            freshness(fact.volatility, fact.last_reinforce_time, now, current_horizons())
        ),
        valid_from=to_timestamp(fact.valid_from),
        valid_to=optional_timestamp(fact.valid_to),
        create_time=to_timestamp(fact.create_time),
        update_time=to_timestamp(fact.update_time),
        delete_time=optional_timestamp(fact.delete_time),
        conflict_id=to_id(fact.conflict_id),
        version=fact.version,
        etag=fact.etag,
    )
    if fact.status is not FactStatus.DELETED:
        _add_content(message, fact)
    return message


def _add_content(message: resources_pb2.Fact, fact: Fact) -> None:
    message.text = fact.text
    message.text_raw = fact.text_raw
    if fact.claim is not None:
        message.claim.CopyFrom(to_claim(fact.claim))
    message.subjects.extend(to_entity(subject) for subject in fact.subjects)
    message.contents.extend(
        resources_pb2.ContentLink(
            content_id=link.content_id, relationship=CONTENT_RELATIONSHIP.to_proto(link.relationship)
        )
        for link in fact.contents
    )
    message.tags.extend(fact.tags)
    if fact.metadata:
        message.metadata.CopyFrom(to_struct(fact.metadata))


def to_source(source: Source) -> resources_pb2.Source:
    """Returns a source as stored with its fact."""
    return resources_pb2.Source(
        source_id=to_id(source.source_id),
        fact_id=to_id(source.fact_id),
        source_type=source.source_type,
        url=source.url,
        title=source.title,
        external_id=source.external_id,
        credibility=source.credibility,
        extract_time=to_timestamp(source.extract_time),
        trust=TRUST.to_proto(source.trust),
        metadata=to_struct(source.metadata) if source.metadata else None,
        create_time=to_timestamp(source.create_time),
    )


def to_evidence(evidence: Evidence) -> resources_pb2.Evidence:
    """Returns a piece of evidence as stored with its fact."""
    return resources_pb2.Evidence(
        evidence_id=to_id(evidence.evidence_id),
        fact_id=to_id(evidence.fact_id),
        source_id=to_id(evidence.source_id),
        stance=EVIDENCE_STANCE.to_proto(evidence.stance),
        quote=evidence.quote,
        locator=evidence.locator,
        source_kind=evidence.source_kind,
        source_ref=evidence.source_ref,
        confidence=evidence.confidence,
        extraction_method=evidence.extraction_method,
        create_time=to_timestamp(evidence.create_time),
    )


def to_conflict(conflict: Conflict, now: datetime) -> resources_pb2.Conflict:
    """Returns a conflict with its facts as they are read at ``now``, the incumbent first."""
    return resources_pb2.Conflict(
        conflict_id=to_id(conflict.conflict_id),
        state=CONFLICT_STATE.to_proto(conflict.state),
        facts=[to_fact(fact, now) for fact in conflict.facts],
        reason=conflict.reason,
        create_time=to_timestamp(conflict.create_time),
        resolve_time=optional_timestamp(conflict.resolve_time),
        kept_fact_id=to_id(conflict.kept_fact_id),
        resolution_note=conflict.resolution_note,
        etag=conflict.etag,
    )


def to_candidate(candidate: Candidate) -> resources_pb2.Candidate:
    """Returns a known fact that was considered, as judged."""
    return resources_pb2.Candidate(
        fact_id=to_id(candidate.fact_id),
        similarity=candidate.similarity,
        relation=RELATION.optional_to_proto(candidate.relation),
        probabilities={relation.value: value for relation, value in candidate.probabilities.items()},
        discrepancies=[discrepancy.value for discrepancy in candidate.discrepancies],
        chosen=candidate.chosen,
    )


def to_decision(decision: Decision, *, stored: bool = True) -> resources_pb2.Decision:
    """Returns why a statement ended as it did; a decision that is not stored has no id to read it by."""
    return resources_pb2.Decision(
        decision_id=to_id(decision.decision_id) if stored else "",
        basis=DECISION_BASIS.to_proto(decision.basis),
        judge=decision.judge,
        action=RECONCILE_ACTION.to_proto(decision.action),
        candidates=[to_candidate(candidate) for candidate in decision.candidates],
        similarity_threshold=decision.thresholds.similarity,
        conflict_threshold=decision.thresholds.conflict,
        merge_probability_threshold=decision.thresholds.merge_probability,
        supersede_probability_threshold=decision.thresholds.supersede_probability,
        rationale=decision.rationale,
        create_time=to_timestamp(decision.create_time),
    )

"""Results from protobuf messages. Pure, one function per message."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

from google.protobuf.message import Message

from concord import resources as r
from concord._convert import FrozenDict, struct_from_proto, time_from_proto, value_from_proto
from concord.enums import (
    Cardinality,
    ConflictState,
    ContentRelationship,
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
    SubjectRole,
    Trend,
    Trust,
    Volatility,
    enum_from_proto,
)
from concord.errors import InternalError
from concord.inputs import Claim, ContentLink, EntityRef
from concord.results import ReconcileResult
from concord.v1 import consolidation_pb2, reconcile_service_pb2, resources_pb2

M = TypeVar("M", bound=Message)
R = TypeVar("R")


def optional(message: Message, field: str, parse: Callable[[Any], R]) -> R | None:
    """Parses a field that may be absent."""
    return parse(getattr(message, field)) if message.HasField(field) else None


def required(message: Message, field: str, parse: Callable[[Any], R]) -> R:
    """Parses a field that the contract promises.

    Raises:
        InternalError: the server broke the promise.
    """
    if not message.HasField(field):
        raise InternalError(f"the server sent a {message.DESCRIPTOR.name} without {field}")
    return parse(getattr(message, field))


def every(messages: Iterable[M], parse: Callable[[M], R]) -> tuple[R, ...]:
    """Parses a repeated field."""
    return tuple(parse(message) for message in messages)


def time(message: Message, field: str) -> datetime | None:
    """Parses a time that may be absent."""
    return optional(message, field, time_from_proto)


def entity(message: resources_pb2.EntityRef) -> EntityRef:
    """Parses a reference to an entity."""
    return EntityRef(message.entity_type, message.entity_id, enum_from_proto(SubjectRole, message.role))


def owner(message: resources_pb2.EntityRef) -> EntityRef:
    """Parses an owner, who has no role: equal to the reference that the caller wrote."""
    return EntityRef(message.entity_type, message.entity_id)


def claim(message: resources_pb2.Claim) -> Claim:
    """Parses a claim."""
    return Claim(
        subject=message.subject,
        predicate=message.predicate,
        value=value_from_proto(message.value),
        qualifiers=struct_from_proto(message.qualifiers),
        cardinality=enum_from_proto(Cardinality, message.cardinality),
    )


def content(message: resources_pb2.ContentLink) -> ContentLink:
    """Parses a link to content."""
    return ContentLink(message.content_id, enum_from_proto(ContentRelationship, message.relationship))


def source(message: resources_pb2.Source) -> r.Source:
    """Parses a source."""
    return r.Source(
        source_id=message.source_id,
        fact_id=message.fact_id,
        source_type=message.source_type,
        url=message.url,
        title=message.title,
        external_id=message.external_id,
        credibility=message.credibility if message.HasField("credibility") else None,
        extract_time=time(message, "extract_time"),
        trust=enum_from_proto(Trust, message.trust),
        metadata=struct_from_proto(message.metadata),
        create_time=time(message, "create_time"),
    )


def evidence(message: resources_pb2.Evidence) -> r.Evidence:
    """Parses a piece of evidence."""
    return r.Evidence(
        evidence_id=message.evidence_id,
        fact_id=message.fact_id,
        source_id=message.source_id,
        stance=enum_from_proto(EvidenceStance, message.stance),
        quote=message.quote,
        locator=message.locator,
        source_kind=message.source_kind,
        source_ref=message.source_ref,
        confidence=message.confidence,
        extraction_method=message.extraction_method,
        create_time=time(message, "create_time"),
    )


def fact(message: resources_pb2.Fact) -> r.Fact:
    """Parses a fact."""
    return r.Fact(
        fact_id=message.fact_id,
        domain=message.domain,
        access_scope=message.access_scope,
        type=enum_from_proto(FactType, message.type),
        owner=optional(message, "owner", owner),
        status=enum_from_proto(FactStatus, message.status),
        text=message.text,
        text_raw=message.text_raw,
        claim=optional(message, "claim", claim),
        evolution_type=enum_from_proto(EvolutionType, message.evolution_type),
        parent_ids=tuple(message.parent_ids),
        confidence=message.confidence,
        source_count=message.source_count,
        corroboration_score=message.corroboration_score,
        reinforcement_count=message.reinforcement_count,
        last_reinforce_time=time(message, "last_reinforce_time"),
        trust=enum_from_proto(Trust, message.trust),
        volatility=enum_from_proto(Volatility, message.volatility),
        freshness=enum_from_proto(Freshness, message.freshness),
        valid_from=time(message, "valid_from"),
        valid_to=time(message, "valid_to"),
        create_time=time(message, "create_time"),
        update_time=time(message, "update_time"),
        delete_time=time(message, "delete_time"),
        subjects=every(message.subjects, entity),
        contents=every(message.contents, content),
        tags=tuple(message.tags),
        conflict_id=message.conflict_id,
        version=message.version,
        etag=message.etag,
        metadata=struct_from_proto(message.metadata),
    )


def candidate(message: resources_pb2.Candidate) -> r.Candidate:
    """Parses a considered fact. Relations that this version does not know are left out of the probabilities."""
    known = {relation.value.lower(): relation for relation in Relation}
    return r.Candidate(
        fact_id=message.fact_id,
        similarity=message.similarity,
        relation=enum_from_proto(Relation, message.relation),
        probabilities=FrozenDict({known[k]: p for k, p in message.probabilities.items() if k in known}),
        discrepancies=tuple(message.discrepancies),
        chosen=message.chosen,
    )


def decision(message: resources_pb2.Decision) -> r.Decision:
    """Parses a decision."""
    return r.Decision(
        decision_id=message.decision_id,
        basis=enum_from_proto(DecisionBasis, message.basis),
        judge=message.judge,
        action=enum_from_proto(ReconcileAction, message.action),
        candidates=every(message.candidates, candidate),
        similarity_threshold=message.similarity_threshold,
        conflict_threshold=message.conflict_threshold,
        merge_probability_threshold=message.merge_probability_threshold,
        supersede_probability_threshold=message.supersede_probability_threshold,
        rationale=message.rationale,
        create_time=time(message, "create_time"),
    )


def conflict(message: resources_pb2.Conflict) -> r.Conflict:
    """Parses a conflict."""
    return r.Conflict(
        conflict_id=message.conflict_id,
        state=enum_from_proto(ConflictState, message.state),
        facts=every(message.facts, fact),
        reason=message.reason,
        create_time=time(message, "create_time"),
        resolve_time=time(message, "resolve_time"),
        kept_fact_id=message.kept_fact_id,
        resolution_note=message.resolution_note,
        etag=message.etag,
    )


def reconcile_result(message: reconcile_service_pb2.ReconcileResponse) -> ReconcileResult:
    """Parses what became of a statement."""
    return ReconcileResult(
        action=enum_from_proto(ReconcileAction, message.action),
        fact=required(message, "fact", fact),
        source=optional(message, "source", source),
        similarity=message.similarity if message.HasField("similarity") else None,
        matched_fact=optional(message, "matched_fact", fact),
        evolution_type=enum_from_proto(EvolutionType, message.evolution_type),
        conflict=optional(message, "conflict", conflict),
        decision=required(message, "decision", decision),
        warnings=tuple(message.warnings),
    )


def edge(message: resources_pb2.EvolutionEdge) -> r.EvolutionEdge:
    """Parses an edge."""
    return r.EvolutionEdge(
        parent_id=message.parent_id,
        child_id=message.child_id,
        evolution_type=enum_from_proto(EvolutionType, message.evolution_type),
    )


def fact_version(message: resources_pb2.FactVersion) -> r.FactVersion:
    """Parses a version of a fact."""
    return r.FactVersion(
        fact=required(message, "fact", fact),
        change=enum_from_proto(FactChange, message.change),
        actor=message.actor,
        reason=message.reason,
        recorded_from=time(message, "recorded_from"),
        recorded_to=time(message, "recorded_to"),
    )


def observation(message: consolidation_pb2.Observation) -> r.Observation:
    """Parses an observation."""
    return r.Observation(
        observation_id=message.observation_id,
        text=message.text,
        owner=optional(message, "owner", owner),
        domain=message.domain,
        access_scope=message.access_scope,
        tags=tuple(message.tags),
        proof_count=message.proof_count,
        source_fact_ids=tuple(message.source_fact_ids),
        first_time=time(message, "first_time"),
        last_time=time(message, "last_time"),
        state=enum_from_proto(ObservationState, message.state),
        trend=enum_from_proto(Trend, message.trend),
        create_time=time(message, "create_time"),
        update_time=time(message, "update_time"),
        version=message.version,
        etag=message.etag,
    )

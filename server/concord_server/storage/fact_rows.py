"""Facts to rows and back."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, ScalarSelect, Table, func, select
from sqlalchemy.dialects.postgresql import aggregate_order_by

from concord_server.domain.enums import (
    Cardinality,
    ContentRelationship,
    EvidenceStance,
    EvolutionType,
    FactStatus,
    FactType,
    SubjectRole,
    Trust,
    Volatility,
)
from concord_server.domain.model import (
    Claim,
    ContentLink,
    EntityRef,
    Evidence,
    Fact,
    Partition,
    Source,
    SourceInput,
)
from concord_server.storage.fact_tables import (
    STATE_COLUMNS,
    evolution_edges,
    fact_contents,
    fact_subjects,
    fact_tags,
    fact_versions,
    facts,
)

LINKS = ("subjects", "contents", "tags", "parents")
"""Names of what a fact is linked to, as columns of a version and of :func:`fact_columns`."""


def fact_values(fact: Fact, partition_id: UUID) -> dict[str, Any]:
    """Returns the values of the columns that a fact and its versions have in common, ids and version included."""
    claim = fact.claim
    return {
        "fact_id": fact.fact_id,
        "version": fact.version,
        "partition_id": partition_id,
        "access_scope": fact.partition.access_scope,
        "domain": fact.partition.domain,
        "type": fact.partition.type.value,
        "owner_type": fact.partition.owner_type,
        "owner_id": fact.partition.owner_id,
        "slot_id": fact.slot_id,
        "status": fact.status.value,
        "text": fact.text,
        "text_raw": fact.text_raw,
        "value_key": fact.value_key,
        "claim_subject": claim.subject if claim else None,
        "predicate": claim.predicate if claim else None,
        "claim_value": claim.value if claim else None,
        "qualifiers": dict(claim.qualifiers) if claim else None,
        "cardinality": claim.cardinality.value if claim else None,
        "evolution_type": fact.evolution_type.value,
        "confidence": fact.confidence,
        "source_count": fact.source_count,
        "corroboration_score": fact.corroboration_score,
        "reinforcement_count": fact.reinforcement_count,
        "last_reinforce_time": fact.last_reinforce_time,
        "trust": fact.trust.name,
        "volatility": fact.volatility.value,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "create_time": fact.create_time,
        "update_time": fact.update_time,
        "delete_time": fact.delete_time,
        "conflict_id": fact.conflict_id,
        "off_timeline": fact.off_timeline,
        "partition_revision": fact.partition_revision,
        "metadata": dict(fact.metadata),
    }


def link_values(fact: Fact) -> dict[str, list[Any]]:
    """Returns what a fact is linked to, as the JSON that its versions keep."""
    return {
        "subjects": [
            {"type": s.entity_type, "id": s.entity_id, "role": s.role.value} for s in dict.fromkeys(fact.subjects)
        ],
        "contents": [
            {"id": c.content_id, "relationship": c.relationship.value} for c in dict.fromkeys(fact.contents)
        ],
        "tags": list(dict.fromkeys(fact.tags)),
        "parents": [str(parent) for parent in dict.fromkeys(fact.parent_ids)],
    }


def fact_columns() -> list[ColumnElement[Any]]:
    """Returns what to select of ``facts`` for :func:`fact_from_row`: the fact with its links."""
    return [*_state_of(facts), *_link_columns()]


def version_columns() -> list[ColumnElement[Any]]:
    """Returns what to select of ``fact_versions`` for :func:`fact_from_row`."""
    return [*_state_of(fact_versions), *(fact_versions.c[name] for name in LINKS)]


def fact_from_row(row: Row[Any]) -> Fact:
    """Returns the fact of a row of :func:`fact_columns` or :func:`version_columns`."""
    return Fact(
        fact_id=row.fact_id,
        partition=Partition(
            access_scope=row.access_scope,
            domain=row.domain,
            type=FactType(row.type),
            owner_type=row.owner_type,
            owner_id=row.owner_id,
        ),
        slot_id=row.slot_id,
        status=FactStatus(row.status),
        text=row.text,
        text_raw=row.text_raw,
        value_key=row.value_key,
        claim=_claim(row),
        evolution_type=EvolutionType(row.evolution_type),
        confidence=row.confidence,
        source_count=row.source_count,
        corroboration_score=row.corroboration_score,
        reinforcement_count=row.reinforcement_count,
        last_reinforce_time=row.last_reinforce_time,
        trust=Trust[row.trust],
        volatility=Volatility(row.volatility),
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        create_time=row.create_time,
        update_time=row.update_time,
        delete_time=row.delete_time,
        conflict_id=row.conflict_id,
        off_timeline=row.off_timeline,
        partition_revision=row.partition_revision,
        version=row.version,
        metadata=row.metadata,
        parent_ids=tuple(UUID(parent) for parent in row.parents or ()),
        subjects=tuple(EntityRef(s["type"], s["id"], SubjectRole(s["role"])) for s in row.subjects or ()),
        contents=tuple(ContentLink(c["id"], ContentRelationship(c["relationship"])) for c in row.contents or ()),
        tags=tuple(row.tags or ()),
    )


def source_from_row(row: Row[Any]) -> Source:
    """Returns the source of a row of ``sources``."""
    return Source(
        source_id=row.source_id,
        fact_id=row.fact_id,
        source_type=row.source_type,
        url=row.url,
        title=row.title,
        external_id=row.external_id,
        credibility=row.credibility,
        extract_time=row.extract_time,
        trust=Trust[row.trust],
        metadata=row.metadata,
        create_time=row.create_time,
    )


def source_identity_digest(source: Source) -> bytes:
    """Returns what makes two sources of a fact the same, in a form of bounded length."""
    named = SourceInput(
        source_type=source.source_type, url=source.url, title=source.title, external_id=source.external_id
    )
    return hashlib.sha256(named.identity.encode()).digest()


def evidence_from_row(row: Row[Any]) -> Evidence:
    """Returns the evidence of a row of ``evidence``."""
    return Evidence(
        evidence_id=row.evidence_id,
        fact_id=row.fact_id,
        source_id=row.source_id,
        stance=EvidenceStance(row.stance),
        quote=row.quote,
        locator=row.locator,
        source_kind=row.source_kind,
        source_ref=row.source_ref,
        confidence=row.confidence,
        extraction_method=row.extraction_method,
        create_time=row.create_time,
    )


def evidence_content_digest(item: Evidence) -> bytes:
    """Returns what makes two pieces of evidence of a fact identical."""
    content = [
        str(item.source_id or ""),
        item.stance.value,
        item.quote,
        item.locator,
        item.source_kind,
        item.source_ref,
        item.confidence,
        item.extraction_method,
    ]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).digest()


def _claim(row: Row[Any]) -> Claim | None:
    if row.predicate is None:
        return None
    return Claim(
        subject=row.claim_subject,
        predicate=row.predicate,
        value=row.claim_value,
        qualifiers=row.qualifiers,
        cardinality=Cardinality(row.cardinality),
    )


def _state_of(table: Table) -> list[ColumnElement[Any]]:
    return [table.c.fact_id, table.c.version, *(table.c[name] for name in STATE_COLUMNS)]


def _link_columns() -> list[ColumnElement[Any]]:
    subjects, contents, tags, edges = fact_subjects.c, fact_contents.c, fact_tags.c, evolution_edges.c
    subject = func.json_build_object("type", subjects.entity_type, "id", subjects.entity_id, "role", subjects.role)
    content = func.json_build_object("id", contents.content_id, "relationship", contents.relationship)
    return [
        _collected(subject, subjects.position, fact_subjects, "fact_id").label("subjects"),
        _collected(content, contents.position, fact_contents, "fact_id").label("contents"),
        _collected(tags.tag, tags.position, fact_tags, "fact_id").label("tags"),
        _collected(edges.parent_id, edges.position, evolution_edges, "child_id").label("parents"),
    ]


def _collected(
    item: ColumnElement[Any], position: ColumnElement[Any], table: Table, key: str
) -> ScalarSelect[Any]:
    """Returns the links of the fact at hand as one JSON array, null when it has none."""
    return (
        select(func.json_agg(aggregate_order_by(item, position)))
        .where(table.c.project_id == facts.c.project_id, table.c[key] == facts.c.fact_id)
        .correlate(facts)
        .scalar_subquery()
    )

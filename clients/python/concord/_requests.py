"""Protobuf messages from inputs. Pure, one function per message."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from concord._convert import optional_struct, time_to_proto, value_to_proto
from concord.enums import EvolutionType, enum_to_proto
from concord.inputs import Claim, ContentLink, EntityRef, EvidenceInput, FactFilter, SourceInput, Statement
from concord.v1 import evolution_service_pb2, reconcile_service_pb2, resources_pb2


def new_request_id() -> str:
    """Returns an id under which a write can be repeated without doubling it."""
    return str(uuid.uuid4())


def numbers(members: Sequence[StrEnum]) -> list[Any]:
    """Converts enum members.

    Raises:
        TypeError: a single member, or plain text, was given for the sequence.
    """
    if isinstance(members, str):
        raise TypeError(f"a sequence of enum members is needed, not {members!r}")
    return [enum_to_proto(member) for member in members]


def entity(ref: EntityRef | None) -> resources_pb2.EntityRef | None:
    """Converts a reference to an entity; None stays None."""
    if ref is None:
        return None
    return resources_pb2.EntityRef(
        entity_type=ref.entity_type, entity_id=ref.entity_id, role=enum_to_proto(ref.role)
    )


def claim(given: Claim | None) -> resources_pb2.Claim | None:
    """Converts a claim; None stays None."""
    if given is None:
        return None
    return resources_pb2.Claim(
        subject=given.subject,
        predicate=given.predicate,
        value=value_to_proto(given.value),
        qualifiers=optional_struct(given.qualifiers),
        cardinality=enum_to_proto(given.cardinality),
    )


def source(given: SourceInput | None) -> resources_pb2.SourceInput | None:
    """Converts a source; None stays None."""
    if given is None:
        return None
    return resources_pb2.SourceInput(
        source_type=given.source_type,
        url=given.url,
        title=given.title,
        external_id=given.external_id,
        credibility=given.credibility,
        extract_time=time_to_proto(given.extract_time),
        trust=enum_to_proto(given.trust),
        metadata=optional_struct(given.metadata),
    )


def evidence(given: EvidenceInput) -> resources_pb2.EvidenceInput:
    """Converts a piece of evidence."""
    return resources_pb2.EvidenceInput(
        stance=enum_to_proto(given.stance),
        quote=given.quote,
        locator=given.locator,
        source_kind=given.source_kind,
        source_ref=given.source_ref,
        confidence=given.confidence,
        extraction_method=given.extraction_method,
    )


def content(link: ContentLink) -> resources_pb2.ContentLink:
    """Converts a link to content."""
    return resources_pb2.ContentLink(content_id=link.content_id, relationship=enum_to_proto(link.relationship))


def repeatable(statement: Statement | str) -> Statement:
    """Returns the statement with a request id, made here if it has none.

    A dry run needs none: it writes nothing.
    """
    if isinstance(statement, str):
        statement = Statement(statement)
    if statement.request_id or statement.validate_only:
        return statement
    return replace(statement, request_id=new_request_id())


def _common(statement: Statement) -> dict[str, Any]:
    """The fields that Reconcile and Branch share."""
    return {
        "text": statement.text,
        "type": enum_to_proto(statement.type),
        "domain": statement.domain,
        "access_scope": statement.access_scope,
        "owner": entity(statement.owner),
        "claim": claim(statement.claim),
        "source": source(statement.source),
        "evidence": [evidence(item) for item in statement.evidence],
        "subjects": [entity(item) for item in statement.subjects],
        "contents": [content(item) for item in statement.contents],
        "tags": list(statement.tags),
        "observe_time": time_to_proto(statement.observe_time),
        "valid_from": time_to_proto(statement.valid_from),
        "valid_to": time_to_proto(statement.valid_to),
        "corroboration_score": statement.corroboration_score,
        "volatility": enum_to_proto(statement.volatility),
        "metadata": optional_struct(statement.metadata),
        "request_id": statement.request_id,
    }


def reconcile(statement: Statement) -> reconcile_service_pb2.ReconcileRequest:
    """Converts a statement to reconcile."""
    return reconcile_service_pb2.ReconcileRequest(
        **_common(statement),
        similarity_threshold=statement.similarity_threshold,
        conflict_threshold=statement.conflict_threshold,
        merge_probability_threshold=statement.merge_probability_threshold,
        contradiction_policy=enum_to_proto(statement.contradiction_policy),
        validate_only=statement.validate_only,
    )


def branch(
    parent_ids: Sequence[str], statement: Statement, evolution_type: EvolutionType
) -> evolution_service_pb2.BranchRequest:
    """Converts a statement to write below given parents.

    Raises:
        ValueError: the statement asks for something that only Reconcile has.
    """
    plain = Statement("")
    for name in (
        "similarity_threshold",
        "conflict_threshold",
        "merge_probability_threshold",
        "contradiction_policy",
        "validate_only",
    ):
        if getattr(statement, name) != getattr(plain, name):
            raise ValueError(f"branch takes no {name}")
    return evolution_service_pb2.BranchRequest(
        **_common(statement), parent_ids=list(parent_ids), evolution_type=enum_to_proto(evolution_type)
    )


def fact_filter(given: FactFilter) -> dict[str, Any]:
    """The fields of a filter, as ListFacts and SearchFacts have them."""
    return {
        "domain": given.domain,
        "access_scope": given.access_scope,
        "types": numbers(given.types),
        "statuses": numbers(given.statuses),
        "entity": entity(given.entity),
        "owner": entity(given.owner),
        "content_id": given.content_id,
        "tag": given.tag,
        "predicate": given.predicate,
        "min_confidence": given.min_confidence,
        "as_of": time_to_proto(given.as_of),
        "known_at": time_to_proto(given.known_at),
    }

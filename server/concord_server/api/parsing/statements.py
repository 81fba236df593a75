"""Statements to reconcile, single or as items of a batch or stream."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from concord.v1 import reconcile_service_pb2, resources_pb2

from concord_server.api.enums import (
    CARDINALITY,
    CONTENT_RELATIONSHIP,
    CONTRADICTION_POLICY,
    EVIDENCE_STANCE,
    FACT_TYPE,
    TRUST,
    VOLATILITY,
)
from concord_server.api.parsing.fields import parse_entity, parse_enum, parse_time
from concord_server.api.parsing.idempotency import parse_idempotency
from concord_server.api.wellknown import to_json, to_json_object
from concord_server.domain.commands import (
    ANY_THRESHOLDS,
    ClaimInput,
    ReconcileCommand,
    ThresholdOverrides,
    Violations,
    validate_reconcile,
)
from concord_server.domain.enums import ContentRelationship, EvidenceStance, FactType, Trust
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.model import ContentLink, EvidenceInput, SourceInput
from concord_server.services.context import Idempotency
from concord_server.services.results import ReconcileResult

RECONCILE_METHOD = "concord.v1.ReconcileService/Reconcile"
"""The method under which request ids of statements are kept, through whichever RPC they come."""


def parse_statement(
    request: reconcile_service_pb2.ReconcileRequest, encode: Callable[[ReconcileResult], bytes], now: datetime
) -> tuple[ReconcileCommand, Idempotency[ReconcileResult] | None]:
    """Returns what a request asks for, and under which id it may be repeated.

    What can be read is left to the use case to validate, which knows the project's thresholds. Where something
    cannot be read, the rest is validated here, so that one answer names every bad field. A dry run is answered
    anew each time: storing its answer would be a write.

    Args:
        request: the same through Reconcile, BatchReconcile and StreamReconcile, and so is its fingerprint.
        encode: turns the first answer into what is stored for repeated requests.
        now: the current time.

    Raises:
        InvalidFieldsError: something cannot be read.
    """
    found = Violations()
    command = _command(request, found)
    idempotency = parse_idempotency(RECONCILE_METHOD, request, request.request_id, encode, found)
    try:
        found.raise_if_any()
    except InvalidFieldsError:
        validate_reconcile(command, ANY_THRESHOLDS, now, found)
        found.raise_if_any()
    return command, None if command.validate_only else idempotency


def _command(request: reconcile_service_pb2.ReconcileRequest, found: Violations) -> ReconcileCommand:
    return ReconcileCommand(
        text=request.text,
        type=parse_enum("type", request.type, FACT_TYPE, found) or FactType.ASSERTION,
        domain=request.domain,
        access_scope=request.access_scope,
        owner=parse_entity("owner", request.owner, found) if request.HasField("owner") else None,
        claim=parse_claim("claim", request.claim, found) if request.HasField("claim") else None,
        source=parse_source("source", request.source, found) if request.HasField("source") else None,
        evidence=tuple(parse_evidence(f"evidence[{i}]", e, found) for i, e in enumerate(request.evidence)),
        subjects=tuple(parse_entity(f"subjects[{i}]", e, found) for i, e in enumerate(request.subjects)),
        contents=tuple(parse_content(f"contents[{i}]", c, found) for i, c in enumerate(request.contents)),
        tags=tuple(request.tags),
        observe_time=parse_time(request, "observe_time", found),
        valid_from=parse_time(request, "valid_from", found),
        valid_to=parse_time(request, "valid_to", found),
        thresholds=_thresholds(request),
        contradiction_policy=parse_enum(
            "contradiction_policy", request.contradiction_policy, CONTRADICTION_POLICY, found
        ),
        corroboration_score=request.corroboration_score,
        volatility=parse_enum("volatility", request.volatility, VOLATILITY, found),
        metadata=to_json_object(request.metadata),
        validate_only=request.validate_only,
    )


def _thresholds(request: reconcile_service_pb2.ReconcileRequest) -> ThresholdOverrides:
    return ThresholdOverrides(
        similarity=request.similarity_threshold if request.HasField("similarity_threshold") else None,
        conflict=request.conflict_threshold if request.HasField("conflict_threshold") else None,
        merge_probability=(
            request.merge_probability_threshold if request.HasField("merge_probability_threshold") else None
        ),
    )


def parse_claim(name: str, claim: resources_pb2.Claim, found: Violations) -> ClaimInput:
    """Returns a claim as given; one without a value has a null, which validation refuses."""
    return ClaimInput(
        subject=claim.subject,
        predicate=claim.predicate,
        value=to_json(claim.value),
        qualifiers=to_json_object(claim.qualifiers),
        cardinality=parse_enum(f"{name}.cardinality", claim.cardinality, CARDINALITY, found),
    )


def parse_source(name: str, source: resources_pb2.SourceInput, found: Violations) -> SourceInput:
    """Returns where a statement comes from."""
    return SourceInput(
        source_type=source.source_type,
        url=source.url,
        title=source.title,
        external_id=source.external_id,
        credibility=source.credibility if source.HasField("credibility") else None,
        extract_time=parse_time(source, "extract_time", found, within=f"{name}."),
        trust=parse_enum(f"{name}.trust", source.trust, TRUST, found) or Trust.TRUSTED,
        metadata=to_json_object(source.metadata),
    )


def parse_evidence(name: str, item: resources_pb2.EvidenceInput, found: Violations) -> EvidenceInput:
    """Returns a passage for or against a statement."""
    return EvidenceInput(
        stance=parse_enum(f"{name}.stance", item.stance, EVIDENCE_STANCE, found) or EvidenceStance.SUPPORTS,
        quote=item.quote,
        locator=item.locator,
        source_kind=item.source_kind,
        source_ref=item.source_ref,
        confidence=item.confidence,
        extraction_method=item.extraction_method,
    )


def parse_content(name: str, link: resources_pb2.ContentLink, found: Violations) -> ContentLink:
    """Returns a link to a piece of content."""
    relationship = parse_enum(f"{name}.relationship", link.relationship, CONTENT_RELATIONSHIP, found)
    return ContentLink(link.content_id, relationship or ContentRelationship.EXTRACTED_FROM)

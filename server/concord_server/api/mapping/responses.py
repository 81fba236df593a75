"""The responses of the RPCs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from concord.v1 import briefing_service_pb2, evolution_service_pb2, reconcile_service_pb2

from concord_server.api.enums import EVOLUTION_TYPE, RECONCILE_ACTION
from concord_server.api.mapping.resources import (
    to_conflict,
    to_decision,
    to_evidence,
    to_fact,
    to_source,
)
from concord_server.api.wellknown import to_duration
from concord_server.domain.confidence import confidence
from concord_server.domain.model import Conflict, Fact, Source
from concord_server.domain.queries import ConflictSummary, Page
from concord_server.services.results import FactDetails, ReconcileResult


def to_reconcile_response(
    result: ReconcileResult, now: datetime, *, stored: bool = True
) -> reconcile_service_pb2.ReconcileResponse:
    """Returns what became of a statement.

    Args:
        result: as the use case answered.
        now: when it is read.
        stored: false for a dry run, whose decision cannot be read later.
    """
    return reconcile_service_pb2.ReconcileResponse(
        action=RECONCILE_ACTION.to_proto(result.action),
        fact=to_fact(result.fact, now),
        source=None if result.source is None else to_source(result.source),
        similarity=result.similarity,
        matched_fact=None if result.matched_fact is None else to_fact(result.matched_fact, now),
        evolution_type=EVOLUTION_TYPE.optional_to_proto(result.evolution_type),
        conflict=None if result.conflict is None else to_conflict(result.conflict, now),
        decision=to_decision(result.decision, stored=stored),
        warnings=result.warnings,
    )


def to_get_fact_response(
    details: FactDetails, now: datetime, *, recompute_confidence: bool
) -> briefing_service_pb2.GetFactResponse:
    """Returns a fact with its provenance.

    Args:
        details: as the use case answered.
        now: when it is read.
        recompute_confidence: whether the confidence is as of ``now``, instead of as stored.
    """
    fact = details.fact
    if recompute_confidence:
        fact = _with_confidence_at(fact, details.sources, now)
    return briefing_service_pb2.GetFactResponse(
        fact=to_fact(fact, now),
        sources=[to_source(source) for source in details.sources],
        evidence=[to_evidence(evidence) for evidence in details.evidence],
    )


def _with_confidence_at(fact: Fact, sources: tuple[Source, ...], now: datetime) -> Fact:
    newest = max((source.extract_time for source in sources), default=None)
    credibilities = [source.credibility for source in sources]
    return replace(fact, confidence=confidence(credibilities, newest, fact.corroboration_score, now))


def to_list_facts_response(
    page: Page[Fact], next_page_token: str, now: datetime
) -> briefing_service_pb2.ListFactsResponse:
    """Returns a page of facts."""
    return briefing_service_pb2.ListFactsResponse(
        facts=[to_fact(fact, now) for fact in page.items],
        next_page_token=next_page_token,
        total_size=page.total,
    )


def to_list_conflicts_response(
    page: Page[Conflict], summary: ConflictSummary, next_page_token: str, now: datetime
) -> reconcile_service_pb2.ListConflictsResponse:
    """Returns a page of conflicts; without an open one the oldest's age stays unset."""
    oldest = summary.oldest_open_time
    return reconcile_service_pb2.ListConflictsResponse(
        conflicts=[to_conflict(conflict, now) for conflict in page.items],
        open_count=summary.open_count,
        oldest_open_age=None if oldest is None else to_duration(max(now - oldest, timedelta())),
        next_page_token=next_page_token,
        total_size=page.total,
    )


def to_resolve_conflict_response(
    conflict: Conflict, now: datetime
) -> reconcile_service_pb2.ResolveConflictResponse:
    """Returns the decided conflict."""
    return reconcile_service_pb2.ResolveConflictResponse(conflict=to_conflict(conflict, now))


def to_update_fact_status_response(fact: Fact, now: datetime) -> evolution_service_pb2.UpdateFactStatusResponse:
    """Returns the fact in its new status."""
    return evolution_service_pb2.UpdateFactStatusResponse(fact=to_fact(fact, now))

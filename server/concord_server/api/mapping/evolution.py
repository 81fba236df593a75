"""The responses about lineage and history, and of withdrawing a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from concord.v1 import briefing_service_pb2, evolution_service_pb2, reconcile_service_pb2, resources_pb2

from concord_server.api.enums import EVOLUTION_TYPE, FACT_CHANGE
from concord_server.api.mapping.resources import to_fact, to_id, to_source
from concord_server.api.wellknown import optional_timestamp, to_timestamp
from concord_server.domain.lineage import EvolutionEdge, FamilyPage
from concord_server.domain.model import Fact, FactVersion
from concord_server.domain.queries import Page
from concord_server.services.batch_get_facts import FoundFacts
from concord_server.services.branch import Branched
from concord_server.services.withdraw_source import Withdrawal


def to_branch_response(branched: Branched, now: datetime) -> evolution_service_pb2.BranchResponse:
    """Returns the derived fact."""
    return evolution_service_pb2.BranchResponse(
        fact=to_fact(branched.fact, now),
        source=None if branched.source is None else to_source(branched.source),
        warnings=branched.warnings,
    )


def to_chain_response(chain: Sequence[Fact], now: datetime) -> evolution_service_pb2.GetEvolutionChainResponse:
    """Returns a line, root first."""
    return evolution_service_pb2.GetEvolutionChainResponse(facts=[to_fact(fact, now) for fact in chain])


def to_latest_response(latest: Fact, now: datetime) -> evolution_service_pb2.GetLatestInChainResponse:
    """Returns the end of a line."""
    return evolution_service_pb2.GetLatestInChainResponse(fact=to_fact(latest, now))


def to_tree_response(
    page: FamilyPage, next_page_token: str, now: datetime
) -> evolution_service_pb2.GetEvolutionTreeResponse:
    """Returns a page of a family with the edges that lead to its facts."""
    return evolution_service_pb2.GetEvolutionTreeResponse(
        facts=[to_fact(fact, now) for fact in page.facts],
        edges=[to_edge(edge) for edge in page.edges],
        next_page_token=next_page_token,
        total_size=page.total,
    )


def to_edge(edge: EvolutionEdge) -> resources_pb2.EvolutionEdge:
    """Returns an edge of the family graph."""
    return resources_pb2.EvolutionEdge(
        parent_id=to_id(edge.parent_id),
        child_id=to_id(edge.child_id),
        evolution_type=EVOLUTION_TYPE.to_proto(edge.evolution_type),
    )


def to_versions_response(
    page: Page[FactVersion], next_page_token: str, now: datetime
) -> evolution_service_pb2.ListFactVersionsResponse:
    """Returns a page of recorded states."""
    return evolution_service_pb2.ListFactVersionsResponse(
        versions=[to_version(version, now) for version in page.items],
        next_page_token=next_page_token,
        total_size=page.total,
    )


def to_version(version: FactVersion, now: datetime) -> resources_pb2.FactVersion:
    """Returns a recorded state; of a fact that was erased since, without its content."""
    fact = version.fact
    if not fact.text:
        fact = replace(fact, subjects=(), contents=())
    return resources_pb2.FactVersion(
        fact=to_fact(fact, now),
        change=FACT_CHANGE.to_proto(version.change),
        actor=version.actor,
        reason=version.reason,
        recorded_from=to_timestamp(version.recorded_from),
        recorded_to=optional_timestamp(version.recorded_to),
    )


def to_update_fact_response(fact: Fact, now: datetime) -> evolution_service_pb2.UpdateFactResponse:
    """Returns the changed fact."""
    return evolution_service_pb2.UpdateFactResponse(fact=to_fact(fact, now))


def to_withdraw_source_response(withdrawal: Withdrawal) -> reconcile_service_pb2.WithdrawSourceResponse:
    """Returns what a withdrawal did."""
    return reconcile_service_pb2.WithdrawSourceResponse(
        affected_count=withdrawal.affected_count,
        disputed_fact_ids=[to_id(fact_id) for fact_id in withdrawal.disputed_fact_ids],
    )


def to_batch_get_facts_response(found: FoundFacts, now: datetime) -> briefing_service_pb2.BatchGetFactsResponse:
    """Returns the facts that exist, and the ids that are unknown."""
    return briefing_service_pb2.BatchGetFactsResponse(
        facts=[to_fact(fact, now) for fact in found.facts],
        missing_ids=[to_id(fact_id) for fact_id in found.missing],
    )

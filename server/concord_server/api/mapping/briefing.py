"""The responses of BriefingService."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from concord.v1 import briefing_service_pb2 as pb
from concord.v1 import enums_pb2

from concord_server.api.enums import CLAIM_SUPPORT, FACT_STATUS, FACT_TYPE
from concord_server.api.mapping.observations import to_observation
from concord_server.api.mapping.resources import to_conflict, to_fact
from concord_server.api.wellknown import to_timestamp
from concord_server.domain.claim_check import ClaimCheck
from concord_server.domain.entities import EntitySummary
from concord_server.domain.noteworthiness import RankedFact
from concord_server.domain.observations import FoundObservation
from concord_server.domain.queries import Page
from concord_server.domain.search import SearchResult
from concord_server.services.briefing import Briefing
from concord_server.services.merge_entities import MergeReceipt


def to_search_response(
    results: Sequence[SearchResult], observations: Sequence[FoundObservation], now: datetime
) -> pb.SearchFactsResponse:
    """Returns what was found, best first; observations apart from facts."""
    return pb.SearchFactsResponse(
        results=[
            pb.FactSearchResult(
                fact=to_fact(result.fact, now),
                similarity=result.similarity,
                text_rank=result.text_rank,
                score=result.score,
            )
            for result in results
        ],
        observations=[
            pb.ObservationSearchResult(
                observation=to_observation(found.observation, now), similarity=found.similarity
            )
            for found in observations
        ],
    )


def to_briefing_response(briefing: Briefing, next_page_token: str) -> pb.GetEntityBriefingResponse:
    """Returns a briefing with a page of its facts; counts are keyed by full enum name."""
    now = briefing.generate_time
    by_type, by_status = briefing.counts.by_type, briefing.counts.by_status
    return pb.GetEntityBriefingResponse(
        entity_type=briefing.entity.entity_type,
        entity_id=briefing.entity.entity_id,
        facts=[to_fact(fact, now) for fact in briefing.facts.items],
        total_count=briefing.counts.total,
        by_type={enums_pb2.FactType.Name(FACT_TYPE.to_proto(t)): count for t, count in by_type.items()},
        by_status={enums_pb2.FactStatus.Name(FACT_STATUS.to_proto(s)): count for s, count in by_status.items()},
        observations=[to_observation(observation, now) for observation in briefing.observations],
        open_conflicts=[to_conflict(conflict, now) for conflict in briefing.open_conflicts],
        markdown=briefing.markdown,
        next_page_token=next_page_token,
        generate_time=to_timestamp(now),
    )


def to_noteworthy_response(
    page: Page[RankedFact], next_page_token: str, now: datetime
) -> pb.ListNoteworthyFactsResponse:
    """Returns a page of ranked facts with the parts of their scores."""
    return pb.ListNoteworthyFactsResponse(
        results=[
            pb.NoteworthyFact(
                fact=to_fact(ranked.fact, now),
                score=ranked.noteworthiness.score,
                confidence_part=ranked.noteworthiness.confidence,
                source_part=ranked.noteworthiness.sources,
                recency_part=ranked.noteworthiness.recency,
            )
            for ranked in page.items
        ],
        next_page_token=next_page_token,
        total_size=page.total,
    )


def to_check_response(check: ClaimCheck, now: datetime) -> pb.CheckClaimResponse:
    """Returns what the ledger says about a statement."""
    return pb.CheckClaimResponse(
        support=CLAIM_SUPPORT.to_proto(check.support),
        supporting=[to_fact(fact, now) for fact in check.supporting],
        contradicting=[to_fact(fact, now) for fact in check.contradicting],
        rationale=check.rationale,
    )


def to_list_entities_response(page: Page[EntitySummary], next_page_token: str) -> pb.ListEntitiesResponse:
    """Returns a page of entities."""
    return pb.ListEntitiesResponse(
        entities=[
            pb.EntitySummary(
                entity_type=entity.entity_type,
                entity_id=entity.entity_id,
                fact_count=entity.fact_count,
                last_time=to_timestamp(entity.last_time),
            )
            for entity in page.items
        ],
        next_page_token=next_page_token,
        total_size=page.total,
    )


def to_merge_response(receipt: MergeReceipt, now: datetime) -> pb.MergeEntitiesResponse:
    """Returns what a merge did."""
    return pb.MergeEntitiesResponse(
        moved_count=receipt.moved_count, conflicts=[to_conflict(conflict, now) for conflict in receipt.conflicts]
    )

"""The calls of BriefingService."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from concord import _parse, _requests
from concord import results as r
from concord._call import Call, Rpc
from concord._convert import FrozenDict, time_to_proto
from concord.enums import (
    ClaimSupport,
    FactStatus,
    FactType,
    SubjectRole,
    enum_from_name,
    enum_from_proto,
)
from concord.inputs import Claim, EntityRef, FactFilter
from concord.resources import Fact
from concord.v1 import briefing_service_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["BriefingService"]
_GET_BRIEFING = Rpc.of(_SERVICE, pb.GetEntityBriefingRequest, pb.GetEntityBriefingResponse)
_GET_FACT = Rpc.of(_SERVICE, pb.GetFactRequest, pb.GetFactResponse)
_BATCH_GET_FACTS = Rpc.of(_SERVICE, pb.BatchGetFactsRequest, pb.BatchGetFactsResponse)
_LIST_FACTS = Rpc.of(_SERVICE, pb.ListFactsRequest, pb.ListFactsResponse)
_SEARCH_FACTS = Rpc.of(_SERVICE, pb.SearchFactsRequest, pb.SearchFactsResponse)
_LIST_NOTEWORTHY = Rpc.of(_SERVICE, pb.ListNoteworthyFactsRequest, pb.ListNoteworthyFactsResponse)
_CHECK_CLAIM = Rpc.of(_SERVICE, pb.CheckClaimRequest, pb.CheckClaimResponse)

EVERY_FACT = FactFilter()
"""The filter that leaves out nothing but what is erased."""


def get_entity_briefing(
    entity_type: str,
    entity_id: str,
    *,
    statuses: Sequence[FactStatus] = (),
    types: Sequence[FactType] = (),
    roles: Sequence[SubjectRole] = (),
    domain: str = "",
    access_scope: str | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    include_conflicted: bool = False,
    page_size: int = 0,
    page_token: str = "",
    max_tokens: int = 0,
    recompute_confidence: bool = False,
    timeout: float | None = None,
) -> Call[r.Briefing]:
    """Gathers what is known about an entity. An unknown one has an empty briefing.

    Args:
        entity_type: kind of entity.
        entity_id: its id.
        statuses: only these; empty for all but DELETED.
        types: only these; empty for all.
        roles: only facts in which it has one of these roles; empty for any.
        domain: only this domain; empty for all.
        access_scope: only this scope; "" for unscoped facts, None for all that the credential may read.
        as_of: what held at this time.
        known_at: as it was on record at this time.
        include_conflicted: shows conflicted facts in the current part of the markdown too.
        page_size: facts per page, at most 500; 0 means 50.
        page_token: the ``next_page_token`` of the briefing before.
        max_tokens: longest markdown, in tokens; 0 means the server's own bound.
        recompute_confidence: confidence as of now instead of as of the fact's last change.
        timeout: seconds for all attempts; None means the client's default.
    """
    request = pb.GetEntityBriefingRequest(
        entity_type=entity_type,
        entity_id=entity_id,
        statuses=_requests.numbers(statuses),
        types=_requests.numbers(types),
        roles=_requests.numbers(roles),
        domain=domain,
        access_scope=access_scope,
        as_of=time_to_proto(as_of),
        known_at=time_to_proto(known_at),
        include_conflicted=include_conflicted,
        page_size=page_size,
        page_token=page_token,
        max_tokens=max_tokens,
        recompute_confidence=recompute_confidence,
    )
    return _GET_BRIEFING.call(request, _briefing, timeout=timeout)


def _briefing(response: pb.GetEntityBriefingResponse) -> r.Briefing:
    return r.Briefing(
        entity_type=response.entity_type,
        entity_id=response.entity_id,
        facts=_parse.every(response.facts, _parse.fact),
        total_count=response.total_count,
        by_type=FrozenDict({enum_from_name(FactType, name): n for name, n in response.by_type.items()}),
        by_status=FrozenDict({enum_from_name(FactStatus, name): n for name, n in response.by_status.items()}),
        observations=_parse.every(response.observations, _parse.observation),
        open_conflicts=_parse.every(response.open_conflicts, _parse.conflict),
        markdown=response.markdown,
        next_page_token=response.next_page_token,
        generate_time=_parse.time(response, "generate_time"),
    )


def get_fact(
    fact_id: str, *, recompute_confidence: bool = False, timeout: float | None = None
) -> Call[r.FactDetails]:
    """Reads a fact with its sources and evidence.

    Args:
        fact_id: the fact.
        recompute_confidence: confidence as of now instead of as of the fact's last change.
        timeout: seconds for all attempts; None means the client's default.

    Raises:
        NotFoundError: no such fact.
    """

    def parse(response: pb.GetFactResponse) -> r.FactDetails:
        return r.FactDetails(
            fact=_parse.required(response, "fact", _parse.fact),
            sources=_parse.every(response.sources, _parse.source),
            evidence=_parse.every(response.evidence, _parse.evidence),
        )

    request = pb.GetFactRequest(fact_id=fact_id, recompute_confidence=recompute_confidence)
    return _GET_FACT.call(request, parse, timeout=timeout)


def batch_get_facts(
    fact_ids: Sequence[str], *, recompute_confidence: bool = False, timeout: float | None = None
) -> Call[r.FactBatch]:
    """Reads up to 500 facts by id. Unknown ids are listed, not an error."""
    request = pb.BatchGetFactsRequest(fact_ids=fact_ids, recompute_confidence=recompute_confidence)

    def parse(response: pb.BatchGetFactsResponse) -> r.FactBatch:
        return r.FactBatch(
            facts=_parse.every(response.facts, _parse.fact), missing_ids=tuple(response.missing_ids)
        )

    return _BATCH_GET_FACTS.call(request, parse, timeout=timeout)


def list_facts(
    where: FactFilter = EVERY_FACT,
    *,
    order_by: str = "",
    recompute_confidence: bool = False,
    page_size: int = 0,
    page_token: str = "",
    timeout: float | None = None,
) -> Call[r.Page[Fact]]:
    """Lists facts, newest first.

    Args:
        where: which facts.
        order_by: one of create_time, update_time, valid_from, confidence, with or without " desc".
        recompute_confidence: confidence as of now instead of as of the fact's last change.
        page_size: facts per page, at most 500; 0 means 50.
        page_token: the ``next_page_token`` of the page before.
        timeout: seconds for all attempts of a page; None means the client's default.
    """
    request = pb.ListFactsRequest(
        **_requests.fact_filter(where),
        order_by=order_by,
        recompute_confidence=recompute_confidence,
        page_size=page_size,
        page_token=page_token,
    )

    def parse(response: pb.ListFactsResponse) -> r.Page[Fact]:
        return r.Page(
            items=_parse.every(response.facts, _parse.fact),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
        )

    return _LIST_FACTS.call(request, parse, timeout=timeout)


def search_facts(
    query: str,
    where: FactFilter = EVERY_FACT,
    *,
    top_k: int = 0,
    min_similarity: float = 0.0,
    include_superseded: bool = False,
    include_conflicted: bool = False,
    timeout: float | None = None,
) -> Call[tuple[r.SearchResult, ...]]:
    """Finds current facts by meaning and by words, best first.

    Args:
        query: what to find, with at least one letter or digit.
        where: which facts to look through.
        top_k: how many to return, at most 100; 0 means 10.
        min_similarity: leaves out what is less similar and matches no word.
        include_superseded: finds superseded facts too.
        include_conflicted: finds members of open conflicts too.
        timeout: seconds for all attempts; None means the client's default.
    """
    request = pb.SearchFactsRequest(
        **_requests.fact_filter(where),
        query=query,
        top_k=top_k,
        min_similarity=min_similarity,
        include_superseded=include_superseded,
        include_conflicted=include_conflicted,
    )

    def parse_one(result: pb.FactSearchResult) -> r.SearchResult:
        return r.SearchResult(
            fact=_parse.required(result, "fact", _parse.fact),
            similarity=result.similarity,
            text_rank=result.text_rank,
            score=result.score,
        )

    return _SEARCH_FACTS.call(request, lambda response: _parse.every(response.results, parse_one), timeout=timeout)


def list_noteworthy_facts(
    *,
    domain: str = "",
    access_scope: str | None = None,
    types: Sequence[FactType] = (),
    entity: EntityRef | None = None,
    include_conflicted: bool = False,
    page_size: int = 0,
    page_token: str = "",
    timeout: float | None = None,
) -> Call[r.Page[r.NoteworthyFact]]:
    """Ranks current facts by confidence, number of sources and recency.

    Args:
        domain: only this domain; empty for all.
        access_scope: only this scope; "" for unscoped facts, None for all that the credential may read.
        types: only these; empty for all.
        entity: only facts linked to or owned by it.
        include_conflicted: ranks members of open conflicts too.
        page_size: facts per page, at most 500; 0 means 50.
        page_token: the ``next_page_token`` of the page before.
        timeout: seconds for all attempts of a page; None means the client's default.
    """
    request = pb.ListNoteworthyFactsRequest(
        domain=domain,
        access_scope=access_scope,
        types=_requests.numbers(types),
        entity=_requests.entity(entity),
        include_conflicted=include_conflicted,
        page_size=page_size,
        page_token=page_token,
    )

    def parse_one(result: pb.NoteworthyFact) -> r.NoteworthyFact:
        return r.NoteworthyFact(
            fact=_parse.required(result, "fact", _parse.fact),
            score=result.score,
            confidence_part=result.confidence_part,
            source_part=result.source_part,
            recency_part=result.recency_part,
        )

    def parse(response: pb.ListNoteworthyFactsResponse) -> r.Page[r.NoteworthyFact]:
        return r.Page(
            items=_parse.every(response.results, parse_one),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
        )

    return _LIST_NOTEWORTHY.call(request, parse, timeout=timeout)


def check_claim(
    text: str = "",
    *,
    claim: Claim | None = None,
    domain: str = "",
    access_scope: str | None = None,
    owner: EntityRef | None = None,
    timeout: float | None = None,
) -> Call[r.ClaimCheck]:
    """Says whether the ledger supports a statement, given as text, as a claim, or both.

    Args:
        text: the statement in words.
        claim: the statement as a claim.
        domain: only facts of this domain; empty for all.
        access_scope: only this scope; "" for unscoped facts, None for all that the credential may read.
        owner: only facts owned by it.
        timeout: seconds for all attempts; None means the client's default.
    """
    request = pb.CheckClaimRequest(
        text=text,
        claim=_requests.claim(claim),
        domain=domain,
        access_scope=access_scope,
        owner=_requests.entity(owner),
    )

    def parse(response: pb.CheckClaimResponse) -> r.ClaimCheck:
        return r.ClaimCheck(
            support=enum_from_proto(ClaimSupport, response.support),
            supporting=_parse.every(response.supporting, _parse.fact),
            contradicting=_parse.every(response.contradicting, _parse.fact),
            rationale=response.rationale,
        )

    return _CHECK_CLAIM.call(request, parse, timeout=timeout)

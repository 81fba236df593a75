"""What BriefingService is asked for: searches, briefings, checks, entities and their links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from concord.v1 import briefing_service_pb2 as pb

from concord_server.api.enums import FACT_STATUS, FACT_TYPE, SUBJECT_ROLE
from concord_server.api.paging import PageTokens
from concord_server.api.parsing.fields import (
    parse_entity_filter,
    parse_enum,
    parse_enums,
    parse_id,
    parse_label,
    parse_note,
    parse_page_size,
    parse_time,
)
from concord_server.api.parsing.idempotency import parse_idempotency
from concord_server.api.parsing.queries import parse_fact_filter, parse_roles, parse_start
from concord_server.api.parsing.statements import parse_claim
from concord_server.domain.commands import Violations, validate_entity_id, validate_entity_type
from concord_server.domain.entities import EntityOrder
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.queries import Cursor, FactFilter
from concord_server.domain.search import DEFAULT_TOP_K, MAX_TOP_K, SearchQuery
from concord_server.services.briefing import BriefingQuery
from concord_server.services.check_claim import ClaimQuestion
from concord_server.services.context import Idempotency
from concord_server.services.entities import LinkChange
from concord_server.services.merge_entities import EntityMerge, MergeReceipt

LINK_ENTITY_METHOD = "concord.v1.BriefingService/LinkEntity"
UNLINK_ENTITY_METHOD = "concord.v1.BriefingService/UnlinkEntity"
MERGE_ENTITIES_METHOD = "concord.v1.BriefingService/MergeEntities"


@dataclass(frozen=True, slots=True)
class Paging:
    """Which page of a list; ``tokens`` writes the token of the next one."""

    after: Cursor | None
    size: int
    tokens: PageTokens


def parse_search(request: pb.SearchFactsRequest) -> SearchQuery:
    """Returns what to search for; the use case validates the query itself.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    where = parse_fact_filter(request, found)
    if request.top_k < 0:
        found.add("top_k", "must not be negative")
    query = SearchQuery(
        text=request.query,
        where=where,
        top_k=min(request.top_k or DEFAULT_TOP_K, MAX_TOP_K),
        min_similarity=request.min_similarity,
        include_superseded=request.include_superseded,
        include_conflicted=request.include_conflicted,
    )
    query.validate(found)
    found.raise_if_any()
    return query


def parse_briefing(
    request: pb.GetEntityBriefingRequest, project: str, method: str
) -> tuple[BriefingQuery, Paging]:
    """Returns whom to brief about.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    validate_entity_type("entity_type", request.entity_type, found)
    validate_entity_id("entity_id", request.entity_id, found)
    if request.max_tokens < 0:
        found.add("max_tokens", "must not be negative")
    where = FactFilter(
        domain=parse_label("domain", request.domain, found) or None,
        access_scope=_scope(request, found),
        types=parse_enums("types", request.types, FACT_TYPE, found),
        statuses=parse_enums("statuses", request.statuses, FACT_STATUS, found),
        roles=parse_enums("roles", request.roles, SUBJECT_ROLE, found),
        as_of=parse_time(request, "as_of", found),
        known_at=parse_time(request, "known_at", found),
    )
    query = BriefingQuery(
        entity=EntityRef(request.entity_type, request.entity_id),
        where=where,
        include_conflicted=request.include_conflicted,
        max_tokens=request.max_tokens,
        recompute_confidence=request.recompute_confidence,
    )
    return query, _paging(request, project, method, found)


def parse_noteworthy(
    request: pb.ListNoteworthyFactsRequest, project: str, method: str
) -> tuple[FactFilter, Paging]:
    """Returns which facts to rank.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    where = FactFilter(
        domain=parse_label("domain", request.domain, found) or None,
        access_scope=_scope(request, found),
        types=parse_enums("types", request.types, FACT_TYPE, found),
        entity=parse_entity_filter(request, "entity", found),
        roles=parse_roles(request.entity),
    )
    return where, _paging(request, project, method, found)


def parse_check(request: pb.CheckClaimRequest) -> ClaimQuestion:
    """Returns what to check; the use case validates the statement itself.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    question = ClaimQuestion(
        text=request.text,
        claim=parse_claim("claim", request.claim, found) if request.HasField("claim") else None,
        where=FactFilter(
            domain=parse_label("domain", request.domain, found) or None,
            access_scope=_scope(request, found),
            owner=parse_entity_filter(request, "owner", found),
        ),
    )
    question.validate(found)
    found.raise_if_any()
    return question


def parse_list_entities(
    request: pb.ListEntitiesRequest, project: str, method: str
) -> tuple[str, EntityOrder, Paging]:
    """Returns which entities to list, and how.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    if request.entity_type:
        validate_entity_type("entity_type", request.entity_type, found)
    order = EntityOrder.NEWEST
    asked = " ".join(request.order_by.split())
    if asked in {member.value for member in EntityOrder}:
        order = EntityOrder(asked)
    elif asked:
        choices = ", ".join(f'"{member.value}"' for member in EntityOrder)
        found.add("order_by", f"must be one of {choices}")
    return request.entity_type, order, _paging(request, project, method, found)


def parse_link(
    method: str, request: pb.LinkEntityRequest | pb.UnlinkEntityRequest, encode: Callable[[Fact], bytes]
) -> tuple[LinkChange, Idempotency[Fact] | None]:
    """Returns which link to make or to remove; a role that is not given stays open.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    validate_entity_type("entity_type", request.entity_type, found)
    validate_entity_id("entity_id", request.entity_id, found)
    change = LinkChange(
        fact_id=parse_id("fact_id", request.fact_id, found),
        entity=(request.entity_type, request.entity_id),
        role=parse_enum("role", request.role, SUBJECT_ROLE, found),
        etag=parse_label("etag", request.etag, found),
    )
    idempotency = parse_idempotency(method, request, request.request_id, encode, found)
    found.raise_if_any()
    return change, idempotency


def parse_merge(
    request: pb.MergeEntitiesRequest, encode: Callable[[MergeReceipt], bytes]
) -> tuple[EntityMerge, Idempotency[MergeReceipt] | None]:
    """Returns which entities are one.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    merge = EntityMerge(
        entity_type=request.entity_type,
        from_id=request.from_id,
        into_id=request.into_id,
        reason=parse_note("reason", request.reason, found),
    )
    idempotency = parse_idempotency(MERGE_ENTITIES_METHOD, request, request.request_id, encode, found)
    merge.validate(found)
    found.raise_if_any()
    return merge, idempotency


def _scope(
    request: pb.GetEntityBriefingRequest | pb.ListNoteworthyFactsRequest | pb.CheckClaimRequest, found: Violations
) -> str | None:
    if not request.HasField("access_scope"):
        return None
    return parse_label("access_scope", request.access_scope, found)


def _paging(
    request: pb.GetEntityBriefingRequest | pb.ListNoteworthyFactsRequest | pb.ListEntitiesRequest,
    project: str,
    method: str,
    found: Violations,
) -> Paging:
    size = parse_page_size(request.page_size, found)
    tokens = PageTokens(project, method, request)
    return Paging(parse_start(tokens, request.page_token, found), size, tokens)

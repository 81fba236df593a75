"""The calls of BriefingService that are about entities and their links."""

from __future__ import annotations

from concord import _parse
from concord import results as r
from concord._call import Call, Rpc
from concord.enums import SubjectRole, enum_to_proto
from concord.resources import Fact
from concord.v1 import briefing_service_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["BriefingService"]
_LIST_ENTITIES = Rpc.of(_SERVICE, pb.ListEntitiesRequest, pb.ListEntitiesResponse)
_LINK_ENTITY = Rpc.of(_SERVICE, pb.LinkEntityRequest, pb.LinkEntityResponse)
_UNLINK_ENTITY = Rpc.of(_SERVICE, pb.UnlinkEntityRequest, pb.UnlinkEntityResponse)
_MERGE_ENTITIES = Rpc.of(_SERVICE, pb.MergeEntitiesRequest, pb.MergeEntitiesResponse)


def list_entities(
    *,
    entity_type: str = "",
    order_by: str = "",
    page_size: int = 0,
    page_token: str = "",
    timeout: float | None = None,
) -> Call[r.Page[r.EntitySummary]]:
    """Lists entities that facts are linked to or owned by.

    Args:
        entity_type: only entities of this type; empty for all.
        order_by: "last_time desc" (default), "fact_count desc" or "entity_id".
        page_size: entities per page, at most 500; 0 means 50.
        page_token: the ``next_page_token`` of the page before.
        timeout: seconds for all attempts of a page; None means the client's default.
    """
    request = pb.ListEntitiesRequest(
        entity_type=entity_type, order_by=order_by, page_size=page_size, page_token=page_token
    )

    def parse_one(entity: pb.EntitySummary) -> r.EntitySummary:
        return r.EntitySummary(
            entity_type=entity.entity_type,
            entity_id=entity.entity_id,
            fact_count=entity.fact_count,
            last_time=_parse.time(entity, "last_time"),
        )

    def parse(response: pb.ListEntitiesResponse) -> r.Page[r.EntitySummary]:
        return r.Page(
            items=_parse.every(response.entities, parse_one),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
        )

    return _LIST_ENTITIES.call(request, parse, timeout=timeout)


def link_entity(
    fact_id: str,
    entity_type: str,
    entity_id: str,
    *,
    role: SubjectRole = SubjectRole.UNSPECIFIED,
    etag: str = "",
    request_id: str = "",
    timeout: float | None = None,
) -> Call[Fact]:
    """Links an entity to a fact. Several roles of one entity are kept side by side.

    Args:
        fact_id: the fact.
        entity_type: kind of entity.
        entity_id: its id.
        role: the part it plays; UNSPECIFIED means SUBJECT.
        etag: of the fact as it was read, to refuse a lost update.
        request_id: UUID under which the call can be repeated; made here if empty.
        timeout: seconds for all attempts; None means the client's default.

    Returns:
        The fact after the change.

    Raises:
        NotFoundError: no such fact.
        AbortedError: the etag is outdated.
    """
    request = pb.LinkEntityRequest(
        fact_id=fact_id,
        entity_type=entity_type,
        entity_id=entity_id,
        role=enum_to_proto(role),
        etag=etag,
        request_id=request_id,
    )
    return _LINK_ENTITY.call(
        request, lambda response: _parse.required(response, "fact", _parse.fact), timeout=timeout
    )


def unlink_entity(
    fact_id: str,
    entity_type: str,
    entity_id: str,
    *,
    role: SubjectRole = SubjectRole.UNSPECIFIED,
    etag: str = "",
    request_id: str = "",
    timeout: float | None = None,
) -> Call[Fact]:
    """Removes an entity's link to a fact.

    Args:
        fact_id: the fact.
        entity_type: kind of entity.
        entity_id: its id.
        role: the role to remove; UNSPECIFIED means all of them.
        etag: of the fact as it was read, to refuse a lost update.
        request_id: UUID under which the call can be repeated; made here if empty.
        timeout: seconds for all attempts; None means the client's default.

    Returns:
        The fact after the change.

    Raises:
        NotFoundError: no such fact.
        AbortedError: the etag is outdated.
    """
    request = pb.UnlinkEntityRequest(
        fact_id=fact_id,
        entity_type=entity_type,
        entity_id=entity_id,
        role=enum_to_proto(role),
        etag=etag,
        request_id=request_id,
    )
    return _UNLINK_ENTITY.call(
        request, lambda response: _parse.required(response, "fact", _parse.fact), timeout=timeout
    )


def merge_entities(
    entity_type: str,
    from_id: str,
    into_id: str,
    *,
    reason: str = "",
    request_id: str = "",
    timeout: float | None = None,
) -> Call[r.EntityMerge]:
    """Makes one entity of two. The old id keeps resolving.

    Args:
        entity_type: kind of both entities.
        from_id: the id that goes.
        into_id: the id that stays.
        reason: why, for the history.
        request_id: UUID under which the call can be repeated; made here if empty.
        timeout: seconds for all attempts; None means the client's default.

    Returns:
        The number of facts that moved, and the conflicts that clashing claims opened.
    """
    request = pb.MergeEntitiesRequest(
        entity_type=entity_type, from_id=from_id, into_id=into_id, reason=reason, request_id=request_id
    )

    def parse(response: pb.MergeEntitiesResponse) -> r.EntityMerge:
        return r.EntityMerge(
            moved_count=response.moved_count, conflicts=_parse.every(response.conflicts, _parse.conflict)
        )

    return _MERGE_ENTITIES.call(request, parse, timeout=timeout)

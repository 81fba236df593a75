"""The calls of EvolutionService."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from google.protobuf.field_mask_pb2 import FieldMask

from concord import _parse, _requests
from concord import results as r
from concord._call import Call, Rpc
from concord._convert import JsonValue, struct_to_proto, time_to_proto
from concord.enums import EvolutionType, FactStatus, Volatility, enum_to_proto
from concord.inputs import UNSET, MaybeUnset, Statement
from concord.resources import Fact, FactVersion
from concord.v1 import evolution_service_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["EvolutionService"]
_BRANCH = Rpc.of(_SERVICE, pb.BranchRequest, pb.BranchResponse)
_GET_CHAIN = Rpc.of(_SERVICE, pb.GetEvolutionChainRequest, pb.GetEvolutionChainResponse)
_GET_LATEST = Rpc.of(_SERVICE, pb.GetLatestInChainRequest, pb.GetLatestInChainResponse)
_GET_TREE = Rpc.of(_SERVICE, pb.GetEvolutionTreeRequest, pb.GetEvolutionTreeResponse)
_LIST_VERSIONS = Rpc.of(_SERVICE, pb.ListFactVersionsRequest, pb.ListFactVersionsResponse)
_UPDATE_FACT = Rpc.of(_SERVICE, pb.UpdateFactRequest, pb.UpdateFactResponse)
_UPDATE_STATUS = Rpc.of(_SERVICE, pb.UpdateFactStatusRequest, pb.UpdateFactStatusResponse)
WATCH_FACTS = Rpc.of(_SERVICE, pb.WatchFactsRequest, pb.WatchFactsResponse)


def branch(
    parent_ids: Sequence[str],
    statement: Statement | str,
    *,
    evolution_type: EvolutionType = EvolutionType.UNSPECIFIED,
    timeout: float | None = None,
) -> Call[r.BranchResult]:
    """Writes a fact that descends from given parents.

    Args:
        parent_ids: the parents, main line first; several only for MERGE.
        statement: what the new fact says; its partition is inherited.
        evolution_type: how it descends; UNSPECIFIED means EXTENSION. CORRECTION and CONTRADICTION supersede the
            parent.
        timeout: seconds for all attempts; None means the client's default.

    Raises:
        ValueError: the statement asks for thresholds, a policy or a dry run.
        NotFoundError: a parent is unknown.
        InvalidArgumentError: several parents without MERGE, or another partition than the parent's.
        FailedPreconditionError: the claim's slot is occupied.
    """
    if isinstance(parent_ids, str):
        raise TypeError("parent_ids is a sequence of ids, not one id")
    given = _requests.repeatable(statement)

    def parse(response: pb.BranchResponse) -> r.BranchResult:
        return r.BranchResult(
            fact=_parse.required(response, "fact", _parse.fact),
            source=_parse.optional(response, "source", _parse.source),
            warnings=tuple(response.warnings),
        )

    return _BRANCH.call(_requests.branch(parent_ids, given, evolution_type), parse, timeout=timeout)


def get_evolution_chain(fact_id: str, *, timeout: float | None = None) -> Call[tuple[Fact, ...]]:
    """Reads the line from the root to a fact, root first.

    Raises:
        NotFoundError: no such fact.
    """
    return _GET_CHAIN.call(
        pb.GetEvolutionChainRequest(fact_id=fact_id),
        lambda response: _parse.every(response.facts, _parse.fact),
        timeout=timeout,
    )


def get_latest_in_chain(fact_id: str, *, timeout: float | None = None) -> Call[Fact]:
    """Reads the latest fact from this one downwards, at each step the child of highest confidence.

    Raises:
        NotFoundError: no such fact.
    """
    return _GET_LATEST.call(
        pb.GetLatestInChainRequest(fact_id=fact_id),
        lambda response: _parse.required(response, "fact", _parse.fact),
        timeout=timeout,
    )


def get_evolution_tree(
    fact_id: str, *, page_size: int = 0, page_token: str = "", timeout: float | None = None
) -> Call[r.EvolutionTreePage]:
    """Reads a page of the family of a fact, breadth-first, with the edges that lead to the facts of the page.

    Args:
        fact_id: any member of the family.
        page_size: facts per page, at most 500; 0 means 50.
        page_token: the ``next_page_token`` of the page before.
        timeout: seconds for all attempts; None means the client's default.

    Raises:
        NotFoundError: no such fact.
    """

    def parse(response: pb.GetEvolutionTreeResponse) -> r.EvolutionTreePage:
        return r.EvolutionTreePage(
            items=_parse.every(response.facts, _parse.fact),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
            edges=_parse.every(response.edges, _parse.edge),
        )

    request = pb.GetEvolutionTreeRequest(fact_id=fact_id, page_size=page_size, page_token=page_token)
    return _GET_TREE.call(request, parse, timeout=timeout)


def whole_tree(pages: Iterable[r.EvolutionTreePage]) -> r.EvolutionTree:
    """Puts the pages of a family together."""
    held = list(pages)
    return r.EvolutionTree(
        facts=tuple(fact for page in held for fact in page.items),
        edges=tuple(edge for page in held for edge in page.edges),
    )


def list_fact_versions(
    fact_id: str, *, page_size: int = 0, page_token: str = "", timeout: float | None = None
) -> Call[r.Page[FactVersion]]:
    """Lists every recorded state of a fact, oldest first.

    Args:
        fact_id: the fact.
        page_size: versions per page, at most 500; 0 means 50.
        page_token: the ``next_page_token`` of the page before.
        timeout: seconds for all attempts of a page; None means the client's default.

    Raises:
        NotFoundError: no such fact.
    """

    def parse(response: pb.ListFactVersionsResponse) -> r.Page[FactVersion]:
        return r.Page(
            items=_parse.every(response.versions, _parse.fact_version),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
        )

    request = pb.ListFactVersionsRequest(fact_id=fact_id, page_size=page_size, page_token=page_token)
    return _LIST_VERSIONS.call(request, parse, timeout=timeout)


def update_fact(
    fact_id: str,
    *,
    valid_from: datetime | MaybeUnset = UNSET,
    valid_to: datetime | MaybeUnset | None = UNSET,
    tags: Sequence[str] | MaybeUnset = UNSET,
    metadata: Mapping[str, JsonValue] | MaybeUnset = UNSET,
    volatility: Volatility | MaybeUnset = UNSET,
    corroboration_score: float | MaybeUnset = UNSET,
    reason: str = "",
    etag: str = "",
    request_id: str = "",
    timeout: float | None = None,
) -> Call[Fact]:
    """Changes fields of a fact that are not its content. What is left out stays as it is.

    Args:
        fact_id: the fact.
        valid_from: from when it holds.
        valid_to: until when it holds; None opens the interval again.
        tags: labels, replacing all of them.
        metadata: replaces all of it.
        volatility: how fast it goes out of date.
        corroboration_score: in [0, 1].
        reason: why, for the history.
        etag: of the fact as it was read, to refuse a lost update.
        request_id: UUID under which the call can be repeated; made here if empty.
        timeout: seconds for all attempts; None means the client's default.

    Returns:
        The fact after the change.

    Raises:
        ValueError: nothing to change was given.
        NotFoundError: no such fact.
        AbortedError: the etag is outdated.
    """
    request = pb.UpdateFactRequest(fact_id=fact_id, reason=reason, etag=etag, request_id=request_id)
    paths = []
    for name, time in (("valid_from", valid_from), ("valid_to", valid_to)):
        if time is not UNSET:
            paths.append(name)
            if (stamp := time_to_proto(time)) is not None:
                getattr(request, name).CopyFrom(stamp)
    if tags is not UNSET:
        paths.append("tags")
        request.tags.extend(tags)
    if metadata is not UNSET:
        paths.append("metadata")
        request.metadata.CopyFrom(struct_to_proto(metadata))
    if volatility is not UNSET:
        paths.append("volatility")
        request.volatility = enum_to_proto(volatility)
    if corroboration_score is not UNSET:
        paths.append("corroboration_score")
        request.corroboration_score = corroboration_score
    if not paths:
        raise ValueError("give at least one field to change")
    request.update_mask.CopyFrom(FieldMask(paths=paths))
    return _UPDATE_FACT.call(
        request, lambda response: _parse.required(response, "fact", _parse.fact), timeout=timeout
    )


def update_fact_status(
    fact_id: str,
    status: FactStatus,
    *,
    reason: str = "",
    etag: str = "",
    request_id: str = "",
    timeout: float | None = None,
) -> Call[Fact]:
    """Disputes, retracts, archives, restores (ACTIVE) or erases (DELETED) a fact.

    Args:
        fact_id: the fact.
        status: the new status.
        reason: why, for the history.
        etag: of the fact as it was read, to refuse a lost update.
        request_id: UUID under which the call can be repeated; made here if empty.
        timeout: seconds for all attempts; None means the client's default.

    Returns:
        The fact after the change. Restored into an occupied slot, it is PENDING in a conflict.

    Raises:
        NotFoundError: no such fact.
        FailedPreconditionError: the fact cannot go from its status to that one.
        AbortedError: the etag is outdated.
    """
    request = pb.UpdateFactStatusRequest(
        fact_id=fact_id, status=enum_to_proto(status), reason=reason, etag=etag, request_id=request_id
    )
    return _UPDATE_STATUS.call(
        request, lambda response: _parse.required(response, "fact", _parse.fact), timeout=timeout
    )

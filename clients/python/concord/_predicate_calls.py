"""The calls of AdminService that are about predicates."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.field_mask_pb2 import FieldMask

from concord import _parse
from concord._call import Call, Rpc
from concord.admin import Predicate, PredicateSuggestion
from concord.enums import Cardinality, enum_from_proto, enum_to_proto
from concord.results import Page
from concord.v1 import admin_pb2
from concord.v1 import admin_service_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["AdminService"]
_LIST = Rpc.of(_SERVICE, pb.ListPredicatesRequest, pb.ListPredicatesResponse)
_UPDATE = Rpc.of(_SERVICE, pb.UpdatePredicateRequest, pb.UpdatePredicateResponse)


def list_predicates(
    *, only_suggested: bool = False, page_size: int = 0, page_token: str = "", timeout: float | None = None
) -> Call[Page[Predicate]]:
    """Lists the project's predicates by name.

    Args:
        only_suggested: only predicates with suggestions.
        page_size: predicates per page, at most 500; 0 means 50.
        page_token: the ``next_page_token`` of the page before.
        timeout: seconds for all attempts of a page; None means the client's default.
    """
    request = pb.ListPredicatesRequest(only_suggested=only_suggested, page_size=page_size, page_token=page_token)

    def parse(response: pb.ListPredicatesResponse) -> Page[Predicate]:
        return Page(
            items=_parse.every(response.predicates, predicate),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
        )

    return _LIST.call(request, parse, timeout=timeout)


def update_predicate(
    name: str,
    *,
    cardinality: Cardinality = Cardinality.UNSPECIFIED,
    aliases: Sequence[str] | None = None,
    suggestions: Sequence[str] | None = None,
    etag: str = "",
    request_id: str = "",
    timeout: float | None = None,
) -> Call[Predicate]:
    """Changes a predicate; what is not given stays as it is.

    Args:
        name: the predicate.
        cardinality: how many values hold at once. From MULTI to SINGLE, clashing facts become conflicts.
        aliases: other names that mean it, replacing all of them. A suggestion is accepted by putting it here.
        suggestions: the suggestions to keep; the others are dropped and not made again.
        etag: of the predicate as it was read, to refuse a lost update.
        request_id: UUID under which the call can be repeated; made here if empty.
        timeout: seconds for all attempts; None means the client's default.

    Returns:
        The predicate after the change.

    Raises:
        NotFoundError: no claim uses it.
        InvalidArgumentError: a name cannot be its alias, or is no suggestion of it.
        AbortedError: the etag is outdated.
        ValueError: nothing is to be changed.
    """
    given = {
        "cardinality": cardinality is not Cardinality.UNSPECIFIED,
        "aliases": aliases is not None,
        "suggestions": suggestions is not None,
    }
    if not any(given.values()):
        raise ValueError("give cardinality, aliases or suggestions")
    request = pb.UpdatePredicateRequest(
        predicate=name,
        update_mask=FieldMask(paths=[path for path, is_given in given.items() if is_given]),
        cardinality=enum_to_proto(cardinality),
        aliases=aliases or (),
        suggestions=suggestions or (),
        etag=etag,
        request_id=request_id,
    )
    return _UPDATE.call(
        request, lambda response: _parse.required(response, "predicate", predicate), timeout=timeout
    )


def predicate(given: admin_pb2.Predicate) -> Predicate:
    """Parses a predicate."""
    return Predicate(
        predicate=given.predicate,
        cardinality=enum_from_proto(Cardinality, given.cardinality),
        aliases=tuple(given.aliases),
        suggestions=_parse.every(given.suggestions, _suggestion),
        fact_count=given.fact_count,
        create_time=_parse.time(given, "create_time"),
        update_time=_parse.time(given, "update_time"),
        etag=given.etag,
    )


def _suggestion(given: admin_pb2.PredicateSuggestion) -> PredicateSuggestion:
    return PredicateSuggestion(
        predicate=given.predicate,
        similarity=given.similarity,
        seen_count=given.seen_count,
        last_time=_parse.time(given, "last_time"),
    )

"""What calls about predicates ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from concord.v1 import admin_service_pb2

from concord_server.api.enums import CARDINALITY
from concord_server.api.paging import PageTokens
from concord_server.api.parsing.fields import parse_enum, parse_label, parse_page_size
from concord_server.api.parsing.idempotency import parse_idempotency
from concord_server.api.parsing.queries import PageQuery, parse_start
from concord_server.domain.commands import Violations
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.predicate_update import PredicateUpdate
from concord_server.domain.predicates import Predicate
from concord_server.domain.queries import FactOrder
from concord_server.services.context import Idempotency

LIST_PREDICATES_METHOD = "concord.v1.AdminService/ListPredicates"
UPDATE_PREDICATE_METHOD = "concord.v1.AdminService/UpdatePredicate"


@dataclass(frozen=True, slots=True)
class PredicateRevision:
    """What a caller wants changed; an empty ``etag`` means no check."""

    update: PredicateUpdate
    etag: str
    idempotency: Idempotency[Predicate] | None


def parse_list_predicates(request: admin_service_pb2.ListPredicatesRequest, project: str) -> PageQuery[bool]:
    """Returns which page of predicates to list, of those with suggestions alone where ``where`` is true.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    size = parse_page_size(request.page_size, found)
    tokens = PageTokens(project, LIST_PREDICATES_METHOD, request)
    after = parse_start(tokens, request.page_token, found)
    return PageQuery(request.only_suggested, FactOrder(), after, size, tokens)


def parse_predicate_update(
    request: admin_service_pb2.UpdatePredicateRequest, encode: Callable[[Predicate], bytes]
) -> PredicateRevision:
    """Returns what to change about a predicate.

    Args:
        request: as received.
        encode: turns the first answer into what is stored for repeated requests.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    revision = PredicateRevision(
        update=PredicateUpdate(
            predicate=request.predicate,
            mask=frozenset(request.update_mask.paths),
            cardinality=parse_enum("cardinality", request.cardinality, CARDINALITY, found),
            aliases=tuple(request.aliases),
            suggestions=tuple(request.suggestions),
        ),
        etag=parse_label("etag", request.etag, found),
        idempotency=parse_idempotency(UPDATE_PREDICATE_METHOD, request, request.request_id, encode, found),
    )
    try:
        found.raise_if_any()
    except InvalidFieldsError:
        revision.update.validate(found)
        found.raise_if_any()
    return revision

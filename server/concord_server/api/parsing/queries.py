"""What reads ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from concord.v1 import briefing_service_pb2, reconcile_service_pb2, resources_pb2

from concord_server.api.enums import CONFLICT_STATE, FACT_STATUS, FACT_TYPE, SUBJECT_ROLE
from concord_server.api.paging import PageTokens
from concord_server.api.parsing.fields import (
    parse_entity_filter,
    parse_enum,
    parse_enums,
    parse_id,
    parse_label,
    parse_page_size,
    parse_time,
)
from concord_server.domain.commands import MAX_PREDICATE, Violations
from concord_server.domain.enums import SubjectRole
from concord_server.domain.errors import (
    FieldViolation,
    InvalidFieldsError,
    InvalidPageTokenError,
)
from concord_server.domain.queries import ORDERABLE_FIELDS, ConflictFilter, Cursor, FactFilter, FactOrder
from concord_server.domain.values import normalise_predicate

F = TypeVar("F")

NEWEST_FIRST = FactOrder()


@dataclass(frozen=True, slots=True)
class PageQuery(Generic[F]):
    """A page of a list.

    Attributes:
        where: which items.
        order: in which order.
        after: where the page starts, ``None`` for the first one.
        size: how many items, 1 to 500.
        tokens: writes the token of the next page.
    """

    where: F
    order: FactOrder
    after: Cursor | None
    size: int
    tokens: PageTokens


def parse_one_id(name: str, text: str) -> UUID:
    """Returns the id that a request consists of.

    Raises:
        InvalidFieldsError: it is missing or no UUID.
    """
    found = Violations()
    identifier = parse_id(name, text, found)
    found.raise_if_any()
    return identifier


def parse_list_facts(
    request: briefing_service_pb2.ListFactsRequest, project: str, method: str
) -> PageQuery[FactFilter]:
    """Returns which facts to list.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    where = parse_fact_filter(request, found)
    order = parse_order("order_by", request.order_by, ORDERABLE_FIELDS, found)
    size = parse_page_size(request.page_size, found)
    tokens = PageTokens(project, method, request)
    return PageQuery(where, order, parse_start(tokens, request.page_token, found), size, tokens)


def parse_fact_filter(
    request: briefing_service_pb2.ListFactsRequest | briefing_service_pb2.SearchFactsRequest, found: Violations
) -> FactFilter:
    """Returns which facts a list or a search is about."""
    found.unit_interval("min_confidence", request.min_confidence)
    return FactFilter(
        domain=parse_label("domain", request.domain, found) or None,
        access_scope=(
            parse_label("access_scope", request.access_scope, found) if request.HasField("access_scope") else None
        ),
        types=parse_enums("types", request.types, FACT_TYPE, found),
        statuses=parse_enums("statuses", request.statuses, FACT_STATUS, found),
        entity=parse_entity_filter(request, "entity", found),
        roles=parse_roles(request.entity),
        owner=parse_entity_filter(request, "owner", found),
        content_id=parse_label("content_id", request.content_id, found),
        tag=parse_label("tag", request.tag, found),
        predicate=_parse_predicate(request.predicate, found),
        min_confidence=request.min_confidence,
        as_of=parse_time(request, "as_of", found),
        known_at=parse_time(request, "known_at", found),
    )


def parse_roles(entity: resources_pb2.EntityRef) -> tuple[SubjectRole, ...]:
    """Returns the role that an entity filter names, none where it leaves that open."""
    role = SUBJECT_ROLE.from_proto(entity.role)
    return () if role is None else (role,)


def parse_list_conflicts(
    request: reconcile_service_pb2.ListConflictsRequest, project: str, method: str
) -> PageQuery[ConflictFilter]:
    """Returns which conflicts to list.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    where = ConflictFilter(
        state=parse_enum("state", request.state, CONFLICT_STATE, found),
        entity=parse_entity_filter(request, "entity", found),
        domain=parse_label("domain", request.domain, found) or None,
        access_scope=(
            parse_label("access_scope", request.access_scope, found) if request.HasField("access_scope") else None
        ),
    )
    order = parse_order("order_by", request.order_by, ("create_time",), found)
    size = parse_page_size(request.page_size, found)
    tokens = PageTokens(project, method, request)
    return PageQuery(where, order, parse_start(tokens, request.page_token, found), size, tokens)


def parse_order(name: str, text: str, allowed: tuple[str, ...], found: Violations) -> FactOrder:
    """Returns the order that ``text`` names: a field, ascending, or descending when followed by ``desc``."""
    words = text.split()
    if not words:
        return NEWEST_FIRST
    if words[0] not in allowed or words[1:] not in ([], ["desc"]):
        choices = ", ".join(allowed)
        found.add(name, f'must be one of {choices}, ascending or followed by " desc"')
        return NEWEST_FIRST
    return FactOrder(words[0], descending=len(words) == 2)


def _parse_predicate(text: str, found: Violations) -> str:
    parse_label("predicate", text, found, max_length=MAX_PREDICATE)
    predicate = normalise_predicate(text)
    if text.strip() and not predicate:
        found.add("predicate", "must contain a letter or a digit")
    return predicate


def parse_start(tokens: PageTokens, token: str, found: Violations) -> Cursor | None:
    """Returns where the page starts, once the rest of the request was found right.

    Raises:
        InvalidFieldsError: other fields are bad; the token is named among them if it is bad too.
        InvalidPageTokenError: the token alone is bad.
    """
    try:
        found.raise_if_any()
    except InvalidFieldsError as others:
        raise InvalidFieldsError([*others.violations, *_token_violations(tokens, token)]) from None
    return tokens.read(token)


def _token_violations(tokens: PageTokens, token: str) -> tuple[FieldViolation, ...]:
    try:
        tokens.read(token)
    except InvalidPageTokenError as error:
        return error.violations
    return ()

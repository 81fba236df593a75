"""Predicates, as the contract has them."""

from __future__ import annotations

from concord.v1 import admin_pb2, admin_service_pb2

from concord_server.api.enums import CARDINALITY
from concord_server.api.wellknown import to_timestamp
from concord_server.domain.predicates import Predicate
from concord_server.domain.queries import Page


def to_predicate(predicate: Predicate) -> admin_pb2.Predicate:
    """Returns a predicate with its aliases and suggestions."""
    return admin_pb2.Predicate(
        predicate=predicate.predicate,
        cardinality=CARDINALITY.to_proto(predicate.cardinality),
        aliases=predicate.aliases,
        suggestions=[
            admin_pb2.PredicateSuggestion(
                predicate=suggestion.predicate,
                similarity=suggestion.similarity,
                seen_count=suggestion.seen_count,
                last_time=to_timestamp(suggestion.last_time),
            )
            for suggestion in predicate.suggestions
        ],
        fact_count=predicate.fact_count,
        create_time=to_timestamp(predicate.create_time),
        update_time=to_timestamp(predicate.update_time),
        etag=predicate.etag,
    )


def to_list_predicates_response(
    page: Page[Predicate], next_token: str
) -> admin_service_pb2.ListPredicatesResponse:
    """Returns a page of predicates."""
    return admin_service_pb2.ListPredicatesResponse(
        predicates=[to_predicate(predicate) for predicate in page.items],
        next_page_token=next_token,
        total_size=page.total,
    )


def to_update_predicate_response(predicate: Predicate) -> admin_service_pb2.UpdatePredicateResponse:
    """Returns a predicate after its change."""
    return admin_service_pb2.UpdatePredicateResponse(predicate=to_predicate(predicate))

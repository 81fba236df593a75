"""AdminService on the wire: predicates."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from concord import AsyncClient, NotFoundError, Predicate, PredicateSuggestion
from concord import Cardinality as ClientCardinality
from concord.v1 import enums_pb2
from concord.v1.admin_service_pb2 import ListPredicatesRequest, UpdatePredicateRequest
from concord_server.domain.enums import Cardinality
from concord_server.domain.errors import EtagMismatchError, PredicateNotFoundError
from concord_server.domain.predicate_update import PredicateUpdate
from concord_server.domain.queries import Cursor, Page
from concord_server.services.context import Replay
from google.protobuf.json_format import Parse
from grpc import StatusCode as Code

from tests.contract.ledger_values import NOW
from tests.contract.scripted import PREDICATE, Edge, failure


def change(*paths: str, **fields: Any) -> UpdatePredicateRequest:
    request = UpdatePredicateRequest(predicate="color", **fields)
    request.update_mask.paths.extend(paths)
    return request


async def test_a_predicate_is_told_with_its_aliases_and_suggestions(edge: Edge) -> None:
    page = await edge.admin.ListPredicates(ListPredicatesRequest())
    [told] = page.predicates
    assert {field.name for field, _ in told.ListFields()} == {field.name for field in told.DESCRIPTOR.fields}
    assert (told.predicate, told.cardinality) == ("favorite_color", enums_pb2.CARDINALITY_SINGLE)
    assert (list(told.aliases), told.fact_count, told.etag) == (["preferred_color"], 7, PREDICATE.etag)
    [suggestion] = told.suggestions
    assert (suggestion.predicate, suggestion.similarity, suggestion.seen_count) == ("car_color", 0.75, 3)
    assert suggestion.last_time.ToDatetime(tzinfo=NOW.tzinfo) == NOW
    assert (page.total_size, page.next_page_token) == (1, "")


async def test_pages_go_on_where_they_ended_and_only_for_the_same_request(edge: Edge) -> None:
    cursor = Cursor("favorite_color", uuid.UUID(int=0))
    edge.script.admin.list_predicates.answer = Page([PREDICATE], cursor, 9)
    page = await edge.admin.ListPredicates(ListPredicatesRequest(only_suggested=True, page_size=1))
    token = page.next_page_token
    await edge.admin.ListPredicates(ListPredicatesRequest(only_suggested=True, page_token=token))
    assert [call[1:] for call in edge.script.admin.list_predicates.calls] == [(True, None, 1), (True, cursor, 50)]
    failed = await failure(edge.admin.ListPredicates(ListPredicatesRequest(page_token=token)))
    assert (failed.code, failed.fields) == (Code.INVALID_ARGUMENT, ("page_token",))


async def test_an_update_is_what_the_mask_names(edge: Edge) -> None:
    text = """{"predicate": "Color", "updateMask": "cardinality,aliases", "cardinality": "CARDINALITY_MULTI",
               "aliases": ["tint"], "suggestions": ["hue"], "etag": "e"}"""
    told = (await edge.admin.UpdatePredicate(Parse(text, UpdatePredicateRequest()))).predicate
    [(caller, update, etag, idempotency)] = edge.script.admin.update_predicate.calls
    assert update == PredicateUpdate(
        "Color", frozenset({"cardinality", "aliases"}), Cardinality.MULTI, ("tint",), ("hue",)
    )
    assert (caller.project, etag, idempotency, told.predicate) == ("default", "e", None, "favorite_color")


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        (change("cardinality", cardinality=99), ("cardinality",)),
        (change("aliases", etag="\x00", request_id="x"), ("etag", "request_id")),
        (change("aliases", aliases=[""], request_id="x"), ("aliases[0]", "request_id")),
        (change("etag", request_id="x"), ("request_id", "update_mask")),
        (ListPredicatesRequest(page_size=-1), ("page_size",)),
    ],
)
async def test_bad_fields_are_named_all_at_once(edge: Edge, request_: Any, fields: tuple[str, ...]) -> None:
    listing = isinstance(request_, ListPredicatesRequest)
    call = edge.admin.ListPredicates if listing else edge.admin.UpdatePredicate
    failed = await failure(call(request_))
    assert (failed.code, tuple(sorted(failed.fields))) == (Code.INVALID_ARGUMENT, fields)
    assert not edge.script.admin.update_predicate.calls


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (PredicateNotFoundError("color"), Code.NOT_FOUND, "PREDICATE_NOT_FOUND"),
        (EtagMismatchError("read again"), Code.ABORTED, "ETAG_MISMATCH"),
    ],
)
async def test_what_the_ledger_refuses(edge: Edge, error: Exception, code: Code, reason: str) -> None:
    edge.script.admin.update_predicate.answer = error
    failed = await failure(edge.admin.UpdatePredicate(change("aliases")))
    assert (failed.code, failed.reasons) == (code, (reason,))


async def test_a_repeated_update_gets_its_first_answer(edge: Edge) -> None:
    edge.script.admin.update_predicate.answer = Replay(b"")
    assert not (await edge.admin.UpdatePredicate(change("aliases"))).HasField("predicate")


async def test_the_client_lists_and_changes_predicates(edge: Edge) -> None:
    async with AsyncClient(edge.address) as client:
        [listed] = [one async for one in client.list_predicates(only_suggested=True)]
        changed = await client.update_predicate(
            "color", cardinality=ClientCardinality.MULTI, aliases=[], suggestions=["car_color"], etag="e"
        )
        with pytest.raises(ValueError, match="give cardinality"):
            await client.update_predicate("color")
        edge.script.admin.update_predicate.answer = PredicateNotFoundError("color")
        with pytest.raises(NotFoundError):
            await client.update_predicate("color", aliases=["tint"])
    assert listed == changed
    assert listed == Predicate(
        predicate="favorite_color",
        cardinality=ClientCardinality.SINGLE,
        aliases=("preferred_color",),
        suggestions=(PredicateSuggestion(predicate="car_color", similarity=0.75, seen_count=3, last_time=NOW),),
        fact_count=7,
        create_time=NOW,
        update_time=NOW,
        etag=PREDICATE.etag,
    )
    (_, first, etag, idempotency), (_, second, *_) = edge.script.admin.update_predicate.calls
    assert (first.mask, first.cardinality, first.aliases) == (
        {"cardinality", "aliases", "suggestions"},
        Cardinality.MULTI,
        (),
    )
    assert (first.suggestions, etag) == (("car_color",), "e")
    assert idempotency is not None
    assert (second.mask, second.aliases) == ({"aliases"}, ("tint",))

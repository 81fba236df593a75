from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import pytest
from concord.v1.briefing_service_pb2 import ListFactsRequest
from concord.v1.reconcile_service_pb2 import ListConflictsRequest
from concord_server.api.parsing.queries import PageQuery, parse_list_conflicts, parse_list_facts, parse_one_id
from concord_server.domain.enums import ConflictState, FactStatus, FactType, SubjectRole
from concord_server.domain.errors import InvalidFieldsError, InvalidPageTokenError
from concord_server.domain.model import EntityRef
from concord_server.domain.queries import ConflictFilter, Cursor, FactFilter, FactOrder
from google.protobuf import json_format

CURSOR = Cursor("2026-01-01T00:00:00+00:00", UUID("019a0000-0000-7000-8000-000000000001"))


def facts(project: str = "p", **fields: object) -> PageQuery[FactFilter]:
    return parse_list_facts(json_format.ParseDict(fields, ListFactsRequest()), project, "m")


def conflicts(**fields: object) -> PageQuery[ConflictFilter]:
    return parse_list_conflicts(json_format.ParseDict(fields, ListConflictsRequest()), "p", "m")


def bad_fields(call: Callable[[], object]) -> set[str]:
    with pytest.raises(InvalidFieldsError) as caught:
        call()
    return {violation.field for violation in caught.value.violations}


def test_a_list_of_everything_restricts_nothing():
    query = facts()
    assert query.where == FactFilter()
    assert query.order == FactOrder("create_time", descending=True)
    assert (query.after, query.size) == (None, 50)


def test_every_filter_arrives():
    query = facts(
        domain="ops",
        access_scope="private",
        types=["FACT_TYPE_EVENT", "FACT_TYPE_EVENT", "FACT_TYPE_OPINION"],
        statuses=["FACT_STATUS_DELETED"],
        entity={"entity_type": "Person", "entity_id": "a"},
        owner={"entity_type": "Person", "entity_id": "b"},
        content_id="c",
        tag="t",
        predicate="Favorite Color",
        min_confidence=0.5,
        as_of="2026-01-01T00:00:00Z",
        known_at="2026-01-02T00:00:00Z",
    )
    assert query.where == FactFilter(
        domain="ops",
        access_scope="private",
        types=(FactType.EVENT, FactType.OPINION),
        statuses=(FactStatus.DELETED,),
        entity=EntityRef("Person", "a"),
        owner=EntityRef("Person", "b"),
        content_id="c",
        tag="t",
        predicate="favorite_color",
        min_confidence=0.5,
        as_of=datetime(2026, 1, 1, tzinfo=UTC),
        known_at=datetime(2026, 1, 2, tzinfo=UTC),
    )


def test_an_empty_scope_is_not_an_absent_one():
    assert facts(access_scope="").where.access_scope == ""
    assert facts().where.access_scope is None


@pytest.mark.parametrize(("asked", "size"), [(0, 50), (1, 1), (500, 500), (501, 500), (2**31 - 1, 500)])
def test_the_size_of_a_page_is_50_unless_asked_and_500_at_most(asked, size):
    assert facts(page_size=asked).size == size


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("", FactOrder("create_time", descending=True)),
        ("create_time", FactOrder("create_time", descending=False)),
        ("create_time desc", FactOrder("create_time", descending=True)),
        ("  confidence   desc ", FactOrder("confidence", descending=True)),
        ("valid_from", FactOrder("valid_from", descending=False)),
    ],
)
def test_an_order_is_read(text, order):
    assert facts(order_by=text).order == order


@pytest.mark.parametrize(
    "text", ["text", "create_time up", "create_time desc desc", "desc", "create_time, confidence"]
)
def test_an_unknown_order_is_refused(text):
    assert bad_fields(lambda: facts(order_by=text)) == {"order_by"}


def test_every_bad_field_is_named():
    assert bad_fields(
        lambda: facts(
            domain="\n",
            access_scope=" ",
            types=["FACT_TYPE_UNSPECIFIED"],
            statuses=[77],
            entity={"entity_type": "Person"},
            owner={"entity_id": "a"},
            content_id="x" * 257,
            tag=" ",
            predicate="?!",
            min_confidence="NaN",
            page_size=-1,
            order_by="x",
            page_token="garbage",
        )
    ) == {
        "domain",
        "access_scope",
        "types[0]",
        "statuses[0]",
        "entity.entity_id",
        "owner.entity_type",
        "content_id",
        "tag",
        "predicate",
        "min_confidence",
        "page_size",
        "order_by",
        "page_token",
    }


def test_the_next_page_starts_where_the_token_says():
    token = facts(domain="ops", page_size=10).tokens.write(CURSOR)
    assert facts(domain="ops", page_size=20, page_token=token).after == CURSOR


def test_a_token_of_another_request_or_project_is_refused():
    token = facts(domain="ops").tokens.write(CURSOR)
    calls: tuple[Callable[[], object], ...] = (
        lambda: facts(domain="other", page_token=token),
        lambda: facts(domain="ops", order_by="confidence", page_token=token),
        lambda: facts(project="q", domain="ops", page_token=token),
        lambda: conflicts(domain="ops", page_token=token),
    )
    for call in calls:
        with pytest.raises(InvalidPageTokenError):
            call()


def test_an_entity_is_looked_for_in_the_role_that_is_named_or_in_any():
    entity = {"entity_type": "Person", "entity_id": "a"}
    assert facts(entity=entity).where.roles == ()
    assert facts(entity={**entity, "role": "SUBJECT_ROLE_OBJECT"}).where.roles == (SubjectRole.OBJECT,)
    assert facts().where.roles == ()


def test_conflicts_are_filtered():
    query = conflicts(
        state="CONFLICT_STATE_OPEN",
        entity={"entity_type": "P", "entity_id": "a"},
        domain="d",
        access_scope="s",
        page_size=7,
    )
    assert query.where == ConflictFilter(ConflictState.OPEN, EntityRef("P", "a"), "d", "s")
    assert query.size == 7
    assert conflicts(access_scope="").where == ConflictFilter(access_scope="")
    assert conflicts(order_by="create_time").order == FactOrder(descending=False)
    assert conflicts().where == ConflictFilter()
    assert conflicts(order_by="create_time desc").order == FactOrder()


def test_bad_filters_of_conflicts_are_named():
    assert bad_fields(lambda: conflicts(state=9, entity={}, page_size=-5, order_by="confidence")) == {
        "state",
        "entity.entity_type",
        "entity.entity_id",
        "page_size",
        "order_by",
    }


@pytest.mark.parametrize("text", ["", "not-a-uuid"])
def test_an_id_is_a_uuid(text):
    assert bad_fields(lambda: parse_one_id("fact_id", text)) == {"fact_id"}

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from concord.v1 import enums_pb2
from concord.v1.enums_pb2 import FACT_STATUS_RETRACTED
from concord.v1.evolution_service_pb2 import UpdateFactStatusRequest
from concord.v1.reconcile_service_pb2 import ResolveConflictRequest
from concord_server.api.parsing.changes import parse_conflict_resolution, parse_status_change
from concord_server.domain.commands import KeepAll, KeepNone, KeepOne
from concord_server.domain.enums import FactStatus
from concord_server.domain.errors import InvalidFieldsError
from google.protobuf.message import Message

ID = "019a0000-0000-7000-8000-000000000000"
OTHER = "019a0000-0000-7000-8000-000000000001"


def encode(_: object) -> bytes:
    return b""


def bad_fields(parse: Callable[..., object], message: Message) -> set[str]:
    with pytest.raises(InvalidFieldsError) as caught:
        parse(message, encode)
    return {violation.field for violation in caught.value.violations}


def test_a_change_of_status_is_read():
    change = parse_status_change(
        UpdateFactStatusRequest(
            fact_id=ID, status=FACT_STATUS_RETRACTED, reason="not true", etag='"3"', request_id=OTHER
        ),
        encode,
    )
    assert change.fact_id == UUID(ID)
    assert change.status is FactStatus.RETRACTED
    assert (change.reason, change.etag) == ("not true", '"3"')
    assert change.idempotency is not None
    assert change.idempotency.request_id == UUID(OTHER)
    assert change.idempotency.method == "concord.v1.EvolutionService/UpdateFactStatus"


def test_every_bad_field_of_a_change_of_status_is_named():
    message = UpdateFactStatusRequest(fact_id="x", reason="a" * 4001, etag="\n", request_id="x")
    assert bad_fields(parse_status_change, message) == {"fact_id", "status", "reason", "etag", "request_id"}
    assert bad_fields(parse_status_change, UpdateFactStatusRequest(status=enums_pb2.FactStatus.ValueType(77))) == {
        "fact_id",
        "status",
    }


@pytest.mark.parametrize(
    ("fields", "resolution"),
    [
        ({"keep_fact_id": OTHER}, KeepOne(UUID(OTHER))),
        ({"keep_none": True}, KeepNone()),
        ({"keep_all": True}, KeepAll()),
    ],
)
def test_what_to_keep_is_read(fields, resolution):
    asked = parse_conflict_resolution(ResolveConflictRequest(conflict_id=ID, note="n", etag="e", **fields), encode)
    assert asked.conflict_id == UUID(ID)
    assert asked.resolution == resolution
    assert (asked.note, asked.etag, asked.idempotency) == ("n", "e", None)


@pytest.mark.parametrize(
    ("fields", "bad"),
    [
        ({}, "resolution"),
        ({"keep_fact_id": ""}, "keep_fact_id"),
        ({"keep_fact_id": "x"}, "keep_fact_id"),
        ({"keep_none": False}, "keep_none"),
        ({"keep_all": False}, "keep_all"),
    ],
)
def test_a_resolution_that_keeps_nothing_clearly_is_refused(fields, bad):
    message = ResolveConflictRequest(conflict_id=ID, **fields)
    assert bad_fields(parse_conflict_resolution, message) == {bad}


def test_every_bad_field_of_a_resolution_is_named():
    message = ResolveConflictRequest(note="a\x00b", etag=" ", request_id="x")
    assert bad_fields(parse_conflict_resolution, message) == {
        "conflict_id",
        "resolution",
        "note",
        "etag",
        "request_id",
    }

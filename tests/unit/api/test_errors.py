from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import concord_server.api.errors as edge
import pytest
from concord.v1.error_reason_pb2 import ErrorReason
from concord_server.api.errors import CODES, code_of, to_status
from concord_server.domain import errors
from concord_server.domain.errors import (
    ConcordError,
    ConcurrentUpdateError,
    EtagMismatchError,
    FactNotFoundError,
    FieldViolation,
    InvalidFieldsError,
    InvalidPageTokenError,
    RequestIdReusedError,
    UnavailableError,
    UnsupportedError,
)
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc import StatusCode
from structlog.testing import capture_logs

PROTO = Path(__file__).parents[3] / "protos/concord/v1/error_reason.proto"
ABSTRACT = {"ConcordError", "NotFoundError", "AlreadyExistsError", "FailedPreconditionError", "AbortedError"}
"""Classes that only group others and are never raised themselves."""


def detail(status: Any, kind: Any) -> list[Any]:
    found = []
    for packed in status.details:
        message = kind()
        if packed.Is(kind.DESCRIPTOR):
            packed.Unpack(message)
            found.append(message)
    return found


def info(status: Any) -> Any:
    [only] = detail(status, error_details_pb2.ErrorInfo)
    return only


def subclasses(kind: type[ConcordError]) -> Iterator[type[ConcordError]]:
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


def made(kind: Any) -> Any:
    """An error of a class, whatever its constructor takes."""
    if issubclass(kind, InvalidFieldsError):
        return kind.of("field", "is bad")
    error: Any = kind.__new__(kind)
    Exception.__init__(error, "what went wrong")
    error.kind, error.identifier = "thing", "id"
    return error


OURS = sorted(
    {c for c in subclasses(ConcordError) if c.__module__ in {errors.__name__, edge.__name__}},
    key=lambda c: c.__name__,
)


def documented_codes() -> dict[str, str]:
    text = PROTO.read_text(encoding="utf-8")
    pattern = re.compile(
        r"// ([A-Z_]+)(?: with RetryInfo)?: (?:(?!ERROR_REASON)[\s\S])*?ERROR_REASON_(\w+) = \d+;"
    )
    return {reason: code for code, reason in pattern.findall(text)}


def test_every_reason_of_the_contract_has_the_code_that_it_documents():
    reasons = {name.removeprefix("ERROR_REASON_") for name in list(ErrorReason.keys())} - {"UNSPECIFIED"}
    assert set(CODES) == reasons
    assert {reason: code.name for reason, code in CODES.items()} == documented_codes()


@pytest.mark.parametrize("kind", [c for c in OURS if c.__name__ not in ABSTRACT], ids=lambda c: c.__name__)
def test_every_error_of_the_domain_has_one_reason_of_the_contract(kind):
    assert "reason" in vars(kind), "a reason of its own"
    status = to_status(made(kind))
    assert info(status).domain == "concord"
    assert info(status).reason == kind.reason
    assert code_of(status) is CODES[kind.reason]
    assert status.message


@pytest.mark.parametrize(
    ("base", "code"),
    [
        ("NotFoundError", StatusCode.NOT_FOUND),
        ("AlreadyExistsError", StatusCode.ALREADY_EXISTS),
        ("FailedPreconditionError", StatusCode.FAILED_PRECONDITION),
        ("AbortedError", StatusCode.ABORTED),
        ("InvalidFieldsError", StatusCode.INVALID_ARGUMENT),
    ],
)
def test_the_groups_of_errors_share_their_code(base, code):
    children = list(subclasses(getattr(errors, base)))
    assert children
    assert {CODES[child.reason] for child in children} == {code}


def test_bad_fields_are_named_once_each():
    status = to_status(
        InvalidFieldsError(
            [
                FieldViolation("text", "must not be empty"),
                FieldViolation("source.credibility", "must be in [0, 1]"),
                FieldViolation("text", "must contain a letter"),
                FieldViolation("text", "must not be empty"),
            ]
        )
    )
    [bad] = detail(status, error_details_pb2.BadRequest)
    assert [(v.field, v.description) for v in bad.field_violations] == [
        ("text", "must not be empty; must contain a letter"),
        ("source.credibility", "must be in [0, 1]"),
    ]
    assert code_of(status) is StatusCode.INVALID_ARGUMENT


def test_a_page_token_is_a_bad_field_with_a_reason_of_its_own():
    status = to_status(InvalidPageTokenError.of("page_token", "is garbled"))
    assert info(status).reason == "INVALID_PAGE_TOKEN"
    [bad] = detail(status, error_details_pb2.BadRequest)
    assert [v.field for v in bad.field_violations] == ["page_token"]


def test_more_bad_fields_than_trailers_can_carry_are_counted():
    violations = [FieldViolation(f"tags[{i}]", "must have at most 256 characters") for i in range(500)]
    status = to_status(InvalidFieldsError(violations))
    [bad] = detail(status, error_details_pb2.BadRequest)
    assert len(bad.field_violations) + int(info(status).metadata["omitted_violations"]) == 500
    assert status.ByteSize() < 5000


def test_what_does_not_exist_is_named_for_machines():
    assert dict(info(to_status(FactNotFoundError("abc"))).metadata) == {"resource": "fact", "id": "abc"}


def test_a_retry_is_advised_where_the_same_call_may_succeed():
    def delay(error: ConcordError) -> list[int]:
        found = detail(to_status(error), error_details_pb2.RetryInfo)
        return [retry.retry_delay.ToMilliseconds() for retry in found]

    assert delay(ConcurrentUpdateError("raced")) == [100]
    assert delay(UnavailableError("down")) == [200]
    assert delay(EtagMismatchError("changed")) == []
    assert delay(RequestIdReusedError("id")) == []


@pytest.mark.parametrize("error", [ValueError("SELECT secret FROM /var/lib/key"), ConcordError("SELECT secret")])
def test_an_unknown_error_tells_the_caller_nothing_but_an_id_that_the_log_has_too(error):
    with capture_logs() as logs:
        status = to_status(error)
    assert code_of(status) is StatusCode.INTERNAL
    assert info(status).reason == "INTERNAL"
    assert b"secret" not in status.SerializeToString()
    [entry] = logs
    assert entry["log_level"] == "error"
    assert entry["error_id"] == info(status).metadata["error_id"]
    assert entry["error_id"] in status.message
    assert "SELECT secret" in entry["traceback"]


def test_an_error_with_a_reason_that_the_contract_does_not_have_is_a_fault():
    class StrangeError(ConcordError):
        reason = "STRANGE"

    with capture_logs():
        assert info(to_status(StrangeError("x"))).reason == "INTERNAL"


def test_a_long_message_is_cut():
    assert len(to_status(UnsupportedError("x" * 5000)).message) == 500

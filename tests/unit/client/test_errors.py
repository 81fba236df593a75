from __future__ import annotations

import pickle
from typing import Any

import concord
import grpc
import pytest
from concord import ConcordError, ErrorReason, FieldViolation
from concord.errors import error_from_rpc, error_from_status
from concord.v1 import error_reason_pb2
from google.protobuf import any_pb2, timestamp_pb2


class FailedCall(grpc.RpcError):
    """What a gRPC stub raises, as far as the client looks at it."""

    def __init__(self, code: grpc.StatusCode, details: str | None, trailer: Any) -> None:
        self._parts = (code, details, trailer)

    def code(self) -> grpc.StatusCode:
        return self._parts[0]

    def details(self) -> str | None:
        return self._parts[1]

    def trailing_metadata(self) -> Any:
        return self._parts[2]


@pytest.mark.parametrize("code", [c for c in grpc.StatusCode if c is not grpc.StatusCode.OK])
def test_each_code_has_its_error(code: grpc.StatusCode, make: Any) -> None:
    error = error_from_status(make.status(code))
    assert error.code is code
    if code in (grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS):
        assert type(error) is ConcordError
    else:
        words = "".join(word.capitalize() for word in code.name.split("_"))
        assert type(error) is getattr(concord, f"{words}Error")


def test_an_error_carries_everything_that_the_service_said(make: Any) -> None:
    status = make.status(
        grpc.StatusCode.INVALID_ARGUMENT,
        "the request is wrong",
        reason="INVALID_FIELD",
        violations=(("text", "must not be empty"), ("source.credibility", "must be in [0, 1]")),
        retry_delay=1.5,
    )
    trailer = (("other", "x"), ("grpc-status-details-bin", status.SerializeToString()))
    error = error_from_rpc(FailedCall(grpc.StatusCode.INVALID_ARGUMENT, "the request is wrong", trailer))
    assert isinstance(error, concord.InvalidArgumentError)
    assert (error.code, error.reason, error.message) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        ErrorReason.INVALID_FIELD,
        "the request is wrong",
    )
    assert error.field_violations == (
        FieldViolation("text", "must not be empty"),
        FieldViolation("source.credibility", "must be in [0, 1]"),
    )
    assert error.retry_delay == 1.5
    assert error.metadata == {"k": "v"}
    assert str(error) == (
        "INVALID_ARGUMENT INVALID_FIELD: the request is wrong "
        "(text: must not be empty; source.credibility: must be in [0, 1])"
    )


@pytest.mark.parametrize(
    "trailer",
    [None, (), (("grpc-status-details-bin", b"\xff\xff garbled"),)],
    ids=["no metadata", "no details", "garbled details"],
)
def test_without_details_the_status_is_enough(trailer: Any) -> None:
    error = error_from_rpc(FailedCall(grpc.StatusCode.UNAVAILABLE, "connection refused", trailer))
    assert isinstance(error, concord.UnavailableError)
    assert (error.reason, error.message, error.retry_delay) == ("", "connection refused", None)


def test_details_that_contradict_the_status_are_not_believed(make: Any) -> None:
    status = make.status(grpc.StatusCode.NOT_FOUND, "no such fact", reason="FACT_NOT_FOUND")
    trailer = (("grpc-status-details-bin", status.SerializeToString()),)
    error = error_from_rpc(FailedCall(grpc.StatusCode.UNAVAILABLE, "proxy in trouble", trailer))
    assert isinstance(error, concord.UnavailableError)
    assert error.reason == ""


def test_details_and_codes_of_a_newer_server_do_no_harm(make: Any) -> None:
    status = make.status(grpc.StatusCode.NOT_FOUND, reason="SOMETHING_NEW")
    unknown = any_pb2.Any()
    unknown.Pack(timestamp_pb2.Timestamp())
    status.details.append(unknown)
    status.details.append(any_pb2.Any(type_url="type.example/newer.Detail", value=b"\x01"))
    assert error_from_status(status).reason == "SOMETHING_NEW"
    status.code = 99
    assert error_from_status(status).code is grpc.StatusCode.UNKNOWN


def test_the_cause_is_kept() -> None:
    cause = FailedCall(grpc.StatusCode.INTERNAL, "x", None)
    assert error_from_rpc(cause).__cause__ is cause


def test_errors_survive_a_process_pool(make: Any) -> None:
    error = error_from_status(
        make.status(grpc.StatusCode.ABORTED, reason="ETAG_MISMATCH", violations=(("a", "b"),), retry_delay=2)
    )
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert vars(again) == vars(error)


def test_reasons_are_those_of_the_contract() -> None:
    values = error_reason_pb2.ErrorReason.keys()
    assert [f"ERROR_REASON_{reason}" for reason in ErrorReason] == values[1:]

"""Errors of calls, by gRPC code, with what the service says about them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status

from concord._convert import FrozenDict


class ErrorReason(StrEnum):
    """Why a call failed; compare with :attr:`ConcordError.reason`.

    An example of each is in ``protos/concord/v1/error_reason.proto``. A newer server may send others.
    """

    INVALID_FIELD = "INVALID_FIELD"
    INVALID_PAGE_TOKEN = "INVALID_PAGE_TOKEN"  # noqa: S105 - not a secret
    PARTITION_MISMATCH = "PARTITION_MISMATCH"
    FACT_NOT_FOUND = "FACT_NOT_FOUND"
    CONFLICT_NOT_FOUND = "CONFLICT_NOT_FOUND"
    DECISION_NOT_FOUND = "DECISION_NOT_FOUND"
    EVENT_NOT_FOUND = "EVENT_NOT_FOUND"
    RUN_NOT_FOUND = "RUN_NOT_FOUND"
    OBSERVATION_NOT_FOUND = "OBSERVATION_NOT_FOUND"
    PROJECT_NOT_FOUND = "PROJECT_NOT_FOUND"
    API_KEY_NOT_FOUND = "API_KEY_NOT_FOUND"
    SOURCE_NOT_FOUND = "SOURCE_NOT_FOUND"
    PREDICATE_NOT_FOUND = "PREDICATE_NOT_FOUND"
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    PROJECT_EXISTS = "PROJECT_EXISTS"
    REQUEST_IN_PROGRESS = "REQUEST_IN_PROGRESS"
    ETAG_MISMATCH = "ETAG_MISMATCH"
    CONCURRENT_UPDATE = "CONCURRENT_UPDATE"
    ILLEGAL_STATUS_TRANSITION = "ILLEGAL_STATUS_TRANSITION"
    CONFLICT_ALREADY_RESOLVED = "CONFLICT_ALREADY_RESOLVED"
    FACT_NOT_IN_CONFLICT = "FACT_NOT_IN_CONFLICT"
    SLOT_OCCUPIED = "SLOT_OCCUPIED"
    CYCLE = "CYCLE"
    NO_MODEL = "NO_MODEL"
    RUN_ALREADY_FINISHED = "RUN_ALREADY_FINISHED"
    MODEL_DENIED = "MODEL_DENIED"
    RESTATEMENT_REFUSED = "RESTATEMENT_REFUSED"
    SEQUENCE_NOT_KEPT = "SEQUENCE_NOT_KEPT"
    RATE_LIMITED = "RATE_LIMITED"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    UNAVAILABLE = "UNAVAILABLE"
    MODEL_FAILED = "MODEL_FAILED"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    CANCELLED = "CANCELLED"
    NOT_IMPLEMENTED = "NOT_IMPLEMENTED"
    INTERNAL = "INTERNAL"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """What is wrong with one field of a request.

    Attributes:
        field: path of the field, such as "source.credibility".
        description: what is wrong, for a person.
    """

    field: str
    description: str


class ConcordError(Exception):
    """A call failed. Subclasses tell the gRPC code; branch on ``reason`` where that is too coarse.

    Attributes:
        code: the gRPC status code.
        reason: name of an :class:`ErrorReason`, empty when the error did not come from the service (a proxy, a
            broken connection).
        message: what went wrong, for a person.
        field_violations: what is wrong with each bad field.
        retry_delay: seconds after which a retry may help, None where the service does not say so.
        metadata: further facts about the error.
    """

    default_code: ClassVar[grpc.StatusCode] = grpc.StatusCode.UNKNOWN

    def __init__(
        self,
        message: str,
        *,
        code: grpc.StatusCode | None = None,
        reason: str = "",
        field_violations: tuple[FieldViolation, ...] = (),
        retry_delay: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = self.default_code if code is None else code
        self.reason = reason
        self.field_violations = field_violations
        self.retry_delay = retry_delay
        self.metadata: Mapping[str, str] = FrozenDict(metadata or {})

    def __str__(self) -> str:
        label = f"{self.code.name} {self.reason}".rstrip() if self.reason != self.code.name else self.reason
        fields = "; ".join(f"{violation.field}: {violation.description}" for violation in self.field_violations)
        return f"{label}: {self.message}" + (f" ({fields})" if fields else "")

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions with keyword arguments cannot be unpickled otherwise, which breaks process pools.
        build = functools.partial(
            type(self),
            code=self.code,
            reason=self.reason,
            field_violations=self.field_violations,
            retry_delay=self.retry_delay,
            metadata=self.metadata,
        )
        return build, (self.message,)


class CancelledError(ConcordError):
    """The call was cancelled on the way. A cancelled asyncio task raises ``asyncio.CancelledError`` instead."""

    default_code = grpc.StatusCode.CANCELLED


class InvalidArgumentError(ConcordError):
    """The request is wrong whatever the state of the service; see ``field_violations``."""

    default_code = grpc.StatusCode.INVALID_ARGUMENT


class DeadlineExceededError(ConcordError):
    """The answer did not come in time. A write may have happened: repeat it with the same request id."""

    default_code = grpc.StatusCode.DEADLINE_EXCEEDED


class NotFoundError(ConcordError):
    """No such resource in the project."""

    default_code = grpc.StatusCode.NOT_FOUND


class AlreadyExistsError(ConcordError):
    """The request id or key belongs to something else."""

    default_code = grpc.StatusCode.ALREADY_EXISTS


class PermissionDeniedError(ConcordError):
    """The credential does not allow the call."""

    default_code = grpc.StatusCode.PERMISSION_DENIED


class ResourceExhaustedError(ConcordError):
    """A limit was reached: of rate, budget or size."""

    default_code = grpc.StatusCode.RESOURCE_EXHAUSTED


class FailedPreconditionError(ConcordError):
    """The state of the resource does not allow the call."""

    default_code = grpc.StatusCode.FAILED_PRECONDITION


class AbortedError(ConcordError):
    """Somebody else's change came first: read again and decide anew."""

    default_code = grpc.StatusCode.ABORTED


class OutOfRangeError(ConcordError):
    """The change log is no longer kept back to the sequence asked for."""

    default_code = grpc.StatusCode.OUT_OF_RANGE


class UnimplementedError(ConcordError):
    """The server does not have this call."""

    default_code = grpc.StatusCode.UNIMPLEMENTED


class InternalError(ConcordError):
    """A fault of the server, or an answer that breaks the contract."""

    default_code = grpc.StatusCode.INTERNAL


class UnavailableError(ConcordError):
    """The server cannot be reached or cannot serve now, and retries did not help."""

    default_code = grpc.StatusCode.UNAVAILABLE


class UnauthenticatedError(ConcordError):
    """The credential is missing, unknown, expired or revoked."""

    default_code = grpc.StatusCode.UNAUTHENTICATED


_BY_CODE = {kind.default_code: kind for kind in ConcordError.__subclasses__()}
_CODES = {code.value[0]: code for code in grpc.StatusCode}


def error_from_status(status: status_pb2.Status) -> ConcordError:
    """Makes the error that a ``google.rpc.Status`` describes.

    Details of unknown types are passed over; an unknown code counts as UNKNOWN.
    """
    info = error_details_pb2.ErrorInfo()
    bad_request = error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    retry_delay = None
    for detail in status.details:
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            detail.Unpack(info)
        elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            detail.Unpack(bad_request)
        elif detail.Unpack(retry):
            retry_delay = retry.retry_delay.ToTimedelta().total_seconds()
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    return _BY_CODE.get(code, ConcordError)(
        status.message,
        code=code,
        reason=info.reason,
        field_violations=tuple(FieldViolation(v.field, v.description) for v in bad_request.field_violations),
        retry_delay=retry_delay,
        metadata=info.metadata,
    )


def error_from_rpc(error: grpc.RpcError) -> ConcordError:
    """Makes the error of a failed call, synchronous or asyncio.

    Without details, as from a proxy or a broken connection, it has a code and a message alone.
    """
    # Every RpcError that gRPC raises from a call has the methods of a Call, which its type does not say.
    call: Any = error
    try:
        status = rpc_status.from_call(call)
    except (ValueError, DecodeError):
        # Details that are garbled, or that tell another story than the status itself: trust the status.
        status = None
    if status is None:
        status = status_pb2.Status(code=call.code().value[0], message=call.details() or "")
    result = error_from_status(status)
    result.__cause__ = error
    return result

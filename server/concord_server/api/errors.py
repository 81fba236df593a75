"""One mapper from failures to the statuses that callers see: of calls, of batch items and of stream items.

Every status has exactly one ``ErrorInfo`` (domain ``concord``), a ``BadRequest`` where fields are bad and a
``RetryInfo`` where sending the call again helps.
"""

from __future__ import annotations

import traceback
import uuid
from collections.abc import Iterable, Mapping
from datetime import timedelta

import structlog
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc import StatusCode

from concord_server.api.wellknown import to_duration
from concord_server.domain.errors import (
    AbortedError,
    ConcordError,
    FieldViolation,
    InvalidFieldsError,
    NotFoundError,
    UnavailableError,
)

DOMAIN = "concord"
DETAILS_KEY = "grpc-status-details-bin"

MAX_MESSAGE_LENGTH = 500
"""Longest message of a status, in characters: it travels in the trailers, once plain and once in the details."""

MAX_VIOLATIONS_SIZE = 3072
"""Bytes of field violations in one status: clients refuse trailers above 8 KiB, and then nothing is named."""

CODES: Mapping[str, StatusCode] = {
    "INVALID_FIELD": StatusCode.INVALID_ARGUMENT,
    "INVALID_PAGE_TOKEN": StatusCode.INVALID_ARGUMENT,
    "PARTITION_MISMATCH": StatusCode.INVALID_ARGUMENT,
    "FACT_NOT_FOUND": StatusCode.NOT_FOUND,
    "CONFLICT_NOT_FOUND": StatusCode.NOT_FOUND,
    "DECISION_NOT_FOUND": StatusCode.NOT_FOUND,
    "EVENT_NOT_FOUND": StatusCode.NOT_FOUND,
    "RUN_NOT_FOUND": StatusCode.NOT_FOUND,
    "OBSERVATION_NOT_FOUND": StatusCode.NOT_FOUND,
    "PROJECT_NOT_FOUND": StatusCode.NOT_FOUND,
    "API_KEY_NOT_FOUND": StatusCode.NOT_FOUND,
    "SOURCE_NOT_FOUND": StatusCode.NOT_FOUND,
    "PREDICATE_NOT_FOUND": StatusCode.NOT_FOUND,
    "REQUEST_ID_REUSED": StatusCode.ALREADY_EXISTS,
    "IDEMPOTENCY_KEY_REUSED": StatusCode.ALREADY_EXISTS,
    "PROJECT_EXISTS": StatusCode.ALREADY_EXISTS,
    "REQUEST_IN_PROGRESS": StatusCode.ABORTED,
    "ETAG_MISMATCH": StatusCode.ABORTED,
    "CONCURRENT_UPDATE": StatusCode.ABORTED,
    "ILLEGAL_STATUS_TRANSITION": StatusCode.FAILED_PRECONDITION,
    "CONFLICT_ALREADY_RESOLVED": StatusCode.FAILED_PRECONDITION,
    "FACT_NOT_IN_CONFLICT": StatusCode.FAILED_PRECONDITION,
    "SLOT_OCCUPIED": StatusCode.FAILED_PRECONDITION,
    "CYCLE": StatusCode.FAILED_PRECONDITION,
    "NO_MODEL": StatusCode.FAILED_PRECONDITION,
    "MODEL_DENIED": StatusCode.FAILED_PRECONDITION,
    "RUN_ALREADY_FINISHED": StatusCode.FAILED_PRECONDITION,
    "RESTATEMENT_REFUSED": StatusCode.FAILED_PRECONDITION,
    "SEQUENCE_NOT_KEPT": StatusCode.OUT_OF_RANGE,
    "RATE_LIMITED": StatusCode.RESOURCE_EXHAUSTED,
    "BUDGET_EXHAUSTED": StatusCode.RESOURCE_EXHAUSTED,
    "MESSAGE_TOO_LARGE": StatusCode.RESOURCE_EXHAUSTED,
    "UNAUTHENTICATED": StatusCode.UNAUTHENTICATED,
    "PERMISSION_DENIED": StatusCode.PERMISSION_DENIED,
    "UNAVAILABLE": StatusCode.UNAVAILABLE,
    "MODEL_FAILED": StatusCode.UNAVAILABLE,
    "DEADLINE_EXCEEDED": StatusCode.DEADLINE_EXCEEDED,
    "CANCELLED": StatusCode.CANCELLED,
    "NOT_IMPLEMENTED": StatusCode.UNIMPLEMENTED,
    "INTERNAL": StatusCode.INTERNAL,
}
"""The code of every reason, as ``error_reason.proto`` documents it."""

UNAVAILABLE_RETRY_DELAY = timedelta(milliseconds=200)
"""How long a caller is asked to wait when a part of the service cannot be reached."""

_BY_NUMBER: Mapping[int, StatusCode] = {code.value[0]: code for code in StatusCode}

_log = structlog.get_logger(__name__)


class DeadlineExceededError(ConcordError):
    """The caller's deadline, or the server's own, passed."""

    reason = "DEADLINE_EXCEEDED"


class CallerGoneError(ConcordError):
    """The caller went away while it was answered; nobody is told."""

    reason = "CANCELLED"


def code_of(status: status_pb2.Status) -> StatusCode:
    """Returns the gRPC code of a status."""
    return _BY_NUMBER[status.code]


def to_status(error: Exception) -> status_pb2.Status:
    """Returns what a caller is told about a failure.

    An error that is not one of the domain's is a fault of the server: it is logged with an id, and the id is all
    that the caller gets of it, since its text may hold SQL, paths or keys.
    """
    if not isinstance(error, ConcordError) or error.reason == "INTERNAL" or error.reason not in CODES:
        return _fault(error)
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN)
    details: list[Message] = [info]
    if isinstance(error, NotFoundError):
        info.metadata.update({"resource": error.kind, "id": error.identifier})
    if isinstance(error, InvalidFieldsError):
        bad_request, omitted = _bad_request(error.violations)
        details.append(bad_request)
        if omitted:
            info.metadata["omitted_violations"] = str(omitted)
    delay = _retry_delay(error)
    if delay is not None:
        details.append(error_details_pb2.RetryInfo(retry_delay=to_duration(delay)))
    return _status(CODES[error.reason], str(error), details)


def stored_status(reason: str, message: str) -> status_pb2.Status:
    """Returns what is told about a failure that was recorded earlier, of an event or a run."""
    reason = reason if reason in CODES else "INTERNAL"
    return _status(CODES[reason], message, [error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN)])


def _fault(error: Exception) -> status_pb2.Status:
    error_id = uuid.uuid4().hex
    # Formatted here: a renderer of tracebacks may print local variables too, and those hold requests.
    _log.error("internal error", error_id=error_id, traceback="".join(traceback.format_exception(error)))
    info = error_details_pb2.ErrorInfo(reason="INTERNAL", domain=DOMAIN, metadata={"error_id": error_id})
    return _status(StatusCode.INTERNAL, f"internal error; the server's log has it as {error_id}", [info])


def _bad_request(violations: Iterable[FieldViolation]) -> tuple[error_details_pb2.BadRequest, int]:
    """Returns one violation per bad field, as many as fit, and how many fields were left out."""
    problems: dict[str, dict[str, None]] = {}
    for violation in violations:
        problems.setdefault(violation.field, {})[violation.description] = None
    bad_request = error_details_pb2.BadRequest()
    size = 0
    for named, (field, descriptions) in enumerate(problems.items()):
        violation = error_details_pb2.BadRequest.FieldViolation(field=field, description="; ".join(descriptions))
        size += violation.ByteSize()
        if size > MAX_VIOLATIONS_SIZE:
            return bad_request, len(problems) - named
        bad_request.field_violations.append(violation)
    return bad_request, 0


def _retry_delay(error: ConcordError) -> timedelta | None:
    if isinstance(error, UnavailableError):
        return UNAVAILABLE_RETRY_DELAY
    return error.retry_delay if isinstance(error, AbortedError) else None


def _status(code: StatusCode, message: str, details: Iterable[Message]) -> status_pb2.Status:
    if len(message) > MAX_MESSAGE_LENGTH:
        message = message[: MAX_MESSAGE_LENGTH - 1] + "…"
    status = status_pb2.Status(code=code.value[0], message=message)
    for detail in details:
        status.details.add().Pack(detail)
    return status

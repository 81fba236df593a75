"""What writes to single resources ask for: a fact's status, a conflict's resolution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from concord.v1 import evolution_service_pb2, reconcile_service_pb2

from concord_server.api.enums import FACT_STATUS
from concord_server.api.parsing.fields import NIL_ID, parse_enum, parse_id, parse_label, parse_note
from concord_server.api.parsing.idempotency import parse_idempotency
from concord_server.domain.commands import KeepAll, KeepNone, KeepOne, Resolution, Violations
from concord_server.domain.enums import FactStatus
from concord_server.domain.model import Conflict, Fact
from concord_server.services.context import Idempotency

T = TypeVar("T")

UPDATE_FACT_STATUS_METHOD = "concord.v1.EvolutionService/UpdateFactStatus"
RESOLVE_CONFLICT_METHOD = "concord.v1.ReconcileService/ResolveConflict"


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A step of a fact's status that a caller asks for; an empty ``etag`` means no check."""

    fact_id: UUID
    status: FactStatus
    reason: str
    etag: str
    idempotency: Idempotency[Fact] | None


@dataclass(frozen=True, slots=True)
class ConflictResolution:
    """How a caller decides a conflict; an empty ``etag`` means no check."""

    conflict_id: UUID
    resolution: Resolution
    note: str
    etag: str
    idempotency: Idempotency[Conflict] | None


def parse_status_change(
    request: evolution_service_pb2.UpdateFactStatusRequest, encode: Callable[[Fact], bytes]
) -> StatusChange:
    """Returns which status a fact is to have.

    Args:
        request: as received.
        encode: turns the first answer into what is stored for repeated requests.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    status = parse_enum("status", request.status, FACT_STATUS, found)
    if request.status == FACT_STATUS.unspecified:
        found.add("status", "must be given")
    change = StatusChange(
        fact_id=parse_id("fact_id", request.fact_id, found),
        status=status or FactStatus.ACTIVE,
        reason=parse_note("reason", request.reason, found),
        etag=parse_label("etag", request.etag, found),
        idempotency=parse_idempotency(UPDATE_FACT_STATUS_METHOD, request, request.request_id, encode, found),
    )
    found.raise_if_any()
    return change


def parse_conflict_resolution(
    request: reconcile_service_pb2.ResolveConflictRequest, encode: Callable[[Conflict], bytes]
) -> ConflictResolution:
    """Returns how a conflict is to be decided.

    Args:
        request: as received.
        encode: turns the first answer into what is stored for repeated requests.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    decided = ConflictResolution(
        conflict_id=parse_id("conflict_id", request.conflict_id, found),
        resolution=_parse_resolution(request, found),
        note=parse_note("note", request.note, found),
        etag=parse_label("etag", request.etag, found),
        idempotency=parse_idempotency(RESOLVE_CONFLICT_METHOD, request, request.request_id, encode, found),
    )
    found.raise_if_any()
    return decided


def _parse_resolution(request: reconcile_service_pb2.ResolveConflictRequest, found: Violations) -> Resolution:
    kind = request.WhichOneof("resolution")
    if kind == "keep_fact_id":
        return KeepOne(parse_id("keep_fact_id", request.keep_fact_id, found))
    if kind is None:
        found.add("resolution", "one of keep_fact_id, keep_none and keep_all must be given")
        return KeepOne(NIL_ID)
    if not getattr(request, kind):
        found.add(kind, "must be true when given")
    return KeepNone() if kind == "keep_none" else KeepAll()

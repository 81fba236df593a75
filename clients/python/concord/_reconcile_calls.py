"""The calls of ReconcileService."""

from __future__ import annotations

from collections.abc import Sequence

from concord import _parse, _requests
from concord import results as r
from concord._call import Call, Rpc
from concord._convert import duration_from_proto
from concord.enums import ConflictState, enum_to_proto
from concord.errors import InternalError, error_from_status
from concord.inputs import EntityRef, Statement
from concord.resources import Conflict, Decision
from concord.v1 import reconcile_service_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["ReconcileService"]
_RECONCILE = Rpc.of(_SERVICE, pb.ReconcileRequest, pb.ReconcileResponse)
_BATCH_RECONCILE = Rpc.of(_SERVICE, pb.BatchReconcileRequest, pb.BatchReconcileResponse)
_WITHDRAW_SOURCE = Rpc.of(_SERVICE, pb.WithdrawSourceRequest, pb.WithdrawSourceResponse)
_LIST_CONFLICTS = Rpc.of(_SERVICE, pb.ListConflictsRequest, pb.ListConflictsResponse)
_GET_CONFLICT = Rpc.of(_SERVICE, pb.GetConflictRequest, pb.GetConflictResponse)
_RESOLVE_CONFLICT = Rpc.of(_SERVICE, pb.ResolveConflictRequest, pb.ResolveConflictResponse)
_GET_DECISION = Rpc.of(_SERVICE, pb.GetDecisionRequest, pb.GetDecisionResponse)
STREAM_RECONCILE = Rpc.of(_SERVICE, pb.StreamReconcileRequest, pb.StreamReconcileResponse)

BATCH_TIME_PER_ITEM = 0.1
"""Seconds that each item adds to the deadline of a batch, as on the server."""


def reconcile(statement: Statement | str, *, timeout: float | None = None) -> Call[r.ReconcileResult]:
    """Reconciles one statement with what is known.

    Args:
        statement: the statement; text alone stands for ``Statement(text)``.
        timeout: seconds for all attempts; None means the client's default.

    Returns:
        What became of it, with the decision that led there.

    Raises:
        InvalidArgumentError: a field is wrong; nothing was written.
        AlreadyExistsError: the request id was used for another statement.
    """
    given = _requests.repeatable(statement)
    return _RECONCILE.call(_requests.reconcile(given), _parse.reconcile_result, timeout=timeout)


def batch_reconcile(
    statements: Sequence[Statement | str], *, timeout: float | None = None
) -> Call[tuple[r.ReconcileOutcome, ...]]:
    """Reconciles up to 1000 statements, with the same outcome as one by one in that order.

    Args:
        statements: the statements, 1 to 1000.
        timeout: seconds for all attempts; None means the client's default and 0.1 s an item.

    Returns:
        One outcome per statement, in order; a bad one carries its error and harms no other.
    """
    given = [_requests.repeatable(statement) for statement in statements]
    request = pb.BatchReconcileRequest(requests=[_requests.reconcile(statement) for statement in given])

    def parse(response: pb.BatchReconcileResponse) -> tuple[r.ReconcileOutcome, ...]:
        if len(response.results) != len(given):
            raise InternalError(f"the server answered {len(response.results)} of {len(given)} items")
        return tuple(
            outcome(index, statement, result)
            for index, (statement, result) in enumerate(zip(given, response.results, strict=True))
        )

    return _BATCH_RECONCILE.call(request, parse, timeout=timeout, extra_time=BATCH_TIME_PER_ITEM * len(given))


def outcome(
    index: int, statement: Statement, answer: pb.BatchReconcileResult | pb.StreamReconcileResponse
) -> r.ReconcileOutcome:
    """Parses the answer to one item of a batch or a stream."""
    kind = answer.WhichOneof("result")
    if kind == "response":
        result = _parse.reconcile_result(answer.response)
        return r.ReconcileOutcome(index=index, statement=statement, result=result)
    if kind == "error":
        return r.ReconcileOutcome(index=index, statement=statement, error=error_from_status(answer.error))
    raise InternalError(f"the server answered item {index} with neither a response nor an error")


def withdraw_source(
    *,
    external_id: str = "",
    url: str = "",
    reason: str = "",
    request_id: str = "",
    timeout: float | None = None,
) -> Call[r.WithdrawalResult]:
    """Removes a source from every fact that it supports.

    Args:
        external_id: the caller's id of the source; give this or ``url``.
        url: address of the source.
        reason: why, for the history.
        request_id: UUID under which the call can be repeated; made here if empty.
        timeout: seconds for all attempts; None means the client's default.
    """
    request = pb.WithdrawSourceRequest(external_id=external_id, url=url, reason=reason, request_id=request_id)

    def parse(response: pb.WithdrawSourceResponse) -> r.WithdrawalResult:
        return r.WithdrawalResult(
            affected_count=response.affected_count, disputed_fact_ids=tuple(response.disputed_fact_ids)
        )

    return _WITHDRAW_SOURCE.call(request, parse, timeout=timeout)


def list_conflicts(
    *,
    state: ConflictState = ConflictState.UNSPECIFIED,
    entity: EntityRef | None = None,
    domain: str = "",
    access_scope: str | None = None,
    order_by: str = "",
    page_size: int = 0,
    page_token: str = "",
    timeout: float | None = None,
) -> Call[r.ConflictPage]:
    """Lists conflicts, newest first.

    Args:
        state: only those in this state.
        entity: only those with a fact linked to or owned by it.
        domain: only those of this domain; empty for all.
        access_scope: only those of this scope; "" for unscoped ones, None for all that the credential may read.
        order_by: "create_time desc" (default) or "create_time".
        page_size: conflicts per page, at most 500; 0 means 50.
        page_token: the ``next_page_token`` of the page before.
        timeout: seconds for all attempts of a page; None means the client's default.
    """
    request = pb.ListConflictsRequest(
        state=enum_to_proto(state),
        entity=_requests.entity(entity),
        domain=domain,
        access_scope=access_scope,
        order_by=order_by,
        page_size=page_size,
        page_token=page_token,
    )

    def parse(response: pb.ListConflictsResponse) -> r.ConflictPage:
        return r.ConflictPage(
            items=_parse.every(response.conflicts, _parse.conflict),
            next_page_token=response.next_page_token,
            total_size=response.total_size,
            open_count=response.open_count,
            oldest_open_age=_parse.optional(response, "oldest_open_age", duration_from_proto),
        )

    return _LIST_CONFLICTS.call(request, parse, timeout=timeout)


def get_conflict(conflict_id: str, *, timeout: float | None = None) -> Call[Conflict]:
    """Reads a conflict.

    Raises:
        NotFoundError: no such conflict.
    """
    return _GET_CONFLICT.call(
        pb.GetConflictRequest(conflict_id=conflict_id),
        lambda response: _parse.required(response, "conflict", _parse.conflict),
        timeout=timeout,
    )


def resolve_conflict(
    conflict_id: str,
    *,
    keep_fact_id: str = "",
    keep_none: bool = False,
    keep_all: bool = False,
    note: str = "",
    etag: str = "",
    request_id: str = "",
    timeout: float | None = None,
) -> Call[Conflict]:
    """Decides a conflict. Exactly one of the three ``keep_`` arguments must be given.

    Args:
        conflict_id: the conflict.
        keep_fact_id: keeps this fact; the others become SUPERSEDED.
        keep_none: all become RETRACTED.
        keep_all: all stay, where the predicate takes several values.
        note: why, for the history.
        etag: of the conflict as it was read, to refuse a decision on an outdated view.
        request_id: UUID under which the call can be repeated; made here if empty.
        timeout: seconds for all attempts; None means the client's default.

    Raises:
        ValueError: none or several of the three were given.
        NotFoundError: no such conflict or fact.
        FailedPreconditionError: resolved before, or the fact is no member of it.
        AbortedError: the etag is outdated.
    """
    if [bool(keep_fact_id), keep_none, keep_all].count(True) != 1:
        raise ValueError("give exactly one of keep_fact_id, keep_none and keep_all")
    request = pb.ResolveConflictRequest(conflict_id=conflict_id, note=note, etag=etag, request_id=request_id)
    if keep_fact_id:
        request.keep_fact_id = keep_fact_id
    elif keep_none:
        request.keep_none = True
    else:
        request.keep_all = True
    return _RESOLVE_CONFLICT.call(
        request,
        lambda response: _parse.required(response, "conflict", _parse.conflict),
        timeout=timeout,
    )


def get_decision(decision_id: str, *, timeout: float | None = None) -> Call[Decision]:
    """Reads the decision behind an answer.

    Raises:
        NotFoundError: no such decision, or it was erased with its fact.
    """
    return _GET_DECISION.call(
        pb.GetDecisionRequest(decision_id=decision_id),
        lambda response: _parse.required(response, "decision", _parse.decision),
        timeout=timeout,
    )

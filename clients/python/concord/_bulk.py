"""The state of one bulk run over a stream: what was sent, what was answered. Pure; the clients do the I/O."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterable, Callable, Iterable, Sized
from typing import TypeAlias

from concord import _requests
from concord._convert import FrozenDict
from concord._reconcile_calls import outcome
from concord.enums import ReconcileAction
from concord.errors import InternalError
from concord.inputs import Statement
from concord.results import BulkProgress, ReconcileOutcome
from concord.v1 import reconcile_service_pb2 as pb

OnProgress: TypeAlias = Callable[[BulkProgress], None]
Statements: TypeAlias = Iterable[Statement | str]
AnyStatements: TypeAlias = Statements | AsyncIterable[Statement | str]

DEFAULT_WINDOW = 64
"""Items in flight at once: enough to keep the service's batches full, few enough to bound memory on both
sides."""


class Bulk:
    """Numbers items, remembers those in flight, and pairs answers with them, in order.

    Args:
        statements: the input, asked for its length if it has one.
        window: items in flight at most.
        on_progress: told after each answer.
    """

    def __init__(self, statements: object, window: int, on_progress: OnProgress | None) -> None:
        if window < 1:
            raise ValueError("window must be at least 1")
        self._total = len(statements) if isinstance(statements, Sized) else None
        self._window = window
        self._on_progress = on_progress
        self._in_flight: deque[tuple[Statement, pb.StreamReconcileRequest]] = deque()
        self._sent = 0
        self._failed = 0
        self._by_action: Counter[ReconcileAction] = Counter()

    @property
    def room(self) -> int:
        """Number of items that may be sent before an answer comes."""
        return self._window - len(self._in_flight)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is due."""
        return bool(self._in_flight)

    def send(self, statement: Statement | str) -> pb.StreamReconcileRequest:
        """Makes the message of the next item, which is in flight from now on."""
        given = _requests.repeatable(statement)
        request = pb.StreamReconcileRequest(index=self._sent, request=_requests.reconcile(given))
        self._in_flight.append((given, request))
        self._sent += 1
        return request

    def unanswered(self) -> list[pb.StreamReconcileRequest]:
        """Returns what a new stream must send again. The request ids are the same, so nothing is done twice."""
        return [request for _, request in self._in_flight]

    def receive(self, response: pb.StreamReconcileResponse) -> ReconcileOutcome:
        """Pairs an answer with the oldest item in flight, and tells the progress.

        Raises:
            InternalError: the answer is for another item, or empty.
        """
        if not self._in_flight or response.index != self._in_flight[0][1].index:
            raise InternalError(f"the server answered item {response.index} out of order")
        statement, _ = self._in_flight.popleft()
        result = outcome(response.index, statement, response)
        if result.result is None:
            self._failed += 1
        else:
            self._by_action[result.result.action] += 1
        if self._on_progress is not None:
            self._on_progress(self._progress())
        return result

    def _progress(self) -> BulkProgress:
        return BulkProgress(
            total=self._total,
            sent=self._sent,
            done=self._sent - len(self._in_flight),
            failed=self._failed,
            by_action=FrozenDict(self._by_action),
        )

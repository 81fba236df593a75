"""Executes calls over a synchronous channel."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

import grpc

from concord._bulk import Bulk
from concord._call import Call
from concord._channel import channel_options, credentials, tls_options
from concord._consolidate_calls import WATCH_RUN, RunWatch
from concord._evolution_calls import WATCH_FACTS
from concord._reconcile_calls import STREAM_RECONCILE
from concord._responses import Responses
from concord._retry import Attempts
from concord._session import Session, method_like
from concord._watch import StreamEndedError, Watch, WatchSpec
from concord.errors import ConcordError, UnavailableError, error_from_rpc
from concord.events import RunMessage
from concord.inputs import Statement, Tls
from concord.results import FactEvent, Page, ReconcileOutcome
from concord.v1 import reconcile_service_pb2 as pb

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
PageT = TypeVar("PageT", bound=Page[Any])


def open_channel(target: str, tls: Tls | bool) -> grpc.Channel:
    """Opens a channel; it connects with its first call."""
    options = [*channel_options(), *tls_options(tls)]
    secrets = credentials(tls)
    if secrets is None:
        return grpc.insecure_channel(target, options)
    return grpc.secure_channel(target, secrets, options)


class Executor:
    """Executes calls, with retries. Safe for use by several threads at once."""

    def __init__(
        self, channel: grpc.Channel, session: Session, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._channel = channel
        self._session = session
        self._sleep = sleep

    def run(self, call: Call[R]) -> R:
        """Executes a unary call and returns its result.

        Raises:
            ConcordError: it failed, and another attempt must not or did not help.
        """
        method = self._channel.unary_unary(
            call.path,
            request_serializer=type(call.request).SerializeToString,
            response_deserializer=call.response_type.FromString,
        )
        attempts = self._session.attempts_of(call)
        while True:
            try:
                response = method(call.request, timeout=attempts.remaining(), metadata=self._session.metadata)
            except grpc.RpcError as error:
                self._sleep(attempts.wait_after(error_from_rpc(error)))
            else:
                attempts.succeeded()
                return call.parse(response)

    def pages(self, call: Call[PageT]) -> Iterator[PageT]:
        """Executes a list call page after page."""
        while True:
            page = self.run(call)
            yield page
            if not page.next_page_token:
                return
            call = call.page(page.next_page_token)

    def stream(
        self, bulk: Bulk, statements: Iterable[Statement | str], time_limit: float | None
    ) -> Iterator[ReconcileOutcome]:
        """Sends statements over a stream, and yields what became of each, in order.

        Raises:
            ConcordError: the stream broke, and another one must not or did not help. What was in flight then
                may have been done: sent again with the same request ids, it is not done twice.
        """
        attempts = self._session.attempts(time_limit)
        source = iter(statements)
        stream: _Stream | None = None
        try:
            while True:
                for statement in islice(source, bulk.room):
                    request = bulk.send(statement)
                    if stream is not None:
                        stream.send(request)
                if not bulk.is_waiting:
                    break
                if stream is None:
                    stream = self._open_stream(bulk, attempts)
                try:
                    response = stream.receive()
                except ConcordError as error:
                    stream.cancel()
                    stream = None
                    self._sleep(attempts.wait_after(error))
                    continue
                outcome = bulk.receive(response)
                attempts.succeeded()
                yield outcome
            if stream is not None:
                stream.finish()
        finally:
            if stream is not None:
                stream.cancel()

    def _open_stream(self, bulk: Bulk, attempts: Attempts) -> _Stream:
        method = self._channel.stream_stream(
            STREAM_RECONCILE.path,
            request_serializer=STREAM_RECONCILE.request_type.SerializeToString,
            response_deserializer=STREAM_RECONCILE.response_type.FromString,
        )
        stream = _Stream(method, attempts.remaining(), self._session.metadata)
        for request in bulk.unanswered():
            stream.send(request)
        return stream

    def watch(self, spec: WatchSpec) -> Iterator[FactEvent]:
        """Yields the changes that a watch tells, over broken connections."""
        watch = Watch(spec, self._session.policy, self._session.clock, self._session.chance)
        method = self._channel.unary_stream(
            WATCH_FACTS.path,
            request_serializer=WATCH_FACTS.request_type.SerializeToString,
            response_deserializer=WATCH_FACTS.response_type.FromString,
        )
        while True:
            call = Responses(method(watch.request(), metadata=self._session.metadata))
            try:
                while True:
                    event = watch.receive(call.receive())
                    if event is not None:
                        yield event
            except UnavailableError as error:
                self._sleep(watch.wait_after(error))
            finally:
                call.cancel()

    def follow_run(self, run_id: str, after_sequence: int, max_outage: float | None) -> Iterator[RunMessage]:
        """Yields what a run tells until its summary, over broken connections."""
        watch = RunWatch(run_id, after_sequence, self._outage(max_outage))
        method = self._channel.unary_stream(
            WATCH_RUN.path,
            request_serializer=WATCH_RUN.request_type.SerializeToString,
            response_deserializer=WATCH_RUN.response_type.FromString,
        )
        while True:
            call = Responses(method(watch.request(), metadata=self._session.metadata))
            try:
                while True:
                    message = watch.receive(call.receive())
                    yield message
                    if message.last:
                        return
            except StreamEndedError:
                return  # the run was over, and told nothing more
            except UnavailableError as error:
                self._sleep(watch.wait_after(error))
            finally:
                call.cancel()

    def _outage(self, max_outage: float | None) -> Watch:
        return Watch(
            WatchSpec(WATCH_FACTS.request_type(), max_outage),
            self._session.policy,
            self._session.clock,
            self._session.chance,
        )


class _Stream:
    """One stream. What is sent waits in a queue for gRPC's own thread: sending never blocks the caller."""

    def __init__(
        self,
        method: grpc.StreamStreamMultiCallable[Any, Any],
        timeout: float | None,
        metadata: tuple[tuple[str, str], ...],
    ) -> None:
        self._outgoing: queue.SimpleQueue[pb.StreamReconcileRequest | None] = queue.SimpleQueue()
        call = method(iter(self._outgoing.get, None), timeout=timeout, metadata=metadata)
        self._responses = Responses(call)

    def send(self, request: pb.StreamReconcileRequest) -> None:
        self._outgoing.put(request)

    def receive(self) -> pb.StreamReconcileResponse:
        response: pb.StreamReconcileResponse = self._responses.receive()
        return response

    def finish(self) -> None:
        """Says that nothing more comes, and waits for the server to agree."""
        self._outgoing.put(None)
        try:
            while True:
                self.receive()
        except ConcordError:
            # Every item is answered: how the stream ends changes nothing.
            return

    def cancel(self) -> None:
        """Ends the stream at once, and gRPC's thread that waits for the queue."""
        self._outgoing.put(None)
        self._responses.cancel()


def unary(build: Callable[P, Call[R]]) -> Callable[Concatenate[Base, P], R]:
    """Makes the method that executes a unary call."""

    @method_like(build, "{}")
    def method(self: Base, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._executor.run(build(*args, **kwargs))

    return method


def items(build: Callable[P, Call[Page[T]]]) -> Callable[Concatenate[Base, P], Iterator[T]]:
    """Makes the method that yields the items of a list, asking for a page when it is needed."""

    @method_like(build, "Iterator[item of {}]")
    def method(self: Base, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return (item for page in self._executor.pages(build(*args, **kwargs)) for item in page.items)

    return method


def gathered(
    build: Callable[P, Call[PageT]], combine: Callable[[Iterable[PageT]], R]
) -> Callable[Concatenate[Base, P], R]:
    """Makes the method that reads all pages and makes one result of them."""

    @method_like(build, combine.__annotations__["return"])
    def method(self: Base, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return combine(self._executor.pages(build(*args, **kwargs)))

    return method


def watched(build: Callable[P, WatchSpec]) -> Callable[Concatenate[Base, P], Iterator[FactEvent]]:
    """Makes the method that yields the changes of a watch."""

    @method_like(build, "Iterator[FactEvent]")
    def method(self: Base, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[FactEvent]:
        return self._executor.watch(build(*args, **kwargs))

    return method


class Base:
    """What the methods above need of a client."""

    _executor: Executor

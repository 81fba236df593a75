"""Executes calls over an asyncio channel. The counterpart of ``_sync``, part by part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from typing import Any, Concatenate, ParamSpec, TypeVar

import grpc
import grpc.aio

from concord._bulk import AnyStatements, Bulk
from concord._call import Call
from concord._channel import channel_options, credentials, tls_options
from concord._consolidate_calls import WATCH_RUN, RunWatch
from concord._evolution_calls import WATCH_FACTS
from concord._reconcile_calls import STREAM_RECONCILE
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


def open_channel(target: str, tls: Tls | bool) -> grpc.aio.Channel:
    """Opens a channel of the running event loop; it connects with its first call."""
    options = [*channel_options(), *tls_options(tls)]
    secrets = credentials(tls)
    if secrets is None:
        return grpc.aio.insecure_channel(target, options)
    return grpc.aio.secure_channel(target, secrets, options)


class Executor:
    """Executes calls, with retries. Safe for use by several tasks at once."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        session: Session,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._channel = channel
        self._session = session
        self._sleep = sleep

    async def run(self, call: Call[R]) -> R:
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
                response = await method(
                    call.request, timeout=attempts.remaining(), metadata=self._session.metadata
                )
            except grpc.RpcError as error:
                await self._sleep(attempts.wait_after(error_from_rpc(error)))
            else:
                attempts.succeeded()
                return call.parse(response)

    async def pages(self, call: Call[PageT]) -> AsyncIterator[PageT]:
        """Executes a list call page after page."""
        while True:
            page = await self.run(call)
            yield page
            if not page.next_page_token:
                return
            call = call.page(page.next_page_token)

    async def stream(
        self, bulk: Bulk, statements: AnyStatements, time_limit: float | None
    ) -> AsyncIterator[ReconcileOutcome]:
        """Sends statements over a stream, and yields what became of each, in order.

        Raises:
            ConcordError: the stream broke, and another one must not or did not help. What was in flight then
                may have been done: sent again with the same request ids, it is not done twice.
        """
        attempts = self._session.attempts(time_limit)
        source = _each(statements)
        stream: _Stream | None = None
        try:
            while True:
                async for statement in _first(source, bulk.room):
                    request = bulk.send(statement)
                    if stream is not None:
                        stream.send(request)
                if not bulk.is_waiting:
                    break
                if stream is None:
                    stream = self._open_stream(bulk, attempts)
                try:
                    response = await stream.receive()
                except ConcordError as error:
                    stream.cancel()
                    stream = None
                    await self._sleep(attempts.wait_after(error))
                    continue
                outcome = bulk.receive(response)
                attempts.succeeded()
                yield outcome
            if stream is not None:
                await stream.finish()
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

    async def follow_run(
        self, run_id: str, after_sequence: int, max_outage: float | None
    ) -> AsyncIterator[RunMessage]:
        """Yields what a run tells until its summary, over broken connections."""
        spec = WatchSpec(WATCH_FACTS.request_type(), max_outage)
        outage = Watch(spec, self._session.policy, self._session.clock, self._session.chance)
        watch = RunWatch(run_id, after_sequence, outage)
        method = self._channel.unary_stream(
            WATCH_RUN.path,
            request_serializer=WATCH_RUN.request_type.SerializeToString,
            response_deserializer=WATCH_RUN.response_type.FromString,
        )
        while True:
            call = method(watch.request(), metadata=self._session.metadata)
            try:
                while True:
                    message = watch.receive(await _receive(call))
                    yield message
                    if message.last:
                        return
            except StreamEndedError:
                return  # the run was over, and told nothing more
            except UnavailableError as error:
                await self._sleep(watch.wait_after(error))
            finally:
                call.cancel()

    async def watch(self, spec: WatchSpec) -> AsyncIterator[FactEvent]:
        """Yields the changes that a watch tells, over broken connections."""
        watch = Watch(spec, self._session.policy, self._session.clock, self._session.chance)
        method = self._channel.unary_stream(
            WATCH_FACTS.path,
            request_serializer=WATCH_FACTS.request_type.SerializeToString,
            response_deserializer=WATCH_FACTS.response_type.FromString,
        )
        while True:
            call = method(watch.request(), metadata=self._session.metadata)
            try:
                while True:
                    event = watch.receive(await _receive(call))
                    if event is not None:
                        yield event
            except UnavailableError as error:
                await self._sleep(watch.wait_after(error))
            finally:
                call.cancel()


class _Stream:
    """One stream. What is sent waits in a queue for gRPC's own task, so that sending never blocks the caller.

    A caller that wrote by itself would not read meanwhile, and a server that waits for its answers to be read
    does not read either: with long statements both would wait for each other.
    """

    def __init__(
        self,
        method: grpc.aio.StreamStreamMultiCallable[Any, Any],
        timeout: float | None,
        metadata: tuple[tuple[str, str], ...],
    ) -> None:
        self._outgoing: asyncio.Queue[pb.StreamReconcileRequest | None] = asyncio.Queue()
        self._call = method(self._requests(), timeout=timeout, metadata=metadata)

    async def _requests(self) -> AsyncIterator[pb.StreamReconcileRequest]:
        while (request := await self._outgoing.get()) is not None:
            yield request

    def send(self, request: pb.StreamReconcileRequest) -> None:
        self._outgoing.put_nowait(request)

    async def receive(self) -> pb.StreamReconcileResponse:
        response: pb.StreamReconcileResponse = await _receive(self._call)
        return response

    async def finish(self) -> None:
        """Says that nothing more comes, and waits for the server to agree."""
        self._outgoing.put_nowait(None)
        try:
            while await self._call.read() is not grpc.aio.EOF:
                pass
        except grpc.RpcError:
            # Every item is answered: how the stream ends changes nothing.
            return

    def cancel(self) -> None:
        """Ends the stream at once."""
        self._outgoing.put_nowait(None)
        self._call.cancel()


async def _receive(call: Any) -> Any:  # noqa: ANN401 - a call with responses of any type
    """Returns the next response of a stream that should not end.

    Raises:
        ConcordError: the stream broke; ``StreamEndedError`` when the server ended it.
    """
    try:
        response = await call.read()
    except grpc.RpcError as error:
        raise error_from_rpc(error) from error
    if response is grpc.aio.EOF:
        raise StreamEndedError("the server ended the stream")
    return response


async def _each(statements: AnyStatements) -> AsyncIterator[Statement | str]:
    """Yields the items of an iterable of either kind."""
    if isinstance(statements, AsyncIterable):
        async for statement in statements:
            yield statement
    else:
        for statement in statements:
            yield statement


async def _first(source: AsyncIterator[T], count: int) -> AsyncIterator[T]:
    """Yields up to ``count`` items and leaves the others in the source."""
    for _ in range(count):
        try:
            item = await anext(source)
        except StopAsyncIteration:
            return
        yield item


def unary(build: Callable[P, Call[R]]) -> Callable[Concatenate[Base, P], Coroutine[Any, Any, R]]:
    """Makes the method that executes a unary call."""

    @method_like(build, "{}")
    async def method(self: Base, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._executor.run(build(*args, **kwargs))

    return method


def items(build: Callable[P, Call[Page[T]]]) -> Callable[Concatenate[Base, P], AsyncIterator[T]]:
    """Makes the method that yields the items of a list, asking for a page when it is needed."""

    @method_like(build, "AsyncIterator[item of {}]")
    async def method(self: Base, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        async for page in self._executor.pages(build(*args, **kwargs)):
            for item in page.items:
                yield item

    return method


def gathered(
    build: Callable[P, Call[PageT]], combine: Callable[[Iterable[PageT]], R]
) -> Callable[Concatenate[Base, P], Coroutine[Any, Any, R]]:
    """Makes the method that reads all pages and makes one result of them."""

    @method_like(build, combine.__annotations__["return"])
    async def method(self: Base, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return combine([page async for page in self._executor.pages(build(*args, **kwargs))])

    return method


def watched(build: Callable[P, WatchSpec]) -> Callable[Concatenate[Base, P], AsyncIterator[FactEvent]]:
    """Makes the method that yields the changes of a watch."""

    @method_like(build, "AsyncIterator[FactEvent]")
    def method(self: Base, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[FactEvent]:
        return self._executor.watch(build(*args, **kwargs))

    return method


class Base:
    """What the methods above need of a client."""

    _executor: Executor

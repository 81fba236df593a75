"""A scripted service on either side of the wire, for the tests of the clients."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import grpc
import grpc_testing
import pytest
from concord import AsyncClient, Client, RetryPolicy, _aio, _sync
from concord.v1 import (
    briefing_service_pb2,
    briefing_service_pb2_grpc,
    consolidate_service_pb2,
    consolidate_service_pb2_grpc,
    evolution_service_pb2,
    evolution_service_pb2_grpc,
    reconcile_service_pb2,
    reconcile_service_pb2_grpc,
    resources_pb2,
)
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

SERVICES = [
    reconcile_service_pb2.DESCRIPTOR.services_by_name["ReconcileService"],
    evolution_service_pb2.DESCRIPTOR.services_by_name["EvolutionService"],
    briefing_service_pb2.DESCRIPTOR.services_by_name["BriefingService"],
    consolidate_service_pb2.DESCRIPTOR.services_by_name["ConsolidateService"],
]
METHODS = {method.name: method for service in SERVICES for method in service.methods}
FACT_ID = "019a0000-0000-7000-8000-000000000001"


class Make:
    """Messages that a server would send."""

    @staticmethod
    def fact(**fields: Any) -> resources_pb2.Fact:
        return resources_pb2.Fact(**{"fact_id": FACT_ID, "text": "Alice lives in Paris", **fields})

    @classmethod
    def reconciled(cls, text: str = "Alice lives in Paris", action: int = 1) -> Any:
        return reconcile_service_pb2.ReconcileResponse(
            action=action,  # type: ignore[arg-type]
            fact=cls.fact(text=text),
            decision=resources_pb2.Decision(decision_id=str(uuid.uuid4())),
        )

    @staticmethod
    def status(
        code: grpc.StatusCode,
        message: str = "it failed",
        *,
        reason: str = "",
        violations: tuple[tuple[str, str], ...] = (),
        retry_delay: float | None = None,
    ) -> Any:
        details: list[Message] = []
        if reason:
            details.append(error_details_pb2.ErrorInfo(reason=reason, domain="concord", metadata={"k": "v"}))
        if violations:
            violation = error_details_pb2.BadRequest.FieldViolation
            details.append(
                error_details_pb2.BadRequest(
                    field_violations=[violation(field=field, description=what) for field, what in violations]
                )
            )
        if retry_delay is not None:
            delay = duration_pb2.Duration()
            delay.FromNanoseconds(round(retry_delay * 1e9))
            details.append(error_details_pb2.RetryInfo(retry_delay=delay))
        status = status_pb2.Status(code=code.value[0], message=message)
        for detail in details:
            packed = any_pb2.Any()
            packed.Pack(detail)
            status.details.append(packed)
        return status


class FakeTime:
    """A clock that only sleeping moves, and dice that always show the same."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)
        await asyncio.sleep(0)


class RecordingChannel:
    """Passes everything on, and keeps the timeouts, which the testing channel drops."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self.timeouts: list[float | None] = []

    def __getattr__(self, kind: str) -> Any:
        make = getattr(self._channel, kind)

        def multi_callable(path: str, **serializers: Any) -> Any:
            method = make(path, **serializers)

            def call(request: Any, timeout: float | None = None, metadata: Any = None) -> Any:
                self.timeouts.append(timeout)
                return method(request, timeout=timeout, metadata=metadata)

            return call

        return multi_callable


class Script:
    """Plays the server of a synchronous client: takes each RPC that the client makes, and ends it."""

    def __init__(self, time: FakeTime) -> None:
        self._testing = grpc_testing.channel(SERVICES, grpc_testing.strict_real_time())
        self.channel = RecordingChannel(self._testing)
        self.time = time
        self.metadata: dict[str, str] = {}

    def client(self, **arguments: Any) -> Client:
        channel: Any = self.channel
        client = Client(channel=channel, **arguments)
        session = replace(client._executor._session, clock=self.time.clock, chance=lambda: 1.0)
        client._executor = _sync.Executor(channel, session, self.time.sleep)
        return client

    def start(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Future[Any]:
        """Runs a call of the client in a thread of its own, which does not outlive a test that fails."""
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(call(*arguments, **named))
            except BaseException as error:  # noqa: BLE001 - the test sees it when it asks for the result
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future

    def take(self, name: str) -> tuple[Any, Any]:
        """Waits for a unary RPC, and returns its request and the handle that ends it."""
        method = METHODS[name]
        kind = "unary_stream" if method.server_streaming else "unary_unary"
        metadata, request, rpc = getattr(self._testing, f"take_{kind}")(method)
        self.metadata = dict(metadata)
        return request, rpc

    def take_stream(self, name: str) -> Any:
        """Waits for an RPC with a stream of requests, and returns its handle."""
        metadata, rpc = self._testing.take_stream_stream(METHODS[name])
        self.metadata = dict(metadata)
        return rpc

    def answer(self, name: str, response: Message) -> Any:
        """Answers the next RPC of that name, and returns its request."""
        request, rpc = self.take(name)
        rpc.terminate(response, (), grpc.StatusCode.OK, "")
        return request

    def fail(self, name: str, status: Any) -> Any:
        """Fails the next RPC of that name, and returns its request."""
        request, rpc = self.take(name)
        code, trailer = failure(status)
        rpc.terminate(*(() if METHODS[name].server_streaming else (None,)), trailer, code, status.message)
        return request


def failure(status: Any) -> tuple[grpc.StatusCode, tuple[tuple[str, bytes], ...]]:
    """The code and trailing metadata that carry a status."""
    code = next(code for code in grpc.StatusCode if code.value[0] == status.code)
    return code, (("grpc-status-details-bin", status.SerializeToString()),)


Behaviour = Callable[[Any, grpc.aio.ServicerContext[Any, Any]], Any]


class AsyncScript:
    """A real server in this process. Each RPC takes the next behaviour of its script."""

    def __init__(self, time: FakeTime) -> None:
        self.time = time
        self.behaviours: defaultdict[str, deque[Behaviour]] = defaultdict(deque)
        self.requests: list[Any] = []
        self.metadata: dict[str, str | bytes] = {}
        self.remaining: list[float | None] = []
        self.server = grpc.aio.server()
        self.port = 0
        for module, kind in (
            (reconcile_service_pb2_grpc, "ReconcileService"),
            (evolution_service_pb2_grpc, "EvolutionService"),
            (briefing_service_pb2_grpc, "BriefingService"),
            (consolidate_service_pb2_grpc, "ConsolidateService"),
        ):
            servicer = type(kind, (), {name: self._handler(name) for name in METHODS})()
            getattr(module, f"add_{kind}Servicer_to_server")(servicer, self.server)

    def _handler(self, name: str) -> Any:
        def note(request: Any, context: Any) -> Any:
            self.requests.append(request)
            self.metadata = dict(context.invocation_metadata())
            self.remaining.append(context.time_remaining())
            return self.behaviours[name].popleft()(request, context)

        async def unary(_self: Any, request: Any, context: Any) -> Any:
            return await note(request, context)

        async def stream(_self: Any, request: Any, context: Any) -> Any:
            async for response in note(request, context):
                yield response

        return stream if METHODS[name].server_streaming else unary

    def answer(self, name: str, *responses: Message) -> None:
        """Queues answers to RPCs of that name, one each."""

        def behaviour(response: Message) -> Behaviour:
            async def reply(_request: Any, _context: Any) -> Message:
                return response

            return reply

        self.behaviours[name].extend(behaviour(response) for response in responses)

    def fail(self, name: str, *statuses: Any) -> None:
        """Queues failures of RPCs of that name, one each."""

        def behaviour(status: Any) -> Behaviour:
            async def abort(_request: Any, context: Any) -> None:
                code, trailer = failure(status)
                await context.abort(code, status.message, trailer)

            return abort

        self.behaviours[name].extend(behaviour(status) for status in statuses)

    def stream(self, name: str, *behaviours: Callable[[Any, Any], AsyncIterator[Any]]) -> None:
        """Queues behaviours of streaming RPCs of that name, one each."""
        self.behaviours[name].extend(behaviours)

    async def start(self) -> None:
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        await self.server.start()

    def client(self, **arguments: Any) -> AsyncClient:
        client = AsyncClient(f"127.0.0.1:{self.port}", **arguments)
        session = replace(client._executor._session, clock=self.time.clock, chance=lambda: 1.0)
        client._executor = _aio.Executor(client._channel, session, self.time.sleep_async)
        return client


@pytest.fixture
def make() -> type[Make]:
    return Make


@pytest.fixture
def fake_time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def policy() -> RetryPolicy:
    return RetryPolicy(max_attempts=4, initial_backoff=1, max_backoff=3, budget=10)


@pytest.fixture
def script(fake_time: FakeTime) -> Script:
    return Script(fake_time)


@pytest.fixture
async def async_script(fake_time: FakeTime) -> AsyncIterator[AsyncScript]:
    script = AsyncScript(fake_time)
    await script.start()
    yield script
    await script.server.stop(None)


@pytest.fixture
def abort() -> Callable[[Any, Any], Awaitable[None]]:
    async def abort(context: Any, status: Any) -> None:
        code, trailer = failure(status)
        await context.abort(code, status.message, trailer)

    return abort

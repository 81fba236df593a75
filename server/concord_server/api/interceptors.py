"""What surrounds every call: who calls, how long it may take, how its failure is answered, its line in the log."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, TypeAlias

import grpc
import structlog
from google.protobuf.message import DecodeError, Message

from concord_server.api.authentication import Authenticator, enter_call
from concord_server.api.deadlines import default_seconds, within
from concord_server.api.errors import DETAILS_KEY, CallerGoneError, code_of, to_status
from concord_server.api.horizons import enter_horizons
from concord_server.api.running import RunningCalls
from concord_server.api.streams import closing
from concord_server.domain.errors import InvalidFieldsError, UnsupportedError
from concord_server.ports.project_settings import SettingsOfProjects

PACKAGE = "concord.v1"

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Context = grpc.aio.ServicerContext[Any, Any]
Behaviour = Callable[[Any, Context], Any]
Raw = bytes | AsyncIterator[bytes]
"""A request as received, or requests as they arrive; gRPC hands them over undecoded."""

_log = structlog.get_logger(__name__)


class EdgeInterceptor(grpc.aio.ServerInterceptor):
    """Surrounds the calls of Concord's services, whatever their kind; health and reflection pass by.

    Args:
        authenticator: tells who calls, before anything of the request is looked at.
        running: is told of every call.
        settings: of the callers' projects.
    """

    def __init__(self, authenticator: Authenticator, running: RunningCalls, settings: SettingsOfProjects) -> None:
        self._authenticator = authenticator
        self._running = running
        self._settings = settings

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Returns the method's handler, surrounded."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method.removeprefix("/")
        if handler is None or not method.startswith(f"{PACKAGE}."):
            return handler
        return self._surrounded(method, handler)

    def _surrounded(self, method: str, handler: Handler) -> Handler:
        behaviour, rebuild = _parts(handler)
        surround = self._streaming if handler.response_streaming else self._single
        return rebuild(surround(method, handler, behaviour), response_serializer=handler.response_serializer)

    def _single(self, method: str, handler: Handler, behaviour: Behaviour) -> Behaviour:
        """Surrounds a method that answers once."""

        async def single(raw: Raw, context: Context) -> Message:
            async with _Call(method, context) as call, self._running.running(method):
                await call.authenticate(self._authenticator)
                _check_implemented(method, behaviour)
                request = _decoded(handler, raw)
                async with within(call.seconds(request)):
                    await self._enter_project(call)
                    response: Message = await behaviour(request, context)
                    return response

        return single

    def _streaming(self, method: str, handler: Handler, behaviour: Behaviour) -> Behaviour:
        """Surrounds a method that answers with a stream.

        The answers are written here rather than yielded on, so that the method's generator is closed in the task
        of the call, however the call ends.
        """

        async def streaming(raw: Raw, context: Context) -> None:
            async with _Call(method, context) as call, self._running.running(method):
                await call.authenticate(self._authenticator)
                _check_implemented(method, behaviour)
                request = _decoded(handler, raw)
                async with within(call.seconds(None)), closing(behaviour(request, context)) as responses:
                    await self._enter_project(call)
                    async for response in responses:
                        await _write(context, response)

        return streaming

    async def _enter_project(self, call: _Call) -> None:
        """Lets the call see facts as its project's settings say.

        Raises:
            UnavailableError: they cannot be read, and nothing else could be.
        """
        enter_horizons((await self._settings.of(call.project)).horizons)


async def _write(context: Context, response: Message) -> None:
    """Writes one answer of a stream, once the caller has room for it.

    Raises:
        CallerGoneError: the connection ended meanwhile.
    """
    try:
        await context.write(response)
    except grpc.aio.InternalError:
        raise CallerGoneError("the caller went away") from None


class _Call:
    """One call: maps its failure to a status, and logs its end without its content.

    Attributes:
        project: the caller's, once it is known.
    """

    def __init__(self, method: str, context: Context) -> None:
        self._method = method
        self._context = context
        self._remaining: float | None = context.time_remaining()
        self._started = time.perf_counter()
        self.project = ""

    async def authenticate(self, authenticator: Authenticator) -> None:
        """Finds out who calls, for everything that runs within the call."""
        metadata = self._context.invocation_metadata() or ()
        caller = await authenticator.authenticate([(key, value) for key, value in metadata])
        self.project = caller.project
        enter_call(caller)

    def seconds(self, request: Message | AsyncIterator[Message] | None) -> float | None:
        """Returns how long the call may take: as its caller said, else the server's default for it.

        Args:
            request: of a call that is answered once; streams, of either direction, take as long as they take.
        """
        if self._remaining is not None:
            return self._remaining
        return default_seconds(self._method, request) if isinstance(request, Message) else None

    async def __aenter__(self) -> _Call:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self._write_log("OK")
        elif not isinstance(error, Exception):
            self._write_log("CANCELLED")
        elif isinstance(error, grpc.aio.AbortError):
            self._write_log("ABORTED_BY_METHOD")
        else:
            status = to_status(error)
            self._write_log(code_of(status).name)
            details = ((DETAILS_KEY, status.SerializeToString()),)
            await self._context.abort(code_of(status), status.message, details)

    def _write_log(self, code: str) -> None:
        _log.info(
            "call",
            method=self._method,
            project=self.project,
            code=code,
            duration_ms=round((time.perf_counter() - self._started) * 1000, 3),
            peer=self._context.peer(),
            deadline_s=None if self._remaining is None else round(self._remaining, 3),
        )


def _parts(handler: Handler) -> tuple[Behaviour, Callable[..., Handler]]:
    """Returns the method behind a handler, and what makes such a handler of another method."""
    behaviour: Any  # typed as of synchronous servers
    if handler.request_streaming and handler.response_streaming:
        behaviour, rebuild = handler.stream_stream, grpc.stream_stream_rpc_method_handler
    elif handler.request_streaming:
        behaviour, rebuild = handler.stream_unary, grpc.stream_unary_rpc_method_handler
    elif handler.response_streaming:
        behaviour, rebuild = handler.unary_stream, grpc.unary_stream_rpc_method_handler
    else:
        behaviour, rebuild = handler.unary_unary, grpc.unary_unary_rpc_method_handler
    assert behaviour is not None, "a handler has the method of its own kind"
    return behaviour, rebuild


def _check_implemented(method: str, behaviour: Behaviour) -> None:
    """Refuses a method that only the generated base class has.

    Raises:
        UnsupportedError: it has no implementation of ours.
    """
    if behaviour.__module__.startswith(f"{PACKAGE}."):
        raise UnsupportedError(f"{method} is part of the contract and not implemented yet")


def _decoded(handler: Handler, raw: Raw) -> Message | AsyncIterator[Message]:
    """Returns the request of a call, or its requests as they arrive.

    Decoding is done here and not in gRPC, which would answer malformed bytes with a status without details.
    """
    decode = handler.request_deserializer
    assert decode is not None, "generated handlers decode protobuf"
    return _decoded_one(decode, raw) if isinstance(raw, bytes) else _decoded_each(decode, raw)


def _decoded_one(decode: Callable[[bytes], Message], raw: bytes) -> Message:
    try:
        return decode(raw)
    except DecodeError:
        raise InvalidFieldsError.of("", "the request is not a valid message of its type in UTF-8") from None


async def _decoded_each(decode: Callable[[bytes], Message], raw: AsyncIterator[bytes]) -> AsyncIterator[Message]:
    async for item in raw:
        yield _decoded_one(decode, item)

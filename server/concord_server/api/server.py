"""The gRPC server: what it listens on, when it says that it serves, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from concord_server.api.authentication import Authenticator, OpenAuthenticator
from concord_server.api.health import HealthServicer
from concord_server.api.interceptors import EdgeInterceptor
from concord_server.api.running import RunningCalls
from concord_server.api.servicers import SERVICE_NAMES, add_services
from concord_server.api.usecases import UseCases

DEFAULT_LISTEN = "127.0.0.1:50051"
"""Where the server listens unless told otherwise."""

MAX_MESSAGE_BYTES = 64 << 20
"""Largest request and response: a full batch of the longest statements fits several times over."""

DEFAULT_GRACE = 30.0
"""Seconds that calls may still take once the server is told to stop."""

MIN_PING_INTERVAL_MS = 10_000
"""Clients may ask so often whether the server is still there."""

FAREWELL_SECONDS = 0.5
"""Once no call is left but watches that were ended, how long their callers have to take the status."""


EXTRACTION = "concord.extraction"
"""What health calls the taking of facts from events by a model: NOT_SERVING where no model is configured."""


class ListenError(Exception):
    """The server cannot listen where it was told to."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How the server runs.

    Attributes:
        reuse_port: lets several processes listen on one port, among which the system spreads connections.
        max_concurrent_calls: calls beyond it are refused with RESOURCE_EXHAUSTED; ``None`` for no limit.
        max_message_bytes: largest request and response.
        has_model: whether a model takes facts from events; health tells it as the service :data:`EXTRACTION`.
    """

    reuse_port: bool = False
    max_concurrent_calls: int | None = None
    max_message_bytes: int = MAX_MESSAGE_BYTES
    has_model: bool = False


class GrpcServer:
    """Serves the contract's services, health and reflection on one port.

    Health answers NOT_SERVING, overall and for each service, until :meth:`set_ready` and again from the first
    moment of :meth:`stop`. Build and use it within a running event loop.

    Args:
        use_cases: what the services call.
        options: how the server runs.
        authenticator: tells who calls; by default every caller is taken at its word.
    """

    def __init__(
        self,
        use_cases: UseCases,
        options: ServerOptions | None = None,
        authenticator: Authenticator | None = None,
    ) -> None:
        options = options or ServerOptions()
        missing = () if options.has_model else (EXTRACTION,)
        self._health = HealthServicer((*SERVICE_NAMES, EXTRACTION), missing)
        self._running = RunningCalls()
        self._server = grpc.aio.server(
            interceptors=[
                EdgeInterceptor(authenticator or OpenAuthenticator(), self._running, use_cases.project_settings)
            ],
            options=_channel_arguments(options),
            maximum_concurrent_rpcs=options.max_concurrent_calls,
        )
        add_services(self._server, use_cases)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (*SERVICE_NAMES, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)

    async def start(self, listen: str = DEFAULT_LISTEN) -> str:
        """Starts to take calls and returns the bound ``HOST:PORT``.

        Args:
            listen: ``HOST:PORT``; port 0 takes a free one.

        Raises:
            ListenError: the address is malformed or taken.
        """
        host, separator, port = listen.rpartition(":")
        if not (separator and host and port.isdecimal()):
            raise ListenError(f"{listen!r} is not HOST:PORT")
        try:
            bound = self._server.add_insecure_port(listen)
        except RuntimeError:
            raise ListenError(f"cannot listen on {listen}: the port is taken or the host is not ours") from None
        await self._server.start()
        return f"{host}:{bound}"

    def set_ready(self, ready: bool) -> None:
        """Says through health whether calls can be served; once stopping, it stays NOT_SERVING."""
        self._health.set_serving(ready)

    async def stop(self, grace: float = DEFAULT_GRACE) -> None:
        """Ends: health flips, new calls are refused, running ones finish or are cancelled after ``grace`` seconds.

        Whoever merely watches, health or facts, does not hold it up: watches are ended at once. May be called
        again.
        """
        self._health.end()
        self._running.end_watches()
        stopping = asyncio.ensure_future(self._server.stop(grace))
        finishing = asyncio.ensure_future(self._finish(stopping))
        try:
            await stopping
        finally:
            finishing.cancel()

    async def _finish(self, stopping: asyncio.Future[None]) -> None:
        """Cancels what is left when only ended watches are.

        Their status waits behind what their callers have not taken, and some callers take nothing.
        """
        while not stopping.done():
            await self._running.finished()
            await asyncio.wait([stopping], timeout=FAREWELL_SECONDS)
            if not self._running.busy:
                await self._server.stop(None)


def _channel_arguments(options: ServerOptions) -> Sequence[tuple[str, int]]:
    return (
        ("grpc.so_reuseport", int(options.reuse_port)),
        ("grpc.max_receive_message_length", options.max_message_bytes),
        ("grpc.max_send_message_length", options.max_message_bytes),
        # Clients ping every 30 s, also without calls; a server that is not told so takes that for an attack and
        # closes the connection.
        ("grpc.http2.min_ping_interval_without_data_ms", MIN_PING_INTERVAL_MS),
        ("grpc.keepalive_permit_without_calls", 1),
        # Finds callers that are gone without a word, so that their calls do not run on.
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.http2.max_pings_without_data", 0),
    )

"""The standard health service: one state for the whole server, and what it has no means for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]

_Answer = health_pb2.HealthCheckResponse


class HealthServicer(health_pb2_grpc.HealthServicer):
    """Answers SERVING or NOT_SERVING, overall and for each known service; starts as NOT_SERVING.

    Unlike gRPC's own, it can be set from synchronous code, and ends its watches when the server shuts down, which
    would wait for them otherwise.

    Args:
        names: full names of the known services.
        missing: those among them that are NOT_SERVING whatever the state of the server.
    """

    def __init__(self, names: Iterable[str], missing: Collection[str] = ()) -> None:
        self._names = frozenset({health.OVERALL_HEALTH, *names})
        self._missing = frozenset(missing)
        self._serving = False
        self._ended = False
        self._changed = asyncio.Event()

    def set_serving(self, serving: bool) -> None:
        """Sets the state; after :meth:`end` nothing changes it any more."""
        if not self._ended:
            self._serving = serving
            self._wake_watchers()

    def end(self) -> None:
        """Sets NOT_SERVING for good, and ends every watch once it has said so."""
        self.set_serving(False)
        self._ended = True
        self._wake_watchers()

    def _wake_watchers(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _status(self, name: str) -> int:
        if name not in self._names:
            return _Answer.SERVICE_UNKNOWN
        return _Answer.SERVING if self._serving and name not in self._missing else _Answer.NOT_SERVING

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Context) -> _Answer:  # noqa: N802
        """Answers the state now; NOT_FOUND for an unknown service."""
        status = self._status(request.service)
        if status == _Answer.SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"unknown service {request.service!r}")
        return _Answer(status=status)

    async def Watch(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> AsyncIterator[_Answer]:
        """Streams the state and each change of it; SERVICE_UNKNOWN for an unknown service."""
        told: int | None = None
        while True:
            changed, ended = self._changed, self._ended
            status = self._status(request.service)
            if status != told:
                yield _Answer(status=status)
                told = status
            if ended:
                return
            await changed.wait()

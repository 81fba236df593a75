"""One serving process: binds, starts its parts behind the bound port, serves, and shuts down in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import structlog

from concord_server.api.server import GrpcServer
from concord_server.bootstrap.deferred import DeferredEmbedder, DeferredLedger
from concord_server.bootstrap.wiring import (
    connect_ledger,
    default_embedder_identity,
    load_embedder,
    load_judge,
    server_options,
    use_cases,
)
from concord_server.config import Settings

_log = structlog.get_logger(__name__)


async def serve(
    settings: Settings,
    database_url: Callable[[], Awaitable[str]],
    *,
    announce: Callable[[str], None],
    reuse_port: bool = False,
    until: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Serves until SIGTERM or SIGINT (or until ``until`` returns).

    The port is bound first and health says NOT_SERVING; the parts start behind it.

    Args:
        database_url: brings the database up, migrated, and returns its URL.
        announce: called with the bound ``HOST:PORT``.

    Raises:
        Exception: whatever kept a part from starting, after what had started was stopped.
    """
    ledger, embedder = DeferredLedger(), DeferredEmbedder(*default_embedder_identity(settings))
    judge = await asyncio.to_thread(load_judge, settings)
    server = GrpcServer(use_cases(ledger, embedder, judge), server_options(settings, reuse_port=reuse_port))
    stop = _stop_event()
    async with AsyncExitStack() as parts:
        address = await server.start(settings.listen)
        parts.push_async_callback(server.stop, settings.grace_seconds)
        announce(address)
        starting = asyncio.create_task(_start_parts(settings, database_url, ledger, embedder, parts))
        waits = [asyncio.ensure_future(stop.wait()), *([asyncio.ensure_future(until())] if until else [])]
        try:
            await asyncio.wait([starting, *waits], return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                server.set_ready(True)
                _log.info("serving", address=address)
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            starting.cancel()
            for wait in waits:
                wait.cancel()
            server.set_ready(False)
            _log.info("shutting down", grace_seconds=settings.grace_seconds)
            await server.stop(settings.grace_seconds)


async def _start_parts(
    settings: Settings,
    database_url: Callable[[], Awaitable[str]],
    ledger: DeferredLedger,
    embedder: DeferredEmbedder,
    parts: AsyncExitStack,
) -> None:
    loaded = await load_embedder(settings)
    parts.push_async_callback(loaded.close)
    connected, close = await connect_ledger(settings, await database_url(), loaded)
    parts.push_async_callback(close)
    embedder.connect(loaded)
    ledger.connect(connected)


def _stop_event() -> asyncio.Event:
    """Returns an event that SIGTERM and SIGINT set."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop

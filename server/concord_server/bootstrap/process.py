"""One serving process: binds, starts its parts behind the bound port, serves, and shuts down in order."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import structlog

from concord_server.api.server import GrpcServer
from concord_server.bootstrap.consolidation import start_workers
from concord_server.bootstrap.deferred import DeferredEmbedder, DeferredLedger
from concord_server.bootstrap.models import answerer_of, extractor_of, language_models, log_models, project_judge
from concord_server.bootstrap.wiring import (
    background_work,
    connect_ledger,
    find_embedder,
    listen_for_changes,
    load_embedder,
    load_judge,
    server_options,
    use_cases,
)
from concord_server.config import Settings
from concord_server.ports.events import Extractor
from concord_server.providers.embedders.model_files import ExportedModel
from concord_server.services.judging.project_judge import ProjectJudge
from concord_server.services.observe_answers import Answerer
from concord_server.services.settings_cache import CachedSettings
from concord_server.services.signals import ChangeSignals
from concord_server.worker.worker import Doorbell

PING_SECONDS = 5.0
"""How often health asks the database."""

_log = structlog.get_logger(__name__)


async def serve(
    settings: Settings,
    database_url: Callable[[], Awaitable[str]],
    *,
    announce: Callable[[str], None],
    on_ready: Callable[[], None] | None = None,
    reuse_port: bool = False,
    until: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Serves until SIGTERM or SIGINT (or until ``until`` returns).

    The port is bound first and health says NOT_SERVING; the parts start behind it.

    Args:
        database_url: brings the database up, migrated, and returns its URL.
        announce: called with the bound ``HOST:PORT``.
        on_ready: called once calls can be served.

    Raises:
        Exception: whatever kept a part from starting, after what had started was stopped.
    """
    model = find_embedder(settings)
    ledger, embedder = DeferredLedger(), DeferredEmbedder(model.manifest.name, model.manifest.dimension)
    signals, bell, project_settings = ChangeSignals(), Doorbell(), CachedSettings(ledger)
    models = language_models(ledger, project_settings)
    judge = project_judge(await asyncio.to_thread(load_judge), models, project_settings)
    extractor = extractor_of(models, ledger, embedder, project_settings)
    parts_of_calls = use_cases(ledger, embedder, judge, signals, bell, project_settings, extractor)
    server = GrpcServer(parts_of_calls, server_options(reuse_port=reuse_port, has_model=extractor is not None))
    stop = stop_event()
    async with AsyncExitStack() as parts:
        parts.push_async_callback(models.close)
        address = await server.start(settings.listen)
        parts.push_async_callback(server.stop, settings.grace_seconds)
        announce(address)
        starting = asyncio.create_task(
            _start_parts(
                settings,
                database_url,
                model,
                ledger,
                embedder,
                judge,
                signals,
                parts,
                bell=bell,
                project_settings=project_settings,
                answerer=answerer_of(models, judge, project_settings),
                extractor=extractor,
            )
        )
        ended = [asyncio.ensure_future(stop.wait()), *([asyncio.ensure_future(until())] if until else [])]
        try:
            await asyncio.wait([starting, *ended], return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                ping = starting.result()
                server.set_ready(True)
                _log.info("serving", address=address)
                log_models(models)
                if on_ready is not None:
                    on_ready()
                watching = asyncio.create_task(_follow_database(server, ping))
                parts.callback(watching.cancel)
                await asyncio.wait([watching, *ended], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (starting, *ended):
                task.cancel()
            _log.info("shutting down", grace_seconds=settings.grace_seconds)
            await server.stop(settings.grace_seconds)


async def _follow_database(server: GrpcServer, ping: Callable[[], Awaitable[bool]]) -> None:
    """Lets health say whether the database answers."""
    serving = True
    while True:
        await asyncio.sleep(PING_SECONDS)
        answers = await ping()
        if answers is not serving:
            _log.log(logging.INFO if answers else logging.ERROR, "database", answers=answers)
            server.set_ready(answers)
            serving = answers


async def _start_parts(
    settings: Settings,
    database_url: Callable[[], Awaitable[str]],
    model: ExportedModel,
    ledger: DeferredLedger,
    embedder: DeferredEmbedder,
    judge: ProjectJudge,
    signals: ChangeSignals,
    parts: AsyncExitStack,
    *,
    bell: Doorbell,
    project_settings: CachedSettings,
    answerer: Answerer,
    extractor: Extractor | None,
) -> Callable[[], Awaitable[bool]]:
    """Starts what calls need; returns what tells whether the database answers."""
    loaded = await load_embedder(settings, model)
    parts.push_async_callback(loaded.close)
    url = await database_url()
    connected = await connect_ledger(settings, url, loaded)
    parts.push_async_callback(connected.close)
    parts.push_async_callback(listen_for_changes(url, signals).close)
    embedder.connect(loaded)
    ledger.connect(connected)
    parts.push_async_callback(background_work(settings, connected, loaded, judge, project_settings).close)
    workers = start_workers(settings, connected, loaded, judge, bell, project_settings, extractor, answerer)
    parts.push_async_callback(workers.close)
    return connected.ping


async def work(settings: Settings, *, on_ready: Callable[[], None]) -> None:
    """Executes runs until SIGTERM or SIGINT, beside the service that owns the database.

    Args:
        on_ready: called once work is looked for.

    Raises:
        Exception: whatever kept a part from starting, after what had started was stopped.
    """
    model = find_embedder(settings)
    stop = stop_event()
    async with AsyncExitStack() as parts:
        loaded = await load_embedder(settings, model)
        parts.push_async_callback(loaded.close)
        connected = await connect_ledger(settings, settings.database_url, loaded)
        parts.push_async_callback(connected.close)
        project_settings = CachedSettings(connected)
        models = language_models(connected, project_settings)
        parts.push_async_callback(models.close)
        judge = project_judge(await asyncio.to_thread(load_judge), models, project_settings)
        extractor = extractor_of(models, connected, loaded, project_settings)
        answerer = answerer_of(models, judge, project_settings)
        workers = start_workers(
            settings, connected, loaded, judge, Doorbell(), project_settings, extractor, answerer
        )
        parts.push_async_callback(workers.close)
        log_models(models)
        on_ready()
        await stop.wait()
        _log.info("shutting down", grace_seconds=settings.grace_seconds)


def stop_event() -> asyncio.Event:
    """Returns an event that SIGTERM and SIGINT set."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop

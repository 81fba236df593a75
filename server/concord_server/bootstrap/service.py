"""The service as its users run it: database, processes, signals, exit codes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import structlog
import uvloop

from concord_server.api.server import ListenError
from concord_server.bootstrap.logs import configure_logging
from concord_server.bootstrap.process import serve, stop_event, work
from concord_server.bootstrap.supervisor import READY_LINE, ChildFailedError, Supervisor, parent_gone, reserve_port
from concord_server.bootstrap.wiring import find_embedder, migrate_database
from concord_server.config import Settings, split_listen
from concord_server.domain.errors import UnavailableError
from concord_server.model_settings import ModelSettingsError, stage_models
from concord_server.providers.embedders.model_files import ModelNotFoundError
from concord_server.providers.embedders.onnx import ModelLoadError
from concord_server.providers.judges.pair_model import PairModelError
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.embedded_errors import EmbeddedPostgresError
from concord_server.storage.errors import DatabaseNotReadyError

START_ERRORS = (
    ChildFailedError,
    DatabaseNotReadyError,
    EmbeddedPostgresError,
    ListenError,
    ModelLoadError,
    ModelNotFoundError,
    ModelSettingsError,
    OSError,
    PairModelError,
    UnavailableError,
)
"""What keeps the service from starting; each message says what to do."""

_STOP_SECONDS = 60
_log = structlog.get_logger(__name__)


def run_service(settings: Settings) -> None:
    """Runs the service until a signal ends it; prints ``listening on HOST:PORT`` on standard output.

    Raises:
        START_ERRORS: the service could not start; whatever had started is stopped.
    """
    configure_logging(settings)
    find_embedder(settings)
    stage_models()
    run = _run_one if settings.processes == 1 else _run_many
    uvloop.run(run(settings, _embedded(settings)))


def run_child(settings: Settings) -> None:
    """Runs one serving process under a supervisor: on a shared port, until its parent is gone.

    Raises:
        START_ERRORS: the process could not start.
    """
    configure_logging(settings)

    async def database_url() -> str:
        return settings.database_url

    def ready() -> None:
        sys.stdout.buffer.write(READY_LINE + b"\n")
        sys.stdout.buffer.flush()

    uvloop.run(serve(settings, database_url, on_ready=ready, announce=_ignore, reuse_port=True, until=parent_gone))


def run_workers(settings: Settings) -> None:
    """Executes runs on an external database until a signal ends it; prints ``working`` once it looks for work.

    Raises:
        START_ERRORS: the workers could not start.
    """
    if not settings.database_url:
        raise DatabaseNotReadyError(
            "workers of their own need an external database",
            "give its URL with --database-url or CONCORD_DATABASE_URL; concord serve works its own runs",
        )
    configure_logging(settings)

    def ready() -> None:
        print("working", flush=True)

    uvloop.run(work(settings, on_ready=ready))


def migrate_service(settings: Settings) -> str:
    """Brings the configured database's schema up to date and returns its revision.

    Raises:
        START_ERRORS: it could not.
    """
    dimension = find_embedder(settings).manifest.dimension
    if settings.database_url:
        return migrate_database(settings.database_url, dimension)
    with EmbeddedPostgres(settings.data_dir) as postgres:
        return migrate_database(postgres.url, dimension)


@contextmanager
def running_service(data_dir: Path, *flags: str) -> Iterator[str]:
    """Runs the service as a process of its own for the length of a block; yields its ``HOST:PORT``.

    Raises:
        RuntimeError: it did not start; its message is on standard error.
    """
    command = [sys.executable, "-m", "concord_server.cli", "serve", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(data_dir), *flags], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("listening on "):
            raise RuntimeError("the service did not start")
        yield line.removeprefix("listening on ").strip()
    finally:
        process.terminate()
        process.wait(timeout=_STOP_SECONDS)


async def _run_one(settings: Settings, postgres: EmbeddedPostgres | None) -> None:
    try:
        await serve(settings, _bring_up(settings, postgres), announce=_announce)
    finally:
        await _stop(postgres)


async def _run_many(settings: Settings, postgres: EmbeddedPostgres | None) -> None:
    """Owns the database and the port, and keeps the serving processes."""
    host, port = split_listen(settings.listen)
    with closing(reserve_port(host, port)) as held:
        address = f"{host}:{held.getsockname()[1]}"
        try:
            url = await _bring_up(settings, postgres)()
            await _supervise(settings, address, url)
        finally:
            await _stop(postgres)


async def _supervise(settings: Settings, address: str, database_url: str) -> None:
    environment = {
        **os.environ,
        **{f"CONCORD_{name.upper()}": str(value) for name, value in _shared_settings(settings).items()},
        "CONCORD_LISTEN": address,
        "CONCORD_DATABASE_URL": database_url,
        "CONCORD_PROCESSES": "1",
    }
    command = [sys.executable, "-m", "concord_server.bootstrap.child"]
    supervisor = Supervisor(command, environment, settings.processes, settings.grace_seconds)
    stop = stop_event()
    starting = asyncio.create_task(supervisor.start())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([starting, stopping], return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            _announce(address)
            await stopping
    finally:
        starting.cancel()
        stopping.cancel()
        await supervisor.stop()


def _shared_settings(settings: Settings) -> dict[str, object]:
    """Settings that a serving process must have from its parent, whatever they came from."""
    values = settings.model_dump(exclude={"listen", "database_url", "processes"})
    return {name: value for name, value in values.items() if value is not None}


def _bring_up(settings: Settings, postgres: EmbeddedPostgres | None) -> Callable[[], Awaitable[str]]:
    """Returns what starts the embedded database, if it is used, and migrates the schema.

    An external database is migrated by its operator (``concord migrate``), not by a start of the service.
    """

    async def bring_up() -> str:
        if postgres is None:
            return settings.database_url
        await asyncio.to_thread(postgres.start)
        dimension = find_embedder(settings).manifest.dimension
        await asyncio.to_thread(migrate_database, postgres.url, dimension)
        return postgres.url

    return bring_up


class _KeepRunning:
    """Brings the embedded PostgreSQL up again when it dies under a running service."""

    def __init__(self) -> None:
        self.postgres: EmbeddedPostgres | None = None

    def __call__(self, status: int) -> None:
        _log.error("PostgreSQL ended by itself and is started again", status=status)
        threading.Thread(target=self._restart, name="restart-postgres", daemon=True).start()

    def _restart(self) -> None:
        if self.postgres is None:
            return
        try:
            self.postgres.ensure_running()
        except EmbeddedPostgresError as error:
            _log.error("PostgreSQL could not be started again", error=str(error))


def _embedded(settings: Settings) -> EmbeddedPostgres | None:
    if settings.database_url:
        return None
    keep_running = _KeepRunning()
    postgres = EmbeddedPostgres(settings.data_dir, on_exit=keep_running)
    keep_running.postgres = postgres
    return postgres


async def _stop(postgres: EmbeddedPostgres | None) -> None:
    if postgres is not None:
        await asyncio.to_thread(postgres.stop)


def _announce(address: str) -> None:
    print(f"listening on {address}", flush=True)


def _ignore(_address: str) -> None:
    """A child says nothing: its parent announces the address."""

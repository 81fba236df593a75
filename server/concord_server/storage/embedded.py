"""The embedded Postgres: a database that starts and stops with the service and needs no care.

Why it is made as it is: docs/adr/0002-embedded-postgres.md.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import psycopg
import structlog

from concord_server.storage.embedded_cluster import (
    PORT,
    SUPERUSER,
    Account,
    Installation,
    Layout,
    check_cluster,
    create_cluster,
    give,
    launch_failure,
    private_directory,
    server_account,
)
from concord_server.storage.embedded_errors import (
    DataDirectoryAccessError,
    DiskFullError,
    EmbeddedPostgresError,
    StartupError,
)
from concord_server.storage.embedded_launch import Launch
from concord_server.storage.embedded_lock import OwnerLock
from concord_server.storage.embedded_process import ServerProcess, stop_leftovers
from concord_server.storage.embedded_socket import close_socket_directory, open_socket_directory

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

DATABASE = "concord"
ROLE = "concord"
"""Owns the database and is no superuser: nothing that the service sends can leave the database."""

_POLL_SECONDS = 0.05


class EmbeddedPostgres:
    """PostgreSQL with pgvector in a directory of its own, owned by one process, used by any of its user.

    Nothing listens on the network. The server ends with the process that owns it, even when that is killed
    (on Linux; elsewhere the next start ends it). All methods block and are safe to call from any thread. A
    forked child of the owner owns nothing: ``stop`` does nothing there.

    Attributes:
        data_dir: the service's data directory; everything lies in its subdirectory ``postgres``.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        on_exit: Callable[[int], None] | None = None,
        start_timeout: float = 300.0,
    ) -> None:
        """Only remembers what it is given.

        Args:
            data_dir: the service's data directory, made when it does not exist.
            on_exit: called from another thread with the exit status (negative for a signal) when the server
                ends though ``stop`` was not called.
            start_timeout: seconds until a start fails; recovery after a crash is part of a start.
        """
        self.data_dir = data_dir.expanduser().resolve()
        self._on_exit = on_exit
        self._start_timeout = start_timeout
        self._mutex = threading.Lock()
        self._lock: OwnerLock | None = None
        self._server: ServerProcess | None = None
        self._socket: Path | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Connection URL of the database, for any process of this machine that runs as the same user.

        Raises:
            EmbeddedPostgresError: it was never started.
        """
        return self._url(ROLE, DATABASE)

    @property
    def admin_url(self) -> str:
        """Connection URL of the superuser, for maintenance and tests.

        Raises:
            EmbeddedPostgresError: it was never started.
        """
        return self._url(SUPERUSER, DATABASE)

    @property
    def alive(self) -> bool:
        """Whether the server process runs."""
        return self._server is not None and self._server.alive

    @property
    def pid(self) -> int | None:
        """Process id of the postmaster, None when it does not run."""
        return self._server.pid if self._server is not None and self._server.alive else None

    def start(self) -> str:
        """Takes the data directory and brings the server up; returns ``url``.

        The first start makes the cluster and the database. A start after a crash ends what is left of the
        earlier server and recovers. When it already runs, nothing happens.

        Raises:
            DataDirectoryInUseError: another process owns the data directory.
            EmbeddedPostgresError: the server cannot be started; the message says what to do.
        """
        with self._mutex, _explained(self.data_dir):
            if self.alive:
                return self.url
            with ExitStack() as undo:
                layout, account = self._take_directory()
                undo.callback(self._shut_down, layout)
                self._bring_up(layout, account)
                undo.pop_all()
            return self.url

    def ensure_running(self) -> str:
        """Brings a server up again that ended by itself; returns ``url``.

        Raises:
            EmbeddedPostgresError: this process does not own the data directory (``start`` was not called, or
                ``stop`` was), or the server cannot be started.
        """
        with self._mutex, _explained(self.data_dir):
            if not self._owned:
                raise EmbeddedPostgresError(f"the embedded Postgres in {self.data_dir} is not started here")
            if not self.alive:
                self._bring_up(*self._take_directory())
            return self.url

    def stop(self) -> None:
        """Stops the server and gives up the data directory; harmless when it is not started.

        Connections get two seconds to close by themselves, so close them first.
        """
        if not self._owned:  # before the mutex, whose state a forked child cannot trust
            return
        with self._mutex:
            self._shut_down(Layout(self.data_dir / "postgres"))

    @property
    def _owned(self) -> bool:
        return self._lock is not None and self._lock.held

    def _url(self, role: str, database: str) -> str:
        if self._socket is None:
            raise EmbeddedPostgresError(f"the embedded Postgres in {self.data_dir} is not started here")
        return f"postgresql://{role}@/{database}?host={quote(str(self._socket))}&port={PORT}"

    def _take_directory(self) -> tuple[Layout, Account | None]:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        layout = Layout(self.data_dir / "postgres")
        account = server_account(layout)
        # Root's server runs as another user, who must come through, though not look around.
        mode = 0o711 if os.geteuid() == 0 else 0o700
        layout.base.mkdir(mode=mode, exist_ok=True)
        if layout.base.stat().st_uid == os.geteuid():
            layout.base.chmod(mode)
        if not self._owned:
            self._lock = OwnerLock(layout.lock)
        return layout, account

    def _bring_up(self, layout: Layout, account: Account | None) -> None:
        began = time.monotonic()
        installation = Installation.find()
        stop_leftovers(layout.cluster)
        private_directory(layout.logs, account)
        if not layout.cluster.exists():
            create_cluster(installation, layout, account)
        check_cluster(layout)
        if account and layout.cluster.stat().st_uid != account.user:
            give(layout.cluster, account)  # a backup that root put back
        # This lock's owner alone runs servers here, so the one that wrote this file is gone. Its process id may
        # be another program's by now, which PostgreSQL would take for a running server.
        (layout.cluster / "postmaster.pid").unlink(missing_ok=True)
        self._socket = open_socket_directory(layout, account, self._socket)
        self._server = self._launch(installation, layout, account)
        self._server.on_death(self._report_death)
        layout.prune_logs()
        _log.info(
            "embedded_postgres.started",
            pid=self._server.pid,
            directory=str(layout.base),
            seconds=round(time.monotonic() - began, 2),
        )

    def _launch(self, installation: Installation, layout: Layout, account: Account | None) -> ServerProcess:
        assert self._socket is not None
        launch = Launch(
            parent=os.getpid(),
            death_signal=signal.SIGINT,  # a fast shutdown: the next start has nothing to recover
            account=(account.user, account.group) if account else None,
            reach=[str(layout.cluster), str(self._socket), str(installation.libraries)],
            argv=_command_line(installation, layout, self._socket),
        )
        since = time.time() - 1  # file systems round
        server = ServerProcess(launch, layout.startup_log, housekeeping=layout.prune_logs)
        try:
            self._await_ready(server, layout, since)
            _prepare_database(self._url(SUPERUSER, "postgres"), self.admin_url)
        except BaseException:
            server.stop()
            raise
        return server

    def _await_ready(self, server: ServerProcess, layout: Layout, since: float) -> None:
        deadline = time.monotonic() + self._start_timeout
        while True:
            try:
                psycopg.connect(self._url(SUPERUSER, "postgres"), connect_timeout=10).close()
                return
            except psycopg.OperationalError as error:
                if not server.alive:
                    raise launch_failure(server.status, layout.log_tail(since), layout) from None
                if time.monotonic() > deadline:
                    raise StartupError(
                        f"PostgreSQL takes no connections after {self._start_timeout:.0f} s ({error}); "
                        f"see its log in {layout.logs}"
                    ) from None
            server.wait(_POLL_SECONDS)

    def _shut_down(self, layout: Layout) -> None:
        server, self._server = self._server, None
        try:
            if server is not None:
                server.stop()
                stop_leftovers(layout.cluster)  # the children of a server that had to be killed
                close_socket_directory(layout)
                _log.info("embedded_postgres.stopped", pid=server.pid, status=server.status)
        finally:
            self._socket = None
            if self._lock is not None:
                self._lock.release()

    def _report_death(self, status: int) -> None:
        _log.error("embedded_postgres.died", directory=str(self.data_dir), status=status)
        if self._on_exit is not None:
            self._on_exit(status)


def _command_line(installation: Installation, layout: Layout, socket: Path) -> list[str]:
    # On the command line stands only what must not be changed; the rest is postgresql.conf's.
    quoted = str(socket).replace('"', '""')
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": f'"{quoted}"',
        "unix_socket_permissions": "0700",
        "port": str(PORT),
        "fsync": "on",
        "full_page_writes": "on",
        "logging_collector": "on",
        "log_destination": "stderr",
        "log_directory": str(layout.logs),
        "log_filename": "%Y%m%dT%H%M%S.log",
        "log_rotation_age": "1d",
        "log_rotation_size": "10MB",
        "log_timezone": "UTC",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return [installation.program("postgres"), "-D", str(layout.cluster), *options]


def _prepare_database(maintenance_url: str, database_url: str) -> None:
    """Makes sure of the role, its database and the vector extension."""
    with psycopg.connect(maintenance_url, autocommit=True) as connection:
        if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [ROLE]).fetchall():
            connection.execute(f"CREATE ROLE {ROLE} LOGIN")
        if not connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE]).fetchall():
            connection.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("ALTER EXTENSION vector UPDATE")  # newer programs may bring a newer one


@contextmanager
def _explained(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or directory
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(f"no space is left at {where}; free some and start again") from error
        raise DataDirectoryAccessError(
            f"{where}: {error.strerror} (as user id {os.geteuid()}); let this user write to the data directory, "
            "or choose another one"
        ) from error

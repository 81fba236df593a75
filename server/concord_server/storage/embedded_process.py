"""The server process: its start, its watch, its end, and what an earlier run may have left of it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from pathlib import Path

import psutil
import structlog

from concord_server.storage.embedded_errors import LeftoverProcessError
from concord_server.storage.embedded_launch import Launch

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

_HOUSEKEEPING_SECONDS = 60.0
_POLL_SECONDS = 0.05

# PostgreSQL's three ways to stop, then the last resort. Smart waits for the clients, fast breaks their
# connections, immediate skips the checkpoint and leaves the next start to recover from the log.
_STOP_LADDER = (
    (signal.SIGTERM, 2.0),
    (signal.SIGINT, 30.0),
    (signal.SIGQUIT, 10.0),
    (signal.SIGKILL, 10.0),
)


def program_environment() -> dict[str, str]:
    """Returns this process's environment without what would change how PostgreSQL programs behave."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    return kept | {"LC_ALL": "C"}


def _create_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL, 0o600)


class ServerProcess:
    """One running postmaster, a child of this process.

    A thread launches the postmaster and stays until it ends. It must be one thread for both: the kernel sends
    a parent death signal when the launching *thread* ends, and a pool's threads end long before their process.
    """

    def __init__(self, launch: Launch, output: Path, *, housekeeping: Callable[[], None]) -> None:
        """Launches the postmaster.

        Args:
            launch: what to run.
            output: file that gets what the program prints before its own log begins.
            housekeeping: called in the watching thread every minute (on Linux).

        Raises:
            OSError: the program cannot be run.
        """
        self._launch = launch
        self._output = output
        self._housekeeping = housekeeping
        self._stopping = False
        self._ended: Future[int] = Future()
        launched: Future[subprocess.Popen[bytes]] = Future()
        threading.Thread(target=self._run, args=(launched,), name="embedded-postgres", daemon=True).start()
        self._process = launched.result()

    @property
    def pid(self) -> int:
        """Process id of the postmaster."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the postmaster runs."""
        return not self._ended.done()

    @property
    def status(self) -> int | None:
        """Exit status, negative for a signal; None while it runs."""
        return self._ended.result() if self._ended.done() else None

    def wait(self, seconds: float) -> bool:
        """Waits for the end, at most so long; returns whether it came."""
        return bool(wait([self._ended], seconds).done)

    def on_death(self, callback: Callable[[int], None]) -> None:
        """Has the exit status reported, from the watching thread, should the end come without ``stop``."""
        self._ended.add_done_callback(lambda ended: None if self._stopping else callback(ended.result()))

    def stop(self) -> None:
        """Ends the postmaster: kindly, then less so."""
        self._stopping = True
        for number, patience in _STOP_LADDER:
            self._process.send_signal(number)  # which does nothing once the process has ended
            if self.wait(patience):
                return
            _log.warning("embedded_postgres.slow_stop", pid=self.pid, signal=number.name)

    def _run(self, launched: Future[subprocess.Popen[bytes]]) -> None:
        try:
            # Made anew, as another user may have made the last one. And a session of its own for the server, as
            # Ctrl-C in the terminal is the service's to handle, which drains first.
            self._output.unlink(missing_ok=True)
            with open(self._output, "wb", opener=_create_private) as output:
                process = subprocess.Popen(
                    self._launch.command(),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd="/",
                    env=program_environment(),
                    start_new_session=True,
                )
        except OSError as error:
            launched.set_exception(error)
            return
        launched.set_result(process)
        try:
            self._keep_house(process)
        except OSError as error:
            _log.warning("embedded_postgres.no_housekeeping", error=str(error))
        self._ended.set_result(process.wait())

    def _keep_house(self, process: subprocess.Popen[bytes]) -> None:
        if sys.platform != "linux":
            return  # no way to wait for a process with a limit but to ask again and again
        descriptor = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            while not poll.poll(_HOUSEKEEPING_SECONDS * 1000):
                self._housekeeping()
        finally:
            os.close(descriptor)


def find_servers(cluster: Path) -> list[psutil.Process]:
    """Returns the processes that serve a cluster: each has its directory for the current one."""
    directory = str(cluster.resolve())
    found = []
    for process in psutil.process_iter():
        try:
            if process.name() == "postgres" and process.cwd() == directory:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # gone meanwhile, or another user's and so not of this cluster
    return found


def stop_leftovers(cluster: Path) -> None:
    """Ends every process that serves a cluster; the caller owns its directory and runs no server there now.

    Raises:
        LeftoverProcessError: a process cannot be ended.
    """
    for number, patience in ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0)):
        found = find_servers(cluster)
        if not found:
            return
        pids = [process.pid for process in found]
        _log.warning("embedded_postgres.leftover", pids=pids, signal=number.name)
        _signal(found, number)
        deadline = time.monotonic() + patience
        while find_servers(cluster) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
    if found := find_servers(cluster):
        pids = [process.pid for process in found]
        raise LeftoverProcessError(f"processes {pids} that serve {cluster} do not end; kill them by hand")


def _signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    pids = {process.pid for process in processes}
    for process in processes:
        try:
            # A postmaster passes on what its children need; those without one get it themselves.
            if number == signal.SIGKILL or process.ppid() not in pids:
                process.send_signal(number)
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            continue  # reported by the caller as still there

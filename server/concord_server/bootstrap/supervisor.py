"""Several serving processes on one port, under one parent that owns the embedded PostgreSQL.

The parent never touches gRPC: it holds the port (bound, not listening), starts the processes, restarts one that
dies, and passes SIGTERM on. A child whose parent is gone sees the end of its standard input and shuts down.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

import structlog

READY_LINE = b"ready"
"""What a child prints on its standard output once it serves."""

_RESTART_PAUSE_SECONDS = 1.0
_log = structlog.get_logger(__name__)


class ChildFailedError(Exception):
    """A serving process ended before it was ready; its own message is on standard error."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(f"a serving process ended with exit code {exit_code} before it was ready")
        self.exit_code = exit_code


def reserve_port(host: str, port: int) -> socket.socket:
    """Returns a socket that holds the address for processes that bind it with SO_REUSEPORT.

    Raises:
        OSError: the address is taken or is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    held = socket.socket(family, socket.SOCK_STREAM)
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind((host.strip("[]"), port))
    except OSError:
        held.close()
        raise
    return held


class Supervisor:
    """Keeps ``count`` copies of a command running until it is stopped."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], count: int, grace_seconds: float
    ) -> None:
        self._command = tuple(command)
        self._environment = dict(environment)
        self._count = count
        self._grace = grace_seconds
        self._stopping = asyncio.Event()
        self._children: set[asyncio.subprocess.Process] = set()
        self._keepers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Starts the processes and returns when all are ready.

        Raises:
            ChildFailedError: one ended before it was ready; all are stopped then.
        """
        started = await asyncio.gather(*(self._spawn() for _ in range(self._count)), return_exceptions=True)
        for outcome in started:
            if isinstance(outcome, BaseException):
                await self.stop()
                raise outcome
        self._keepers = [
            asyncio.create_task(self._keep(child)) for child in started if not isinstance(child, BaseException)
        ]

    async def stop(self) -> None:
        """Tells every process to shut down, and kills one that outlives its grace period."""
        self._stopping.set()
        for child in self._children:
            with suppress(ProcessLookupError):
                child.send_signal(signal.SIGTERM)
        waits = [asyncio.create_task(child.wait()) for child in self._children]
        if waits:
            _, late = await asyncio.wait(waits, timeout=self._grace + 5.0)
            if late:
                for child in self._children:
                    with suppress(ProcessLookupError):
                        child.kill()
                await asyncio.wait(late)
        await asyncio.gather(*self._keepers, return_exceptions=True)

    async def _spawn(self) -> asyncio.subprocess.Process:
        child = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=self._environment,
            start_new_session=True,
        )
        self._children.add(child)
        assert child.stdout is not None
        line = await child.stdout.readline()
        if line.strip() != READY_LINE:
            code = await child.wait()
            self._children.discard(child)
            raise ChildFailedError(code)
        return child

    async def _keep(self, child: asyncio.subprocess.Process) -> None:
        """Replaces a process that dies, for as long as the service is to run."""
        while True:
            code = await child.wait()
            self._children.discard(child)
            if self._stopping.is_set():
                return
            _log.error("a serving process died and is replaced", exit_code=code, pid=child.pid)
            try:
                child = await self._spawn()
            except ChildFailedError as error:
                _log.error("its replacement did not start", exit_code=error.exit_code)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), _RESTART_PAUSE_SECONDS)
                if self._stopping.is_set():
                    return


async def parent_gone() -> None:
    """Returns when the standard input ends, which is when the parent process is gone."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()

"""What the tests of the embedded Postgres share: owners in processes of their own, and looks at the machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import concord_server
import psutil
import psycopg
from concord_server.storage.embedded_launch import Launch
from concord_server.storage.embedded_process import find_servers

PATIENCE = 60.0


class Owner:
    """An ``owner_process.py`` and what it says."""

    def __init__(self, data_dir: Path, *, prefix: tuple[str, ...] = (), user: int | None = None) -> None:
        command = [sys.executable, str(Path(__file__).with_name("owner_process.py")), str(data_dir)]
        if user is not None:
            # Also where the interpreter itself is private to root.
            command = Launch(os.getpid(), 0, (user, user), [], command).command()
        self.process = subprocess.Popen(
            [*prefix, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(concord_server.__file__).parents[1])},
        )

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return dict(json.loads(self.process.stdout.readline()))

    def tell(self, command: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return self.answer()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def finish(self) -> int:
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


def scratch() -> str | None:
    """Where to make clusters: in memory where there is plenty, as syncing to a disk takes most of the time."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > 2**30 else None


@contextmanager
def child_process(command: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def execute(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


def facts(url: str) -> list[str]:
    return [text for (text,) in execute(url, "SELECT text FROM fact ORDER BY text")]


def servers(home: Path) -> list[psutil.Process]:
    return [process for path in home.glob("**/cluster") for process in find_servers(path)]


def working_below(home: Path) -> list[int]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.cwd().startswith(str(home)):
                found.append(process.pid)
    return found


def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s: {what}"
        time.sleep(0.02)


def capabilities(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("CapEff:")[1].split()[0], 16)


def permissions(paths: list[Path]) -> list[tuple[int, int, int]]:
    return [(found.st_mode, found.st_uid, found.st_gid) for found in (path.stat() for path in paths)]

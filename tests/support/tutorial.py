"""Replays the console blocks of docs/tutorial.md, so that what they show stays true.

``python -m tests.support.tutorial`` runs every command against a new service and writes what it showed into the
page.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.service import running_service

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
COLUMNS = 100

_BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r"\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}Z)?\b")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Step:
    """A command and what it showed on a terminal."""

    command: str
    shown: str

    @property
    def comparable(self) -> str:
        """What it showed, without ids and times."""
        return _TIME.sub("<time>", _ID.sub("<id>", self.shown)).rstrip()


def console_blocks(page: str) -> list[str]:
    """Returns the contents of a page's console blocks."""
    return _BLOCK.findall(page)


def steps_of(block: str) -> Iterator[Step]:
    """Reads the steps of a block: commands after "$ ", each followed by what it showed."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield Step(command, shown)


class Replay:
    """Runs the commands of a page.

    Attributes:
        ids: for each id that the page shows, the one that the run showed in its place.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = {**os.environ, "TERM": "xterm", **environment}
        self.ids: dict[str, str] = {}

    def run(self, step: Step) -> Step:
        """Runs a step and returns it with what it showed this time."""
        shown = on_terminal(
            _ID.sub(lambda match: self.ids.get(match[0], match[0]), step.command), self._environment
        )
        self.ids.update(zip(_ID.findall(step.shown), _ID.findall(shown), strict=False))
        return Step(step.command, shown + "\n" if shown else "")


def on_terminal(command: str, environment: dict[str, str]) -> str:
    """Runs a shell command on a terminal and returns the text it left there, without colours and progress bars."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    with subprocess.Popen(
        ["bash", "-c", command], stdin=child, stdout=child, stderr=child, cwd=ROOT, env=environment
    ) as process:
        os.close(child)
        output = bytearray()
        while chunk := _read(parent):
            output += chunk
        process.wait(timeout=240)
    os.close(parent)
    lines = [_ESCAPE.sub("", line.rpartition("\x1b[2K")[2]) for line in output.decode().split("\n")]
    plain = [line.replace("\r", "").rstrip() for line in lines if "\N{BOX DRAWINGS HEAVY HORIZONTAL}" not in line]
    return "\n".join(plain).strip("\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        # Linux reports the other end's closing as an error.
        return b""


def environment_of(target: str, tools: Path) -> dict[str, str]:
    """Returns an environment in which ``concord`` is this checkout's, and calls the service at ``target``."""
    script = tools / "concord"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m concord_server.cli "$@"\n')
    script.chmod(0o755)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {"CONCORD_TARGET": target, "PATH": path}


def refresh() -> None:
    """Replays the page and writes what was shown into it."""
    with tempfile.TemporaryDirectory() as directory:
        tools = Path(directory)
        with running_service(tools / "data", "--log-level", "warning") as service:
            replay = Replay(environment_of(service.target, tools))

            def replayed(block: re.Match[str]) -> str:
                taken = [(step, replay.run(step)) for step in steps_of(block[0])]
                return "".join(f"$ {step.command}\n{new.shown}" for step, new in taken)

            page = PAGE.read_text()
            fresh = _BLOCK.sub(replayed, page)
    # Commands of the page name ids that it showed before: they follow what it shows now.
    for old, new in replay.ids.items():
        fresh = fresh.replace(old, new)
    PAGE.write_text(fresh)


if __name__ == "__main__":
    refresh()

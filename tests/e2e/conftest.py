from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.service import RunningService, running_service

# Started in the background by a shell, tests inherit that interrupts are ignored, and so would what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """One service of two serving processes, shared by the tests that bring a project of their own."""
    data_dir: Path = tmp_path_factory.mktemp("two-processes")
    with running_service(data_dir, "--processes", "2") as service:
        yield service


@pytest.fixture(scope="session")
def cli_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """One service for the tests of the command line and the examples; each brings a project of its own."""
    with running_service(tmp_path_factory.mktemp("cli"), "--log-level", "warning") as service:
        yield service

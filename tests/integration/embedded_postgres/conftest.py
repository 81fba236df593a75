"""Directories and owners for the tests of the embedded Postgres."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from concord_server.storage.embedded import EmbeddedPostgres

from tests.integration.embedded_postgres.tools import Owner, execute, scratch, servers


@pytest.fixture
def owner() -> Iterator[Callable[..., Owner]]:
    owners: list[Owner] = []

    def make(data_dir: Path, **options: Any) -> Owner:
        owners.append(Owner(data_dir, **options))
        return owners[-1]

    yield make
    for each in owners:
        if each.process.poll() is None:
            each.finish()
        for stream in (each.process.stdin, each.process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory that everybody may enter, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="embedded-", dir=scratch())).resolve()
    path.chmod(0o755)
    yield path
    for process in servers(path):
        process.kill()
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """A cluster with one committed fact, to copy for tests that are not about making one."""
    path = Path(tempfile.mkdtemp(prefix="embedded-", dir=scratch()))
    path.chmod(0o755)
    with EmbeddedPostgres(path) as postgres:
        execute(postgres.url, "CREATE TABLE fact (text text)")
        execute(postgres.url, "INSERT INTO fact VALUES ('first')")
    yield path / "postgres" / "cluster"
    shutil.rmtree(path)


@pytest.fixture
def data_dir(home: Path, template: Path) -> Path:
    (home / "data" / "postgres").mkdir(parents=True)
    shutil.copytree(template, home / "data" / "postgres" / "cluster")
    return home / "data"

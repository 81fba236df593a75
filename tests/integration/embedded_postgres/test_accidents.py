"""The embedded Postgres when owners and servers are killed at bad moments, and in directories that are wrong."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.embedded_cluster import Layout, launch_failure
from concord_server.storage.embedded_errors import DiskFullError, IncompatibleClusterError, StartupError
from concord_server.storage.embedded_launch import Launch
from concord_server.storage.embedded_lock import OwnerLock

from tests.integration.embedded_postgres.tools import (
    PATIENCE,
    Owner,
    child_process,
    eventually,
    execute,
    facts,
    servers,
    working_below,
)

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the death of a parent")


@on_linux
def test_server_of_a_killed_owner_ends_by_itself_and_loses_nothing(
    data_dir: Path, owner: Callable[..., Owner]
) -> None:
    first = owner(data_dir)
    url = first.answer()["url"]
    with psycopg.connect(url) as client:
        execute(url, "INSERT INTO fact VALUES ('committed')")
        client.execute("INSERT INTO fact VALUES ('not committed')")
        first.kill()
        eventually(lambda: servers(data_dir) == [], "the server ends with its owner")
        client.close()
    with EmbeddedPostgres(data_dir) as postgres:
        assert facts(postgres.url) == ["committed", "first"]


def test_start_right_after_the_owner_was_killed_waits_for_its_server(
    data_dir: Path, owner: Callable[..., Owner]
) -> None:
    for _ in range(3):
        first = owner(data_dir)
        execute(first.answer()["url"], "INSERT INTO fact VALUES ('more')")
        first.kill()
    with EmbeddedPostgres(data_dir) as postgres:
        assert facts(postgres.url) == ["first", "more", "more", "more"]


def test_owner_and_server_killed_together_lose_nothing(data_dir: Path, owner: Callable[..., Owner]) -> None:
    first = owner(data_dir)
    answer = first.answer()
    execute(answer["url"], "INSERT INTO fact VALUES ('committed')")
    os.kill(answer["pid"], signal.SIGKILL)
    first.kill()
    with EmbeddedPostgres(data_dir) as postgres:
        assert facts(postgres.url) == ["committed", "first"]


def test_killed_server_is_reported_and_comes_back_with_its_data(data_dir: Path) -> None:
    deaths: list[int] = []
    with EmbeddedPostgres(data_dir, on_exit=deaths.append) as postgres:
        execute(postgres.url, "INSERT INTO fact VALUES ('committed')")
        assert postgres.pid is not None
        os.kill(postgres.pid, signal.SIGKILL)
        eventually(lambda: deaths == [-signal.SIGKILL], "the death is reported")
        assert not postgres.alive
        assert facts(postgres.ensure_running()) == ["committed", "first"]
        assert postgres.alive
    assert servers(data_dir) == []


def test_restarted_server_is_found_where_it_was(data_dir: Path) -> None:
    directory = data_dir.rename(data_dir.with_name("long-" * 30))
    with EmbeddedPostgres(directory) as postgres:
        url, pid = postgres.url, postgres.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not postgres.alive, "the death is noticed")
        assert postgres.ensure_running() == url
        assert facts(url) == ["first"]


def test_server_left_without_an_owner_is_ended_by_the_next_start(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as postgres:
        assert postgres.pid is not None
        command = psutil.Process(postgres.pid).cmdline()
        owner = (data_dir / "postgres" / "cluster").stat()
        socket = data_dir / "postgres" / "socket"
    account = (owner.st_uid, owner.st_gid) if os.geteuid() == 0 else None
    launch = Launch(parent=os.getpid(), death_signal=0, account=account, reach=[], argv=command)
    with child_process(launch.command(), start_new_session=True, stderr=subprocess.DEVNULL) as orphan:
        eventually((socket / ".s.PGSQL.5432").exists, "the orphan is up")
        with EmbeddedPostgres(data_dir) as postgres:
            assert orphan.wait(PATIENCE) == 0
            assert facts(postgres.url) == ["first"]


def test_stale_files_that_name_a_living_process_do_not_hinder_the_start(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir):
        pass
    base = data_dir / "postgres"
    user = (base / "cluster").stat().st_uid if os.geteuid() == 0 else None
    with child_process(["sleep", "600"], user=user) as other:
        for stale in (base / "cluster" / "postmaster.pid", base / "socket" / ".s.PGSQL.5432.lock"):
            stale.write_text(f"{other.pid}\n{base / 'cluster'}\n1\n5432\n\n\n")
        with EmbeddedPostgres(data_dir) as postgres:
            assert facts(postgres.url) == ["first"]
        assert other.poll() is None


def test_first_start_killed_half_way_is_made_good_by_the_next(home: Path, owner: Callable[..., Owner]) -> None:
    first = owner(home)
    eventually(lambda: any(home.glob("postgres/cluster.new-*/base")), "the cluster is being made")
    first.kill()
    eventually(lambda: working_below(home) == [], "nothing goes on making it")
    assert not (home / "postgres" / "cluster").exists()
    with EmbeddedPostgres(home) as postgres:
        execute(postgres.url, "CREATE TABLE fact (text text)")
    assert not list(home.glob("postgres/cluster.new-*"))


def test_first_start_killed_before_it_made_the_database_is_made_good_by_the_next(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as postgres:
        execute(postgres.admin_url.replace("/concord?", "/postgres?"), "DROP DATABASE concord")
    with EmbeddedPostgres(data_dir) as postgres:
        assert execute(postgres.url, "SELECT '[1,2]'::vector <-> '[1,5]'") == [(3.0,)]


def test_start_that_fails_says_why_and_can_be_repeated(data_dir: Path) -> None:
    deaths: list[int] = []
    postgres = EmbeddedPostgres(data_dir, on_exit=deaths.append)
    settings = data_dir / "postgres" / "cluster" / "postgresql.conf"
    good = settings.read_text()
    settings.write_text(good + "\nshared_buffers = plenty\n")
    with pytest.raises(StartupError, match='invalid value for parameter "shared_buffers": "plenty"'):
        postgres.start()
    assert deaths == []
    assert servers(data_dir) == []
    settings.write_text(good)
    with postgres:
        assert facts(postgres.url) == ["first"]


def test_cluster_of_another_major_version_is_refused(data_dir: Path) -> None:
    (data_dir / "postgres" / "cluster" / "PG_VERSION").write_text("17\n")
    with pytest.raises(IncompatibleClusterError, match=r"made by PostgreSQL 17.*brings 18.*dump"):
        EmbeddedPostgres(data_dir).start()


def test_directory_that_is_no_cluster_is_left_alone(home: Path) -> None:
    precious = home / "postgres" / "cluster" / "thesis.txt"
    precious.parent.mkdir(parents=True)
    precious.write_text("words")
    with pytest.raises(IncompatibleClusterError, match="holds no PostgreSQL cluster"):
        EmbeddedPostgres(home).start()
    assert precious.read_text() == "words"


def test_full_disk_is_named(tmp_path: Path) -> None:
    output = 'FATAL:  could not write to file "pg_wal/xlogtemp.1": No space left on device'
    assert isinstance(launch_failure(1, output, Layout(tmp_path)), DiskFullError)


def test_lock_that_a_dead_owner_is_about_to_lose_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "owner.lock"
    with child_process([sys.executable, "-c", "pass"]) as dead:
        dead.wait(PATIENCE)
    holder = path.open("w")
    holder.write(f"{dead.pid}\n")
    holder.flush()
    fcntl.flock(holder, fcntl.LOCK_EX)
    threading.Timer(0.2, holder.close).start()
    lock = OwnerLock(path)
    assert path.read_text() == f"{os.getpid()}\n"
    lock.release()

"""The embedded Postgres when nothing goes wrong, and that it has one owner."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.embedded_cluster import Layout
from concord_server.storage.embedded_errors import DataDirectoryInUseError, EmbeddedPostgresError

from tests.integration.embedded_postgres.tools import Owner, execute, facts, servers


def test_first_start_makes_a_durable_private_database_with_vectors(home: Path) -> None:
    with EmbeddedPostgres(home / "new" / "data") as postgres:
        settings = dict(execute(postgres.url, "SELECT name, setting FROM pg_settings"))
        assert {name: settings[name] for name in ("listen_addresses", "fsync", "synchronous_commit")} == {
            "listen_addresses": "",
            "fsync": "on",
            "synchronous_commit": "on",
        }
        assert settings["data_checksums"] == "on"
        assert settings["TimeZone"] == "UTC"
        assert settings["server_encoding"] == "UTF8"
        assert execute(postgres.url, "SELECT datlocale FROM pg_database WHERE datname = 'concord'") == [
            ("C.UTF-8",)
        ]
        assert execute(postgres.url, "SELECT '[1,2]'::vector <-> '[1,5]'") == [(3.0,)]
        role = "SELECT usename, usesuper FROM pg_user WHERE usename = current_user"
        assert execute(postgres.url, role) == [("concord", False)]
        execute(postgres.url, "CREATE TABLE mine (id int)")
    assert servers(home) == []


def test_next_start_finds_the_same_cluster_and_its_data(home: Path) -> None:
    query = "SELECT system_identifier FROM pg_control_system()"
    with EmbeddedPostgres(home) as postgres:
        first = execute(postgres.admin_url, query)
        execute(postgres.url, "CREATE TABLE fact (text text)")
        execute(postgres.url, "INSERT INTO fact VALUES ('kept')")
    with EmbeddedPostgres(home) as postgres:
        assert execute(postgres.admin_url, query) == first
        assert facts(postgres.url) == ["kept"]


def test_start_of_a_running_server_changes_nothing(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as postgres:
        pid = postgres.pid
        assert postgres.start() == postgres.ensure_running() == postgres.url
        assert postgres.pid == pid


def test_stop_leaves_no_process_though_clients_are_connected(data_dir: Path) -> None:
    deaths: list[int] = []
    postgres = EmbeddedPostgres(data_dir, on_exit=deaths.append)
    with psycopg.connect(postgres.start()) as connection:
        connection.execute("SELECT 1")
        postgres.stop()
        assert servers(data_dir) == []
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    postgres.stop()
    assert not postgres.alive
    assert deaths == []
    with pytest.raises(EmbeddedPostgresError, match="not started"):
        postgres.ensure_running()


def test_server_has_a_session_of_its_own_so_that_ctrl_c_does_not_reach_it(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as postgres:
        assert postgres.pid is not None
        assert os.getsid(postgres.pid) == postgres.pid != os.getsid(0)


def test_server_outlives_the_thread_that_started_it(data_dir: Path) -> None:
    postgres = EmbeddedPostgres(data_dir)
    thread = threading.Thread(target=postgres.start)
    thread.start()
    thread.join()
    try:
        assert execute(postgres.url, "SELECT true FROM pg_sleep(1)") == [(True,)]
        assert postgres.alive
    finally:
        postgres.stop()


def test_logs_are_bounded(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.logs.mkdir()
    for day in range(10, 20):
        (layout.logs / f"202601{day}T000000.log").touch()
    layout.prune_logs()
    assert [path.name[6:8] for path in sorted(layout.logs.iterdir())] == ["15", "16", "17", "18", "19"]


@pytest.mark.parametrize("name", ["long-" * 30, "one,two", "with space 'and' \"quotes\" %20"])
def test_any_path_serves_as_data_directory(data_dir: Path, name: str) -> None:
    directory = data_dir.rename(data_dir.with_name(name))
    with EmbeddedPostgres(directory) as postgres:
        assert facts(postgres.url) == ["first"]
        place = (directory / "postgres" / "socket").resolve()
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert directory in place.parents or not place.exists()


def test_second_owner_is_refused_and_told_whom_to_stop(data_dir: Path, owner: Callable[..., Owner]) -> None:
    first = owner(data_dir)
    url = first.answer()["url"]
    with pytest.raises(DataDirectoryInUseError, match=f"in use by process {first.process.pid};") as refusal:
        EmbeddedPostgres(data_dir).start()
    assert refusal.value.pid == first.process.pid
    assert facts(url) == ["first"]
    assert first.finish() == 0
    with EmbeddedPostgres(data_dir) as postgres:
        assert facts(postgres.url) == ["first"]


def test_second_owner_in_the_same_process_is_refused_too(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as postgres:
        with pytest.raises(DataDirectoryInUseError):
            EmbeddedPostgres(data_dir).start()
        assert facts(postgres.url) == ["first"]


def test_forked_child_owns_nothing(data_dir: Path, owner: Callable[..., Owner]) -> None:
    first = owner(data_dir)
    url = first.answer()["url"]
    first.tell("fork and stop")
    assert facts(url) == ["first"]
    child = first.tell("fork and linger")["child"]
    first.kill()
    try:
        with EmbeddedPostgres(data_dir) as postgres:
            assert facts(postgres.url) == ["first"]
    finally:
        os.kill(child, signal.SIGKILL)

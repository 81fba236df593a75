"""The directory of the embedded Postgres's socket."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from concord_server.storage.embedded_cluster import PORT, Account, Layout, give, private_directory
from concord_server.storage.embedded_errors import DataDirectoryAccessError

_FILE = f".s.PGSQL.{PORT}"

# sun_path holds 108 bytes on Linux and 104 on macOS, a final zero included.
_PATH_BYTES = 103


def open_socket_directory(layout: Layout, account: Account | None, earlier: Path | None) -> Path:
    """Makes sure of a private directory for the socket and returns it.

    It lies beside the cluster, unless its path is too long for a socket or cannot be written in a connection
    string; then it is a new one in the directory for temporary files, and a link beside the cluster leads to it.

    Args:
        layout: the directory of the embedded Postgres.
        account: whose socket it will be, None for this process's user.
        earlier: what this call returned before in this process; clients know it, so it is kept where possible.

    Raises:
        DataDirectoryAccessError: no place is fit.
        OSError: the directory cannot be made.
    """
    if earlier is not None and _is_private(earlier, account):
        _remove_socket(earlier)
        return earlier
    close_socket_directory(layout)
    if _fits(layout.socket):
        private_directory(layout.socket, account)
        return layout.socket
    for parent in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 (mkdtemp makes it private)
        if _fits(Path(parent) / "concord-12345678"):
            directory = Path(tempfile.mkdtemp(prefix="concord-", dir=parent))
            give(directory, account)
            with suppress(FileNotFoundError):
                layout.socket.rmdir()
            layout.socket.symlink_to(directory)
            return directory
    raise DataDirectoryAccessError(
        f"the path of {layout.base} is too long for a socket, and so is {tempfile.gettempdir()}; set TMPDIR "
        "to a shorter path"
    )


def close_socket_directory(layout: Layout) -> None:
    """Removes what an ended server leaves: the socket and its lock, and a temporary directory."""
    if layout.socket.is_symlink():
        # Others may write where it leads, so nothing there is touched but an empty directory.
        with suppress(OSError):
            layout.socket.readlink().rmdir()
        layout.socket.unlink()
        return
    _remove_socket(layout.socket)


def _remove_socket(directory: Path) -> None:
    # The lock file that a killed server left names a process id, which may be another program's by now.
    for name in (_FILE, f"{_FILE}.lock"):
        (directory / name).unlink(missing_ok=True)


def _is_private(directory: Path, account: Account | None) -> bool:
    try:
        found = directory.lstat()
    except FileNotFoundError:
        return False
    owner = account.user if account else os.geteuid()
    return stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700 and found.st_uid == owner


def _fits(directory: Path) -> bool:
    # libpq takes a comma for the end of one host of several.
    return len(os.fsencode(directory / _FILE)) <= _PATH_BYTES and "," not in str(directory)

"""The lock by which one process owns a data directory."""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from pathlib import Path

import psutil

from concord_server.storage.embedded_errors import DataDirectoryInUseError

# How long a lock may be held by nobody who says so: its owner has just taken it and not yet written its id, or was
# killed just after a fork and its child has not yet let go.
_GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.02


class OwnerLock:
    """An exclusive ``flock`` on a file that holds the owner's process id.

    The kernel drops the lock when its owner ends, however it ends, so none is ever left behind. The file
    itself stays: removing a lock file lets two processes lock two files of the same name.
    """

    def __init__(self, path: Path) -> None:
        """Takes the lock.

        Raises:
            DataDirectoryInUseError: another process, or another lock of this one, holds it.
            OSError: the file cannot be opened, or its file system knows no locks.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        deadline = time.monotonic() + _GRACE_SECONDS
        try:
            while not _try(descriptor):
                owner = _read_owner(descriptor)
                if (owner and psutil.pid_exists(owner)) or time.monotonic() > deadline:
                    raise DataDirectoryInUseError(path.parent.parent, owner)
                time.sleep(_POLL_SECONDS)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor: int | None = descriptor
        _held.add(self)

    @property
    def held(self) -> bool:
        """Whether this process holds the lock; False in a forked child of the owner."""
        return self._descriptor is not None

    def release(self) -> None:
        """Gives the lock up; harmless when it is not held."""
        if self._descriptor is not None:
            # Not left to close(), as a child between fork and exec still has the file open.
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self.forget()

    def forget(self) -> None:
        """Closes this process's access to a lock that its parent holds."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_owner(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).strip()
    return int(text) if text.isdigit() else None


_held: weakref.WeakSet[OwnerLock] = weakref.WeakSet()


def _forget_in_child() -> None:
    # A forked child shares the parent's open file, and would keep the lock alive after the parent's death.
    for lock in tuple(_held):
        lock.forget()


os.register_at_fork(after_in_child=_forget_in_child)

"""The lock by which one process owns a data directory."""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path

from concord_server.storage.embedded_errors import DataDirectoryInUseError


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
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            text = os.pread(descriptor, 32, 0).strip()
            os.close(descriptor)
            raise DataDirectoryInUseError(path.parent.parent, int(text) if text.isdigit() else None) from None
        except OSError:
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
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


_held: weakref.WeakSet[OwnerLock] = weakref.WeakSet()


def _release_in_child() -> None:
    # A forked child shares the parent's open file, and would keep the lock alive after the parent's death.
    for lock in tuple(_held):
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)

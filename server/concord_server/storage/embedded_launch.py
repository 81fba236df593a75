"""Launches a PostgreSQL program without the powers of root, its life tied to the service's.

The service runs this file by path with the bare interpreter (``python -I -S embedded_launch.py PLAN``), so
it uses the standard library alone. It replaces itself by the program and costs nothing afterwards. The same
steps in a ``preexec_fn`` would run between fork and exec of a process with threads, which may deadlock.

On Linux the kernel sends the program a signal when the thread that launched it ends. Root's programs run as
another user. Where that user cannot reach the files, because a directory above them is private to root (a
data directory in root's home, say), they get the one capability that opens the way: permissions of
directories that are not the service's own are never changed.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import sys
from typing import NamedTuple

EXIT_ORPHANED = 124
"""The service ended before its program began."""
EXIT_NOT_PERMITTED = 125
"""This user may not become the program's user."""
EXIT_UNREACHABLE = 126
"""The program's user cannot reach the program or its files."""

# From linux/prctl.h, linux/securebits.h and linux/capability.h.
_PR_SET_PDEATHSIG = 1
_PR_SET_KEEPCAPS = 8
_PR_SET_SECUREBITS = 28
_SECBIT_NO_SETUID_FIXUP = 1 << 2
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAP_DAC_OVERRIDE = 1
_CAP_DAC_READ_SEARCH = 2
_CAP_VERSION_3 = 0x20080522

# The weaker power first: it only reads and searches. Containers often withhold it, but grant the stronger.
_WAYS_IN = (None, _CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE)


class Launch(NamedTuple):
    """What to run, and how.

    Attributes:
        parent: process id of the service.
        death_signal: number of the signal that the program gets when the service dies.
        account: user and group id to run as, None to stay as is.
        reach: files and directories that the program must be able to open.
        argv: the program's absolute path and its arguments.
    """

    parent: int
    death_signal: int
    account: tuple[int, int] | None
    reach: list[str]
    argv: list[str]

    def command(self) -> list[str]:
        """Returns the command line that carries this launch out."""
        return [sys.executable, "-I", "-S", __file__, json.dumps(self._asdict())]


class _CapHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapSets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def _prctl(option: int, *arguments: int) -> bool:
    if sys.platform != "linux":
        return False
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return bool(ctypes.CDLL(None).prctl(option, *padded) == 0)


def _become(user: int, group: int) -> None:
    """Changes the user, yet keeps root's capabilities at hand for ``_hold``."""
    # The bit also lets access(2) count capabilities, by which PostgreSQL judges whether it can run.
    if not _prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP):
        _prctl(_PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)


def _hold(capability: int | None) -> bool:
    """Makes one capability, or none, effective now and after exec; returns whether it could be had."""
    if sys.platform != "linux":
        return capability is None
    libc = ctypes.CDLL(None)
    header, sets = _CapHeader(_CAP_VERSION_3, 0), (_CapSets * 2)()
    if libc.capget(ctypes.byref(header), sets) != 0:
        return capability is None
    sets[0].effective = sets[0].inheritable = 0 if capability is None else 1 << capability
    sets[1].effective = sets[1].inheritable = 0
    if libc.capset(ctypes.byref(header), sets) != 0:
        return False
    return capability is None or _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability)


def _execute(launch: Launch) -> None:
    """Becomes the program.

    Raises:
        OSError: the program or one of its files is out of reach.
    """
    for path in launch.reach:
        os.close(os.open(path, os.O_RDONLY))
    if not os.access(launch.argv[0], os.R_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), launch.argv[0])
    # Last, as the kernel forgets the signal when credentials change.
    _prctl(_PR_SET_PDEATHSIG, launch.death_signal)
    if os.getppid() != launch.parent:
        sys.exit(EXIT_ORPHANED)
    os.execv(launch.argv[0], launch.argv)  # noqa: S606 (that is what this file is for)


def _fail(status: int, error: OSError) -> None:
    print(f"{error.strerror}: {error.filename}" if error.filename else error.strerror, file=sys.stderr)
    sys.exit(status)


def main() -> None:
    """Carries out the launch given as the only argument."""
    launch = Launch(**json.loads(sys.argv[1]))
    os.umask(0o077)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, for itself
        signal.signal(ignored, signal.SIG_DFL)
    if launch.account is not None:
        try:
            _become(*launch.account)
        except OSError as error:
            _fail(EXIT_NOT_PERMITTED, error)
    refusal = OSError()
    for capability in _WAYS_IN if launch.account else (None,):
        if launch.account and not _hold(capability):
            continue
        try:
            _execute(launch)
        except OSError as error:
            refusal = error
    _fail(EXIT_UNREACHABLE, refusal)


if __name__ == "__main__":
    main()

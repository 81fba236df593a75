"""What can go wrong with the embedded Postgres, each with what to do about it in its message."""

from __future__ import annotations

from pathlib import Path


class EmbeddedPostgresError(Exception):
    """The embedded Postgres cannot do what was asked; the message says what to do."""


class BinariesNotFoundError(EmbeddedPostgresError):
    """The PostgreSQL programs are not installed beside the service."""


class DataDirectoryInUseError(EmbeddedPostgresError):
    """Another process owns the data directory.

    Attributes:
        pid: the owner's process id, None when it cannot be read.
    """

    def __init__(self, directory: Path, pid: int | None) -> None:
        self.pid = pid
        owner = f"process {pid}" if pid else "another process"
        super().__init__(
            f"data directory {directory} is in use by {owner}; stop that service, or choose another directory"
        )


class DataDirectoryAccessError(EmbeddedPostgresError):
    """The data directory cannot be created, read or written by this user."""


class DiskFullError(EmbeddedPostgresError):
    """No space is left where the data directory lies."""


class IncompatibleClusterError(EmbeddedPostgresError):
    """The data directory holds the data of another major version of PostgreSQL, or no cluster at all."""


class PrivilegeError(EmbeddedPostgresError):
    """The service's user cannot run PostgreSQL, nor become one who can."""


class StartupError(EmbeddedPostgresError):
    """PostgreSQL was run and did not come up; the message ends with what it logged."""


class LeftoverProcessError(EmbeddedPostgresError):
    """A server process of an earlier run neither ends nor can be ended."""

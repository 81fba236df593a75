"""The ``concord`` command line.

Only names are imported here: parts of the service, and the client with gRPC, are imported by the commands that
need them, so that ``concord --help`` answers at once and ``concord serve`` can start processes before gRPC is
loaded.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    Args:
        argv: the arguments; None means those of the process.
    """
    from concord_server.cli.app import run

    return run(argv)

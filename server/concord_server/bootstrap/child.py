"""One serving process, as its supervisor starts it: settings come from the environment."""

from __future__ import annotations

import sys

from concord_server.bootstrap.service import START_ERRORS, run_child
from concord_server.config import Settings


def main() -> int:
    """Runs until the supervisor ends it; returns the exit code."""
    try:
        run_child(Settings())
    except START_ERRORS as error:
        print(f"concord: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

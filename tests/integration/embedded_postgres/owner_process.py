"""An owner of an embedded Postgres: says how it started, then obeys its standard input until that ends."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import structlog
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.embedded_errors import EmbeddedPostgresError


def main() -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    postgres = EmbeddedPostgres(Path(sys.argv[1]))
    try:
        url = postgres.start()
    except EmbeddedPostgresError as error:
        say(error=type(error).__name__, message=str(error))
        sys.exit(1)
    say(url=url, pid=postgres.pid)
    for line in sys.stdin:
        say(child=fork(postgres, linger=line.strip() == "fork and linger"))
    postgres.stop()


def say(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def fork(postgres: EmbeddedPostgres, *, linger: bool) -> int:
    child = os.fork()
    if child == 0:
        postgres.stop()
        if linger:
            time.sleep(600)
        os._exit(0)
    if not linger:
        os.waitpid(child, 0)
    return child


if __name__ == "__main__":
    main()

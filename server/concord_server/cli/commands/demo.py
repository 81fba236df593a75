"""``concord demo``: the whole service at work on sample data, and nothing left running."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from concord_server.cli.failures import CommandError, ExitCode, report


def demo(
    data_dir: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the demo keeps its data; it can be run on it again.")
    ] = Path("var/demo"),
) -> None:
    """Start the service, reconcile and consolidate sample data, show what came of it, stop.

    The data stays: a second run shows that nothing is created twice.
    """
    from concord_server.cli.connection import connected
    from concord_server.cli.demonstration import demonstrate, sample_events, sample_files

    files = sample_files()
    with _ended_in_order():
        with _service(data_dir) as target, connected(target, "", "") as client:
            demonstrate(client, files, sample_events())
        report(f"the service is stopped; its data stays in {data_dir}", f"concord serve --data-dir {data_dir}")


@contextmanager
def _service(data_dir: Path) -> Iterator[str]:
    """Runs the service for the length of a block, and yields its target once it serves.

    Raises:
        CommandError: it does not start.
    """
    from concord_server import bootstrap
    from concord_server.cli.connection import wait_until_serving

    report(f"starting the service, with a PostgreSQL of its own in {data_dir}")
    with ExitStack() as running:
        try:
            target = running.enter_context(bootstrap.running_service(data_dir, "--log-level", "error"))
            wait_until_serving(target)
        except (RuntimeError, *bootstrap.START_ERRORS) as error:
            raise CommandError(str(error), code=ExitCode.START) from error
        yield target


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Lets SIGTERM and a closed terminal end a block as an exception does, so that the service is stopped."""

    def end(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

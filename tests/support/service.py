"""A real service in processes of its own, and raw channels to it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

READY_SECONDS = 120


class RunningService:
    """A service that was started as its users start it."""

    def __init__(self, process: subprocess.Popen[str], target: str, data_dir: Path) -> None:
        self.process = process
        self.target = target
        self.data_dir = data_dir

    def stop(self) -> int:
        """Asks it to shut down, and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=90)


def start_service(data_dir: Path, *flags: str, environment: dict[str, str] | None = None) -> RunningService:
    """Starts ``concord serve`` on a free port and waits until it is SERVING."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "concord_server.cli",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--log-level",
            "warning",
            "--data-dir",
            str(data_dir),
            *flags,
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("listening on "), f"the service said {line!r}"
    target = line.removeprefix("listening on ").strip()
    wait_until_serving(target)
    return RunningService(process, target, data_dir)


def wait_until_serving(target: str, service: str = "") -> None:
    """Returns once health says SERVING."""
    with grpc.insecure_channel(target) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)  # its types lack Watch
        watch = stub.Watch(
            health_pb2.HealthCheckRequest(service=service), timeout=READY_SECONDS, wait_for_ready=True
        )
        for answer in watch:
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                watch.cancel()
                return
    raise AssertionError("the service never became ready")


@contextlib.contextmanager
def running_service(
    data_dir: Path, *flags: str, environment: dict[str, str] | None = None
) -> Iterator[RunningService]:
    """Runs a service for the length of a block."""
    service = start_service(data_dir, *flags, environment=environment)
    try:
        yield service
    finally:
        service.stop()


def own_channel(target: str) -> grpc.aio.Channel:
    """Opens a connection of its own, so that the kernel may hand it to any of the serving processes."""
    return grpc.aio.insecure_channel(
        target,
        options=[("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", 64 << 20)],
    )

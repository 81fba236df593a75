"""The service as a process: start, shutdown, death of its parts, another database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from concord.v1 import (
    briefing_service_pb2,
    briefing_service_pb2_grpc,
    evolution_service_pb2,
    evolution_service_pb2_grpc,
    reconcile_service_pb2,
    reconcile_service_pb2_grpc,
)
from concord_server.storage.embedded import EmbeddedPostgres
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.support.service import RunningService, running_service, start_service, wait_until_serving

PATIENCE = 60
SERVICES = ("", "concord.v1.ReconcileService", "concord.v1.BriefingService", "concord.v1.AdminService")


def reconcile(target: str, text: str) -> None:
    with grpc.insecure_channel(target) as channel:
        stub = reconcile_service_pb2_grpc.ReconcileServiceStub(channel)
        stub.Reconcile(reconcile_service_pb2.ReconcileRequest(text=text), timeout=60, wait_for_ready=True)


def texts(target: str) -> set[str]:
    with grpc.insecure_channel(target) as channel:
        stub = briefing_service_pb2_grpc.BriefingServiceStub(channel)
        answer = stub.ListFacts(briefing_service_pb2.ListFactsRequest(), timeout=60, wait_for_ready=True)
        return {fact.text for fact in answer.facts}


def eventually(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError(f"never: {what}")


def family(service: RunningService) -> list[psutil.Process]:
    """The service's processes, PostgreSQL's included."""
    parent = psutil.Process(service.process.pid)
    return [parent, *parent.children(recursive=True)]


def test_it_stops_in_order_and_leaves_no_process(tmp_path: Path):
    with running_service(tmp_path) as service:
        for name in SERVICES:
            wait_until_serving(service.target, name)
        reconcile(service.target, "Backups run nightly")
        processes = family(service)
        assert service.stop() == 0
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    assert alive == []


def test_health_flips_at_the_signal_and_the_call_in_flight_finishes(tmp_path: Path):
    with running_service(tmp_path) as service, grpc.insecure_channel(service.target) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)  # its types lack Watch
        watch = health.Watch(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        stub = reconcile_service_pb2_grpc.ReconcileServiceStub(channel)
        requests = [
            reconcile_service_pb2.ReconcileRequest(text=f"Item {n} is on shelf {n}", domain=f"d{n}")
            for n in range(60)
        ]
        batch = stub.BatchReconcile.future(
            reconcile_service_pb2.BatchReconcileRequest(requests=requests), timeout=PATIENCE
        )
        eventually(lambda: bool(texts(service.target)), "the batch began")
        service.process.send_signal(signal.SIGTERM)
        assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert len(batch.result().results) == len(requests)
        assert service.process.wait(timeout=PATIENCE) == 0


def test_data_survives_a_kill_of_the_whole_service(tmp_path: Path):
    service = start_service(tmp_path)
    reconcile(service.target, "Backups run nightly")
    processes = family(service)
    service.process.kill()
    service.process.wait()
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    assert alive == [], "PostgreSQL outlived its owner"
    with running_service(tmp_path, environment={"CONCORD_CHANGE_LOG_DAYS": "1e-6"}) as again:
        assert texts(again.target) == {"Backups run nightly"}
        # It keeps changes for a tenth of a second, and facts all the same.
        eventually(lambda: not can_watch_from_the_beginning(again.target), "the change log is pruned")
        assert texts(again.target) == {"Backups run nightly"}


def can_watch_from_the_beginning(target: str) -> bool:
    with grpc.insecure_channel(target) as channel:
        watch = evolution_service_pb2_grpc.EvolutionServiceStub(channel).WatchFacts(
            evolution_service_pb2.WatchFactsRequest(after_sequence=0), timeout=PATIENCE
        )
        try:
            next(watch)
        except grpc.RpcError as error:
            return error.code() is not grpc.StatusCode.OUT_OF_RANGE
        watch.cancel()
        return True


def test_it_brings_postgres_up_again(tmp_path: Path):
    with running_service(tmp_path) as service:
        reconcile(service.target, "Backups run nightly")
        postmaster = next(p for p in psutil.Process(service.process.pid).children() if "postgres" in p.name())
        postmaster.kill()
        eventually(lambda: _answers(service.target), "the ledger answers again")
        assert texts(service.target) == {"Backups run nightly"}


def test_a_serving_process_that_dies_is_replaced(tmp_path: Path):
    with running_service(tmp_path, "--processes", "2") as service:
        first, second = _serving_processes(service)
        first.kill()
        eventually(
            lambda: len(_serving_processes(service)) == 2 and first not in _serving_processes(service),
            "a replacement",
        )
        assert second in _serving_processes(service)
        reconcile(service.target, "Backups run nightly")


def test_serving_processes_end_with_a_killed_parent(tmp_path: Path):
    service = start_service(tmp_path, "--processes", "2")
    processes = family(service)
    service.process.kill()
    service.process.wait()
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    assert alive == []


def test_a_second_owner_of_the_data_is_refused_by_name(tmp_path: Path):
    with running_service(tmp_path) as service:
        second = _serve(tmp_path)
    assert second.returncode not in {0, 1}
    assert len(second.stderr.strip().splitlines()) == 1
    assert str(service.process.pid) in second.stderr


def test_an_external_database_must_be_migrated_and_then_serves(tmp_path: Path):
    with EmbeddedPostgres(tmp_path / "theirs") as theirs:
        flags = ("--database-url", theirs.url)
        unready = _serve(tmp_path / "unused", *flags)
        assert unready.returncode not in {0, 1}
        assert "concord migrate" in unready.stderr
        migrated = subprocess.run(
            [sys.executable, "-m", "concord_server.cli", "migrate", *flags],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE * 3,
        )
        assert migrated.returncode == 0, migrated.stderr
        with running_service(tmp_path / "unused", *flags) as service:
            reconcile(service.target, "Backups run nightly")
            assert texts(service.target) == {"Backups run nightly"}
    assert not (tmp_path / "unused").exists()


def test_the_server_process_never_loads_torch(tmp_path: Path):
    with running_service(tmp_path) as service:
        reconcile(service.target, "Backups run nightly")
        maps = Path(f"/proc/{service.process.pid}/maps")
        if not maps.exists():
            pytest.skip("needs /proc")
        assert "libtorch" not in maps.read_text(encoding="utf-8")


def _answers(target: str) -> bool:
    try:
        return bool(texts(target))
    except grpc.RpcError:
        return False


def _serving_processes(service: RunningService) -> list[psutil.Process]:
    children = psutil.Process(service.process.pid).children()
    return [p for p in children if "concord_server.bootstrap.child" in _command(p)]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _serve(data_dir: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "concord_server.cli", "serve", "--listen", "127.0.0.1:0"),
            *("--log-level", "error", "--data-dir", str(data_dir), *flags),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE * 2,
        env=os.environ,
    )

"""Watching a real service: from other processes, on the command line, over a restart, and as the cases say."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from concord.v1.evolution_service_pb2 import WatchFactsRequest
from concord.v1.evolution_service_pb2_grpc import EvolutionServiceStub
from concord.v1.reconcile_service_pb2 import ReconcileRequest
from concord.v1.reconcile_service_pb2_grpc import ReconcileServiceStub

from tests.support.cli import CONCORD, SHARED, rows, run_concord
from tests.support.service import RunningService, own_channel, start_service

CASES = SHARED / "cases"
TEXTS = ["Nora leads the platform team.", "The deploy takes 30 seconds.", "Mei works from Osaka."]


@contextmanager
def watching(target: str, project: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs ``concord watch`` for the length of a block, which begins when it has reached the service."""
    environment = {**os.environ, "CONCORD_TARGET": target, "CONCORD_PROJECT": project}
    process = subprocess.Popen(
        [*CONCORD, "watch", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def project() -> str:
    return f"watch-{uuid.uuid4()}"


def reconcile(target: str, project: str, *texts: str) -> None:
    environment = {"CONCORD_TARGET": target, "CONCORD_PROJECT": project}
    ended = run_concord("reconcile", "-", stdin="\n".join(texts) + "\n", environment=environment)
    assert ended.returncode == 0, ended.stderr


def cells(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n").split("\t")


def test_the_command_line_shows_changes_while_they_happen(cli_service: RunningService, project: str):
    with watching(cli_service.target, project, "--after", "0") as process:
        assert cells(process)[:4] == ["sequence", "time", "change", "fact_id"]
        for sequence, text in enumerate(TEXTS, 1):
            reconcile(cli_service.target, project, text)
            row = cells(process)
            assert (row[0], row[2], row[-1]) == (str(sequence), "CREATED", text)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_the_command_line_filters_and_ends_after_so_many(cli_service: RunningService, project: str):
    environment = {"CONCORD_TARGET": cli_service.target, "CONCORD_PROJECT": project}
    reconcile(cli_service.target, project, *TEXTS, TEXTS[1])
    merged = run_concord("watch", "--after", "0", "--change", "merged", "--limit", "1", environment=environment)
    [row] = rows(merged)
    assert (row["change"], row["sequence"], row["text"]) == ("MERGED", "4", TEXTS[1])
    asked = ("watch", "--after", "1", "--limit", "2", "--output", "json")
    lines = run_concord(*asked, environment=environment).stdout.splitlines()
    assert [json.loads(line)["fact"]["text"] for line in lines] == TEXTS[1:]


def test_a_position_that_the_log_does_not_have_is_refused(cli_service: RunningService, project: str):
    environment = {"CONCORD_TARGET": cli_service.target, "CONCORD_PROJECT": project}
    ended = run_concord("watch", "--after", "7", environment=environment)
    assert ended.returncode == 4
    assert "ends at 0" in ended.stderr


def test_a_service_that_is_not_there_is_said_at_once(project: str):
    environment = {"CONCORD_TARGET": "127.0.0.1:1", "CONCORD_PROJECT": project}
    ended = run_concord("watch", environment=environment, timeout=60)
    assert ended.returncode == 3
    assert "cannot reach 127.0.0.1:1" in ended.stderr


def test_a_watch_goes_on_over_a_restart_of_the_service(tmp_path: Path, project: str):
    with ExitStack() as stack:
        service = start_service(tmp_path)
        stack.callback(service.stop)
        process = stack.enter_context(watching(service.target, project, "--after", "0"))
        cells(process)
        reconcile(service.target, project, TEXTS[0])
        assert cells(process)[-1] == TEXTS[0]
        assert service.stop() == 0
        again = start_service(tmp_path, "--listen", service.target)
        stack.callback(again.stop)
        reconcile(again.target, project, *TEXTS[1:])
        assert [cells(process)[-1], cells(process)[-1]] == TEXTS[1:]


async def test_watchers_of_every_process_see_what_any_process_writes(two_processes: RunningService, project: str):
    metadata = (("x-concord-project", project),)
    channels = [own_channel(two_processes.target) for _ in range(8)]
    calls = [
        EvolutionServiceStub(channel).WatchFacts(WatchFactsRequest(after_sequence=0), metadata=metadata)
        for channel in channels
    ]
    for call in calls:
        await call.initial_metadata()
    writers: list[Any] = [ReconcileServiceStub(channel) for channel in channels[:4]]
    texts = [f"Sensor number {number} measured {number * 7} degrees in Lagos" for number in range(40)]

    async def write(part: list[str], writer: Any) -> None:
        for text in part:
            await writer.Reconcile(ReconcileRequest(text=text), metadata=metadata)

    await asyncio.gather(*(write(texts[number::4], writer) for number, writer in enumerate(writers)))

    async def told(call: Any) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        async for answer in call:
            if not answer.heartbeat:
                found.append((answer.sequence, answer.fact.text_raw))
            if {text for _, text in found} >= set(texts):
                return found
        raise AssertionError("the watch ended")

    seen = await asyncio.wait_for(asyncio.gather(*(told(call) for call in calls)), 120)
    assert all(part == seen[0] for part in seen)
    sequences = [sequence for sequence, _ in seen[0]]
    assert sequences == sorted(set(sequences))
    for channel in channels:
        await channel.close()


@pytest.mark.skipif(not (CASES / "run").exists(), reason=f"there is no {CASES}")
def test_the_shared_case_of_watching_passes(cli_service: RunningService):
    runner = [sys.executable, str(CASES / "run"), "--target", cli_service.target, "--only", "E-006"]
    ended = subprocess.run(
        [*runner, str(CASES / "evolution.yaml")], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"E-006", ended.stdout)

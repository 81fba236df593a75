"""``concord demo`` starts a service of its own, can be repeated, and leaves nothing running."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.support.cli import CONCORD, Ended, run_concord


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended, Ended]:
    """Two runs on the same directory."""
    directory = tmp_path_factory.mktemp("demo")
    first, second = (run_concord("demo", "--data-dir", str(directory)) for _ in range(2))
    return directory, first, second


def totals(ended: Ended) -> list[int]:
    """The counts of created, merged, branched, conflicted and suppressed statements."""
    assert ended.returncode == 0, ended.stderr
    [line] = re.findall(r"^total +(.*)$", ended.stdout, re.MULTILINE)
    return [int(count) for count in line.split()]


def stored(ended: Ended) -> int:
    [count] = re.findall(r"^(\d+) facts; the newest$", ended.stdout, re.MULTILINE)
    return int(count)


def test_the_sample_data_meets_every_kind_of_outcome(runs):
    created, merged, branched, conflicted, suppressed = totals(runs[1])
    assert min(created, merged, branched, conflicted) > 0
    assert created + merged + branched + conflicted + suppressed == 60


def test_events_become_facts_once(runs):
    _, first, second = runs
    assert "superseded Brightleaf Farms grows peppers." in first.stdout
    assert "conflicted Pieter Bos signs orders for Westland Bloemen." in first.stdout
    assert "7 events appended, 7 of them known before" in second.stdout
    assert "No event waits: each was consolidated once." in second.stdout


def test_facts_conflicts_and_an_entity_are_shown(runs):
    out = runs[1].stdout
    assert "The budget of the pilot is €55,000." in out.partition("Open conflicts")[2]
    assert "Project:tendril" in out
    assert "テンドリルの画面" in out


def test_a_second_run_creates_nothing(runs):
    _, first, second = runs
    assert totals(second) == [0, 60, 0, 0, 0]
    assert stored(second) == stored(first)
    assert "nothing was created twice" in second.stdout


def test_piped_output_is_plain(runs):
    out = runs[1].stdout
    assert "\x1b" not in out
    assert not any("\u2500" <= character <= "\u257f" for character in out)
    assert all(line == line.rstrip() for line in out.splitlines())


def test_no_process_is_left(runs):
    assert processes_of(runs[0]) == []


def test_a_reader_that_leaves_early_stops_it_quietly(tmp_path):
    command = f"{' '.join(CONCORD)} demo --data-dir {tmp_path} | head -c 1"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=200, check=False)
    assert ended.stderr == f"concord: starting the service, with a PostgreSQL of its own in {tmp_path}\n"
    assert processes_of(tmp_path) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_service_too(tmp_path, number, code):
    process = subprocess.Popen(
        [*CONCORD, "demo", "--data-dir", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: any("postgres" in name for name in processes_of(tmp_path)))
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert "Traceback" not in err
    wait_for(lambda: processes_of(tmp_path) == [])


def processes_of(directory: Path) -> list[str]:
    """Names of the processes whose command line names the directory."""
    found = []
    for process in psutil.process_iter(["name", "cmdline"]):
        if any(str(directory) in argument for argument in process.info["cmdline"] or ()):
            found.append(process.info["name"])
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)

"""Watching a run as its users do: over restarts of the service, and until they go away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest
from concord import (
    CandidateAction,
    Claim,
    Client,
    EntityRef,
    EventCandidate,
    EventInput,
    EventOutcome,
    Run,
    RunMessage,
    RunScope,
    RunStage,
    RunState,
)

from tests.support.cli import CONCORD
from tests.support.service import RunningService, start_service

SUBJECTS, EVENTS_EACH = 20, 6
START = datetime(2026, 1, 1, tzinfo=UTC)


def events() -> list[EventInput]:
    """Readings of several meters, day by day: of each meter, every one supersedes the one before."""
    return [
        EventInput(
            EntityRef("Meter", f"m{meter}"),
            occur_time=START + timedelta(days=day),
            candidates=[EventCandidate(Claim(f"m{meter}", "reading", day), action=CandidateAction.SUPERSEDE)],
        )
        for day in range(EVENTS_EACH)
        for meter in range(SUBJECTS)
    ]


def told(message: RunMessage) -> tuple[int, object]:
    """What a message says, without its facts, which are shown as they are when it is read."""
    update = message.update
    if isinstance(update, EventOutcome):
        return message.sequence, (update.event_id, [one.outcome for one in update.candidates])
    return message.sequence, update


class Restarted:
    """A service that keeps its address and its data over its restarts."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self.service = self._start("127.0.0.1:0")

    def _start(self, listen: str) -> RunningService:
        # Killed with a run in hand, its events are taken up again within the lease.
        return start_service(self._data_dir, "--listen", listen, "--lease", "1", "--workers", "1")

    def restart(self, how: signal.Signals) -> None:
        self.service.process.send_signal(how)
        self.service.process.wait(timeout=90)
        self.service = self._start(self.service.target)


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[Restarted]:
    service = Restarted(tmp_path)
    yield service
    service.service.stop()


def test_a_watch_goes_on_over_restarts_without_gap_or_repeat(restarted: Restarted):
    given = events()
    with Client(restarted.service.target, project="meters") as client:
        client.append_events(given)
        run = client.start_run(RunScope(stages=[RunStage.EXTRACT]))
        watch = client.watch_run(run.run_id)
        seen = list(islice(watch, 5))
        restarted.restart(signal.SIGTERM)
        assert client.get_run(run.run_id).state is RunState.RUNNING, "it ended before the service did"
        seen += islice(watch, 30)
        restarted.restart(signal.SIGKILL)
        seen += watch
        again = list(client.watch_run(run.run_id))
    sequences = [message.sequence for message in seen]
    assert sequences == list(range(1, len(seen) + 1))
    assert [told(message) for message in seen] == [told(message) for message in again]
    outcomes = [message.update.event_id for message in seen if isinstance(message.update, EventOutcome)]
    assert len(outcomes) == len(set(outcomes)) == len(given)
    last = seen[-1].update
    assert isinstance(last, Run)
    assert (last.state, last.progress.processed) == (RunState.SUCCEEDED, len(given))
    assert (last.progress.created, last.progress.superseded) == (SUBJECTS, len(given) - SUBJECTS)


def test_ctrl_c_detaches_and_the_run_goes_on(tmp_path: Path):
    """Without workers the run waits, so that the command does."""
    service = start_service(tmp_path, "--workers", "0")
    try:
        with Client(service.target) as client:
            client.append_events(events()[:1])
            process = subprocess.Popen(
                [*CONCORD, "consolidate", "--output", "json", "--target", service.target],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
            assert process.stdout is not None
            first = json.loads(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
            run_id = first["update"]["run_id"]
            assert process.returncode == 130
            # A message that was shown at this very moment may be shown again, but none is left out.
            shown = first["sequence"]
            assert err in {
                f"concord: detached; the run goes on (watch it with: concord runs watch {run_id} --after {after})\n"
                for after in (shown - 1, shown)
            }
            assert client.get_run(run_id).state is RunState.QUEUED
    finally:
        service.stop()

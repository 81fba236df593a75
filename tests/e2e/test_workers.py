"""Workers of their own processes: killed at any point, nothing is lost and nothing doubled."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from concord import (
    CandidateAction,
    CandidateOutcome,
    Claim,
    Client,
    EntityRef,
    EventCandidate,
    EventInput,
    EventOutcome,
    Run,
    RunState,
)
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.migrate import migrate

START = datetime(2026, 1, 1, tzinfo=UTC)
CLI = [sys.executable, "-m", "concord_server.cli"]


@pytest.fixture(scope="module")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedPostgres(tmp_path_factory.mktemp("postgres")) as server:
        migrate(server.url)
        yield server.url


@contextmanager
def started(*arguments: str, url: str, line: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Runs a command until the block ends; yields it with what follows ``line`` on its first line."""
    environment = {**os.environ, "CONCORD_DATABASE_URL": url, "CONCORD_LOG_LEVEL": "error"}
    process = subprocess.Popen([*CLI, *arguments], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith(line), first
        yield process, first.removeprefix(line).strip()
    finally:
        process.kill()
        process.wait()


def serving(url: str) -> AbstractContextManager[tuple[subprocess.Popen[str], str]]:
    return started("serve", "--listen", "127.0.0.1:0", "--workers", "0", url=url, line="listening on ")


def events(subjects: int, each: int) -> list[EventInput]:
    """Per subject, values that supersede each other day after day."""
    return [
        EventInput(
            EntityRef("User", f"u{subject}"),
            occur_time=START + timedelta(days=day),
            candidates=[
                EventCandidate(Claim(f"u{subject}", "city", f"city {day}"), action=CandidateAction.SUPERSEDE)
            ],
        )
        for day in range(each)
        for subject in range(subjects)
    ]


def timeline(client: Client) -> list[tuple[object, ...]]:
    return sorted(
        (fact.owner.entity_id, fact.claim.value, fact.valid_from, fact.valid_to, fact.status, fact.source_count)  # type: ignore[union-attr]
        for fact in client.list_facts()
    )


def test_workers_killed_at_random_lose_nothing_and_double_nothing(database_url: str) -> None:
    chance = random.Random(5)
    with ExitStack() as stack:
        _, address = stack.enter_context(serving(database_url))

        def worker() -> subprocess.Popen[str]:
            process, _ = stack.enter_context(started("work", "--lease", "1", url=database_url, line="working"))
            return process

        with Client(address, project="killed") as killed, Client(address, project="calm") as calm:
            given = events(subjects=12, each=10)
            for client in (killed, calm):
                client.append_events(given)
            workers = [worker(), worker()]
            run = killed.start_run()
            kills = 0
            while killed.get_run(run.run_id).state in {RunState.QUEUED, RunState.RUNNING} and kills < 6:
                time.sleep(chance.uniform(0.05, 0.3))
                victim = chance.randrange(len(workers))
                workers[victim].kill()
                kills += 1
                workers[victim] = worker()
            messages = list(killed.watch_run(run.run_id))
            undisturbed = list(calm.consolidate())
            outcomes = [m.update for m in messages if isinstance(m.update, EventOutcome)]
            assert kills > 0
            assert len({outcome.event_id for outcome in outcomes}) == len(outcomes) == len(given)
            assert not [o for o in outcomes if o.candidates[0].outcome is CandidateOutcome.DUPLICATE]
            assert timeline(killed) == timeline(calm)
            for told in (messages, undisturbed):
                assert isinstance(told[-1].update, Run)
                assert told[-1].update.progress.processed == len(given)


def test_a_run_is_started_and_watched_from_the_command_line(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    candidate = {"claim": {"subject": "u1", "predicate": "city", "value": "Lagos"}, "confidence": 0.9}
    event = {
        "subject": {"entity_type": "User", "entity_id": "u1"},
        "occur_time": "2026-01-05T10:00:00Z",
        "idempotency_key": "k",
        "candidates": [candidate],
    }
    file.write_text(json.dumps(event) + "\n", encoding="utf-8")
    with (
        started("serve", "--listen", "127.0.0.1:0", url=database_url, line="listening on ") as (_, address),
    ):
        there = ["--target", address, "--project", "cli"]

        def ran(*arguments: str) -> str:
            done = subprocess.run([*CLI, *arguments, *there], capture_output=True, text=True, check=True)
            return done.stdout

        assert ran("events", "append", str(file)) == "appended\t1\nknown\t0\n"
        assert ran("events", "append", str(file)) == "appended\t0\nknown\t1\n"
        assert "SUCCEEDED" in ran("consolidate")
        [run] = json.loads(ran("runs", "list", "--output", "json"))
        assert run["progress"]["created"] == 1
        told = [json.loads(line) for line in ran("runs", "watch", run["run_id"], "--output", "json").splitlines()]
        assert [message["sequence"] for message in told] == list(range(1, len(told) + 1))
        assert "DONE" in ran("events", "list")
        assert ran("events", "retry") == "requeued\t0\n"

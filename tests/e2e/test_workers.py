"""Workers of their own processes: killed at any point, nothing is lost and nothing doubled."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from concord import Client, EventState, ObservationOutcome
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.migrate import migrate

from tests.support.model_server import KEY, MODEL, ModelServer, Received, Reply, late
from tests.support.workers import (
    CLI,
    EXTRACT,
    Fleet,
    beliefs_of,
    is_open,
    kill_at_random,
    ledger_of,
    mixed_events,
    serving,
    started,
    told_of,
    trait_events,
)


@pytest.fixture(scope="module")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedPostgres(tmp_path_factory.mktemp("postgres")) as server:
        migrate(server.url)
        yield server.url


def test_workers_killed_at_random_lose_nothing_and_double_nothing(database_url: str) -> None:
    chance = random.Random(5)
    given = mixed_events(subjects=6, days=range(7))
    with ExitStack() as stack:
        _, address = stack.enter_context(serving(database_url))
        fleet = Fleet(database_url, lease=1, stack=stack)
        for _ in range(2):
            fleet.add()
        with Client(address, project="killed") as killed, Client(address, project="calm") as calm:
            ids = [appended.event_id for appended in killed.append_events(given)]
            calm.append_events(given)
            run = killed.start_run(EXTRACT)
            while is_open(killed, run) and fleet.kills < 4:
                kill_at_random(fleet, chance, longest=0.3)
            told = told_of(killed, [run], ids)
            assert fleet.kills > 0
            assert (told.outcomes, told.doubled, told.lost) == (len(given), 0, 0)
            assert list(calm.consolidate(EXTRACT))[-1].last
            assert ledger_of(killed) == ledger_of(calm)
            assert ledger_of(calm).conflicts
            assert set(ledger_of(killed).events) == {(e.idempotency_key, EventState.DONE) for e in given}


def agreeing(request: Received) -> Reply:
    """Says that all facts of a batch agree, late enough to be killed meanwhile."""
    data = json.loads(request.user.removeprefix("<data>").removesuffix("</data>"))
    facts = data["new_facts"]
    text = f"{data['about']}: {len(facts)} facts agree from {facts[0]['since']} on"
    created = {"text": text, "source_fact_ids": [fact["id"] for fact in facts], "reason": "they agree"}
    return late(json.dumps({"creates": [created], "updates": [], "merges": [], "retires": []}), 0.1)


def test_workers_killed_while_observations_are_formed_leave_all_of_a_batch_or_none(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(7)
    given = trait_events(subjects=2, traits=20)
    batches = 2 * 3
    with ExitStack() as stack:
        model = stack.enter_context(ModelServer(agreeing))
        for name, value in (("BASE_URL", model.url), ("MODEL", MODEL), ("API_KEY", KEY)):
            monkeypatch.setenv(f"CONCORD_LLM_{name}", value)
        _, address = stack.enter_context(serving(database_url))
        fleet = Fleet(database_url, lease=1, stack=stack)
        for _ in range(2):
            fleet.add()
        with Client(address, project="killed-2") as killed, Client(address, project="calm-2") as calm:
            for client in (killed, calm):
                client.append_events(given)
            run = killed.start_run()
            while not model.asked:
                time.sleep(0.02)
            while is_open(killed, run) and fleet.kills < 3:
                kill_at_random(fleet, chance, longest=0.3)
            told = [m.update for m in killed.watch_run(run.run_id) if isinstance(m.update, ObservationOutcome)]
            asked = model.asked
            assert list(calm.consolidate())[-1].last
            assert fleet.kills > 0
            assert asked >= model.asked - asked == batches
            assert len(told) == batches
            progress = killed.get_run(run.run_id).progress
            assert progress.observations_created + progress.observations_updated == batches
            assert progress.processed == len(given) * 2
            assert beliefs_of(killed) == beliefs_of(calm)
            proofs = sum(each.proof_count for each in calm.list_observations())
            assert proofs == len(given)
            assert ledger_of(killed) == ledger_of(calm)


def test_two_runs_at_once_share_the_work_of_several_workers(database_url: str) -> None:
    given = mixed_events(subjects=8, days=range(3))
    with ExitStack() as stack:
        _, address = stack.enter_context(serving(database_url))
        client = stack.enter_context(Client(address, project="shared"))
        ids = [appended.event_id for appended in client.append_events(given)]
        runs = [client.start_run(EXTRACT), client.start_run(EXTRACT)]
        fleet = Fleet(database_url, lease=5, stack=stack)
        for _ in range(2):
            fleet.add()
        told = told_of(client, runs, ids)
        assert (told.outcomes, told.doubled, told.lost) == (len(given), 0, 0)
        assert sum(client.get_run(run.run_id).progress.processed for run in runs) == len(given)
        assert all(event.attempts == 1 for event in client.list_events())


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

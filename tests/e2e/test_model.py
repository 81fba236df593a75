"""The service with a language model, as its operator runs it: facts from text, plain words without it, kept keys."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
from concord import Client, EntityRef, EventInput, RunState
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.migrate import migrate
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.support.cli import CONCORD, Ended, run_concord
from tests.support.model_server import KEY, MODEL, ModelServer, Received, rate_limited
from tests.support.service import wait_until_serving

EXTRACTION = "concord.extraction"
TEXT = "I live in Lagos and I drink green tea every morning."


@pytest.fixture(scope="module")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedPostgres(tmp_path_factory.mktemp("postgres")) as server:
        migrate(server.url)
        yield server.url


@contextmanager
def serving(database_url: str, log: Path, **settings: str) -> Iterator[str]:
    """Runs the service with everything that it says in a file; yields its address."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CONCORD_LLM_")}
    environment |= {"CONCORD_DATABASE_URL": database_url, "CONCORD_LOG_LEVEL": "debug", "OPENAI_LOG": "debug"}
    command = [*CONCORD, "serve", "--listen", "127.0.0.1:0"]
    with log.open("w") as said:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=said, text=True, env=environment | settings
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().removeprefix("listening on ").strip()
            wait_until_serving(address)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=60)


def model_at(server: ModelServer, key: str = KEY) -> dict[str, str]:
    return {"CONCORD_LLM_BASE_URL": server.url, "CONCORD_LLM_MODEL": MODEL, "CONCORD_LLM_API_KEY": key}


def health(address: str, name: str) -> str:
    with grpc.insecure_channel(address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = stub.Check(health_pb2.HealthCheckRequest(service=name))
    return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))


def tell(address: str, project: str) -> None:
    with Client(address, project=project) as client:
        event = EventInput(EntityRef("User", "u1"), text=TEXT, occur_time=datetime(2026, 1, 5, tzinfo=UTC))
        client.append_events([event])


def facts_in(request: Received) -> str:
    """What a model may say about the text."""
    assert TEXT in request.user
    facts = [
        {"predicate": "city", "value": "Lagos", "evidence": "I live in Lagos", "confidence": 0.9},
        {"predicate": "drink", "value": "green tea", "evidence": "I drink green tea", "confidence": 0.8},
        {"predicate": "pet", "value": "a cat", "evidence": "my cat", "confidence": 0.9},
    ]
    return json.dumps({"reasoning": "told by the user", "facts": facts})


def holding(database_url: str, text: str) -> list[str]:
    """Names the tables of which a row holds a text."""
    with psycopg.connect(database_url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return [
            name
            for (name,) in tables
            if connection.execute(
                f'SELECT 1 FROM "{name}" t WHERE t::text LIKE %s LIMIT 1', [f"%{text}%"]
            ).fetchone()
        ]


def test_without_a_model_everything_says_so_plainly(database_url: str, tmp_path: Path):
    log = tmp_path / "log"
    with serving(database_url, log) as address:
        assert (health(address, ""), health(address, EXTRACTION)) == ("SERVING", "NOT_SERVING")
        tell(address, "plain")
        ended = run_concord("consolidate", "--stage", "extract", "--target", address, "--project", "plain")
        assert (ended.returncode, "no model is configured" in ended.stderr) == (6, True)
        assert "CONCORD_LLM_MODEL" in ended.stderr
        with Client(address, project="plain") as client:
            [run] = client.list_runs()
            [event] = client.list_events()
        assert (run.state, run.error_reason, event.state.value) == (RunState.FAILED, "NO_MODEL", "PENDING")
    assert "CONCORD_LLM_MODEL" in log.read_text()


@dataclass(frozen=True)
class Modelled:
    """A service with a model, and the file that it writes its log to."""

    server: ModelServer
    address: str
    log: Path


@pytest.fixture(scope="module")
def modelled(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Modelled]:
    log = tmp_path_factory.mktemp("modelled") / "log"
    with ModelServer(facts_in) as server, serving(database_url, log, **model_at(server)) as address:
        yield Modelled(server, address, log)


def consolidate(address: str, project: str) -> Ended:
    return run_concord("consolidate", "--stage", "extract", "--target", address, "--project", project)


def test_a_model_takes_facts_and_what_is_not_in_the_text_is_refused(modelled: Modelled):
    assert health(modelled.address, EXTRACTION) == "SERVING"
    tell(modelled.address, "told")
    ended = consolidate(modelled.address, "told")
    assert ended.returncode == 0, ended.stderr
    with Client(modelled.address, project="told") as client:
        values = {fact.claim.value for fact in client.list_facts() if fact.claim}
        [run] = client.list_runs()
    assert values == {"Lagos", "green tea"}
    assert (run.progress.rejected, run.progress.model_calls, run.progress.input_tokens) == (1, 1, 100)


def test_a_limit_says_when_to_go_on(modelled: Modelled):
    modelled.server.script(rate_limited(3600))
    tell(modelled.address, "limited")
    ended = consolidate(modelled.address, "limited")
    assert (ended.returncode, "start another run from" in ended.stderr) == (6, True)
    with Client(modelled.address, project="limited") as client:
        [run] = client.list_runs()
        [event] = client.list_events()
    assert (run.state, run.error_reason) == (RunState.RATE_LIMITED, "RATE_LIMITED")
    assert run.retry_time is not None
    assert (event.state.value, event.attempts) == ("PENDING", 0)
    assert consolidate(modelled.address, "limited").returncode == 0


def test_the_key_is_sent_to_the_endpoint_and_is_nowhere_else(
    modelled: Modelled, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    # This server's refusal repeats the key, as some do.
    monkeypatch.setattr(modelled.server, "keys", ("another",))
    tell(modelled.address, "refused")
    ended = consolidate(modelled.address, "refused")
    assert (ended.returncode, "401" in ended.stderr) == (6, True)
    with Client(modelled.address, project="refused") as client:
        [run] = client.list_runs()
    assert (run.state, run.error_reason) == (RunState.FAILED, "MODEL_DENIED")
    assert {r.headers["authorization"] for r in modelled.server.received} == {f"Bearer {KEY}"}
    told = ended.stdout + ended.stderr + modelled.log.read_text()
    assert KEY not in told
    assert TEXT not in told
    assert "model_spend" in holding(database_url, MODEL)
    assert holding(database_url, KEY) == []


def test_bad_settings_keep_the_service_from_starting_and_show_no_key(tmp_path: Path):
    settings = {"CONCORD_LLM_API_KEY": KEY, "CONCORD_LLM_MODEL": "", "CONCORD_DATA_DIR": str(tmp_path)}
    ended = run_concord("serve", environment=settings)
    assert (ended.returncode, "CONCORD_LLM_MODEL" in ended.stderr) == (9, True)
    assert KEY not in ended.stderr + ended.stdout

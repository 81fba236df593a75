"""The scripts in examples/ run as they are."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import uuid
from pathlib import Path
from types import ModuleType

import pytest
from concord import Client

from tests.support.cli import SHARED
from tests.support.service import RunningService

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROFILES = SHARED / "data" / "memory_profiles.json"
UPDATES = SHARED / "data" / "memory_updates.jsonl"

PEOPLE = [
    {
        "user_id": user,
        "name": user.title(),
        "sessions": [
            {"session_id": 2, "expected_memories_after": [{"fact": "Moved to Leeds", "type": "location"}]},
            {
                "session_id": 1,
                "expected_memories_after": [{"fact": "Lives in London"}, {"fact": "Plays the cello"}],
            },
        ],
    }
    for user in ("ada", "ben")
]


def load(name: str) -> ModuleType:
    """Imports an example, which is a script and in no package."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def run_profiles(file: Path, service: RunningService, project: str) -> list[list[str]]:
    script = str(EXAMPLES / "reconcile_profiles.py")
    ended = subprocess.run(
        [sys.executable, script, str(file), "--target", service.target, "--project", project],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return [line.split() for line in ended.stdout.splitlines()]


def test_profiles_print_a_row_for_each_person_and_merge_when_repeated(cli_service, tmp_path):
    file = tmp_path / "people.json"
    file.write_text(json.dumps(PEOPLE))
    project = f"profiles-{uuid.uuid4()}"
    header, ada, ben, total = run_profiles(file, cli_service, project)
    assert header == ["person", "created", "merged", "branched", "conflicted", "suppressed"]
    assert (ada[0], ben[0]) == ("Ada", "Ben")
    assert ada[1:] == ben[1:]
    assert int(total[1]) + int(total[3]) == 6
    assert run_profiles(file, cli_service, project)[-1] == ["total", "0", "6", "0", "0", "0"]


@pytest.mark.skipif(not PROFILES.exists(), reason="the shared data is not here")
def test_no_fact_that_replaces_another_merges_into_it(cli_service):
    profiles = load("reconcile_profiles")
    updates = [json.loads(line) for line in UPDATES.read_text().splitlines()]
    with Client(cli_service.target, project=f"profiles-{uuid.uuid4()}") as client:
        fact_ids = {
            (person.user_id, outcome.statement.text): outcome.unwrap().fact.fact_id
            for person, outcomes in profiles.reconcile_people(client, profiles.read_people(PROFILES))
            for outcome in outcomes
        }
    merged = [
        update
        for update in updates
        if fact_ids[update["user_id"], update["old"]] == fact_ids[update["user_id"], update["new"]]
    ]
    assert len(updates) == 16
    assert merged == []

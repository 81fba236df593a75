"""What people told over several sessions, as events: each update has its newer value current, in any order."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from concord import Client, Fact, FactStatus

from tests.e2e.test_cli_examples import PROFILES, UPDATES, load
from tests.support.service import RunningService

PEOPLE = [
    {
        "user_id": "ada",
        "sessions": [
            {"session_id": 1, "expected_memories_after": [{"fact": "Lives in London", "type": "location"}]},
            {"session_id": 2, "expected_memories_after": []},
            {"session_id": 3, "expected_memories_after": [{"fact": "Plays the cello"}]},
            {"session_id": 5, "expected_memories_after": [{"fact": "Moved to Leeds", "type": "location"}]},
        ],
    }
]
CHANGES = [
    {
        "user_id": "ada",
        "old_session": 1,
        "old": "Lives in London",
        "new_session": 5,
        "new": "Moved to Leeds",
    }
]


def consolidated(
    service: RunningService, people: list[dict[str, Any]], updates: list[dict[str, Any]], seed: int | None
) -> dict[tuple[str, str], Fact]:
    """Consolidates people; returns their facts by whose they are and what they say."""
    example = load("consolidate_profiles")
    with Client(service.target, project=f"profiles-{uuid.uuid4()}") as client:
        example.consolidate(client, people, updates, seed)
        found = list(client.list_facts())
        assert client.list_conflicts_page().open_count == 0
    assert all(fact.owner is not None for fact in found)
    by_text = {(fact.owner.entity_id, fact.text): fact for fact in found if fact.owner}
    told = [memory for person in people for s in person["sessions"] for memory in s["expected_memories_after"]]
    assert len(found) == len(told)
    return by_text


def check_updates(facts: dict[tuple[str, str], Fact], updates: list[dict[str, Any]]) -> None:
    example = load("consolidate_profiles")
    for update in updates:
        old, new = (facts[update["user_id"], update[which]] for which in ("old", "new"))
        begun, changed = (
            example.START + example.timedelta(days=update[f"{which}_session"] - 1) for which in ("old", "new")
        )
        assert (old.status, old.valid_from, old.valid_to) == (FactStatus.SUPERSEDED, begun, changed)
        assert (new.status, new.valid_from, new.valid_to) == (FactStatus.ACTIVE, changed, None)


@pytest.mark.parametrize("seed", [None, 1, 2], ids=["in order", "shuffled", "shuffled otherwise"])
def test_an_update_has_its_newer_value_current(cli_service: RunningService, seed: int | None):
    facts = consolidated(cli_service, PEOPLE, CHANGES, seed)
    check_updates(facts, CHANGES)
    assert facts["ada", "Plays the cello"].status is FactStatus.ACTIVE


@pytest.mark.skipif(not PROFILES.exists(), reason="the shared data is not here")
@pytest.mark.parametrize("seed", [None, 5], ids=["in order", "shuffled"])
def test_each_of_the_real_updates_has_its_newer_value_current(cli_service: RunningService, seed: int | None):
    updates = [json.loads(line) for line in UPDATES.read_text(encoding="utf-8").splitlines()]
    facts = consolidated(cli_service, json.loads(PROFILES.read_text(encoding="utf-8")), updates, seed)
    assert len(updates) == 16
    check_updates(facts, updates)
    replaced = {(update["user_id"], update["old"]) for update in updates}
    assert {name for name, fact in facts.items() if fact.status is not FactStatus.ACTIVE} == replaced

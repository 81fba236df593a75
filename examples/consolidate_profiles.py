"""Turns what people told over several sessions into events with candidates, and consolidates them.

    python examples/consolidate_profiles.py profiles.json updates.jsonl [--shuffle SEED]

``profiles.json`` is a JSON list of people as ``reconcile_profiles.py`` reads it. ``updates.jsonl`` names, one per line,
which memory replaces which (``user_id``, ``old_session``, ``old``, ``new_session``, ``new``).

The mapping: each session of a person that leaves memories is one event. Each memory of it is a candidate whose
predicate is the memory's type with a number of its own, so that memories stand beside each other; one that replaces
another takes over its predicate, and supersedes it. Each session is a day after the one before. The order of arrival
changes nothing about the result.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from concord import CandidateAction, Claim, Client, EntityRef, EventCandidate, EventInput

START = datetime(2025, 1, 1, 9, tzinfo=UTC)
"""When the first session took place; the others follow, a day apart."""

Update = dict[str, Any]


def read_updates(path: Path) -> list[Update]:
    """Reads which memory replaces which."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def events_of(person: dict[str, Any], updates: Sequence[Update]) -> list[EventInput]:
    """Returns one event per session of a person."""
    own = [update for update in updates if update["user_id"] == person["user_id"]]
    replaces = {(u["new_session"], u["new"]): (u["old_session"], u["old"]) for u in own}
    predicates: dict[tuple[int, str], str] = {}
    events = []
    for session in sorted(person["sessions"], key=lambda session: int(session["session_id"])):
        number = session["session_id"]
        candidates = []
        for position, memory in enumerate(session["expected_memories_after"]):
            key = (number, memory["fact"])
            old = replaces.get(key)
            predicate = predicates.get(old) if old else None
            predicates[key] = predicate or f"{memory.get('type', 'memory')}_{number}_{position}"
            candidates.append(
                EventCandidate(
                    Claim(person["user_id"], predicates[key], memory["fact"]),
                    text=memory["fact"],
                    action=CandidateAction.SUPERSEDE if old else CandidateAction.UNSPECIFIED,
                )
            )
        if not candidates:
            continue
        events.append(
            EventInput(
                EntityRef("Person", person["user_id"]),
                kind="chat.session",
                domain="profile",
                occur_time=START + timedelta(days=number - 1),
                idempotency_key=f"{person['user_id']}:{number}",
                candidates=candidates,
            )
        )
    return events


def consolidate(
    client: Client, people: Sequence[dict[str, Any]], updates: Sequence[Update], seed: int | None
) -> str:
    """Appends and consolidates every event, each by itself in shuffled order where a seed is given.

    Returns one line that says what became of them.
    """
    events = [event for person in people for event in events_of(person, updates)]
    if seed is None:
        _, run = client.append_and_wait(events)
        return f"{run.state}: {run.progress.created} created, {run.progress.superseded} superseded"
    random.Random(seed).shuffle(events)
    for event in events:
        client.append_and_wait([event])
    return f"{len(events)} events, one run each"


def main() -> None:
    """Consolidates the profiles of a file and prints what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profiles", type=Path)
    parser.add_argument("updates", type=Path)
    parser.add_argument("--shuffle", type=int, metavar="SEED")
    parser.add_argument("--target", default="127.0.0.1:50051")
    parser.add_argument("--project", default="")
    given = parser.parse_args()
    people = json.loads(given.profiles.read_text(encoding="utf-8"))
    with Client(given.target, project=given.project) as client:
        print(consolidate(client, people, read_updates(given.updates), given.shuffle))


if __name__ == "__main__":
    main()

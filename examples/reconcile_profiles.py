"""Reconciles what people told over several sessions, each person's facts apart, the sessions in order.

    python examples/reconcile_profiles.py profiles.json

The file is a JSON list of people::

    [{"user_id": "ada_01", "name": "Ada", "sessions": [
        {"session_id": 1, "expected_memories_after": [{"fact": "Lives in London", "type": "location"}]}]}]

"Lives in London" does not say whom it means, so every fact is owned by its person: facts of other owners are never
compared with it. Sessions have no dates here; each is given a day, because the time of a statement decides what
replaces what. The same file therefore always makes the same statements, and a second run merges them all.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from concord import Client, EntityRef, ReconcileAction, ReconcileOutcome, SourceInput, Statement

START = datetime(2025, 1, 1, 9, tzinfo=UTC)
"""When the first session took place; the others follow, a day apart."""

ACTIONS = tuple(action for action in ReconcileAction if action is not ReconcileAction.UNSPECIFIED)


@dataclass(frozen=True)
class Person:
    """A person and what they told, in order."""

    user_id: str
    name: str
    statements: tuple[Statement, ...]


def read_people(path: Path, start: datetime = START) -> list[Person]:
    """Reads people and makes their statements.

    Raises:
        KeyError: a person, session or fact lacks a key.
        json.JSONDecodeError: the file is not JSON.
    """
    return [
        Person(given["user_id"], given["name"], tuple(_statements(given, start)))
        for given in json.loads(path.read_text(encoding="utf-8"))
    ]


def _statements(person: dict[str, Any], start: datetime) -> Iterator[Statement]:
    for session in sorted(person["sessions"], key=lambda session: int(session["session_id"])):
        number = session["session_id"]
        began = start + timedelta(days=number - 1)
        source = SourceInput(
            source_type="conversation",
            title=f"{person['name']}, session {number}",
            external_id=f"{person['user_id']}:{number}",
        )
        for position, memory in enumerate(session["expected_memories_after"]):
            yield Statement(
                memory["fact"],
                domain="profile",
                owner=EntityRef("Person", person["user_id"]),
                source=source,
                tags=[memory["type"]] if "type" in memory else [],
                observe_time=began + timedelta(seconds=position),
            )


def reconcile_people(client: Client, people: Sequence[Person]) -> Iterator[tuple[Person, list[ReconcileOutcome]]]:
    """Reconciles the statements of each person, and yields what became of them."""
    for person in people:
        yield person, list(client.reconcile_many(person.statements))


def main() -> None:
    """Reads the arguments, reconciles, and prints a table."""
    parser = argparse.ArgumentParser(description="Reconcile what people told, session by session.")
    parser.add_argument("file", type=Path, help="JSON list of people")
    parser.add_argument("--target", default="127.0.0.1:50051", help="the service (default: %(default)s)")
    parser.add_argument("--project", default="", help="project to write to")
    arguments = parser.parse_args()

    people = read_people(arguments.file)
    total: Counter[ReconcileAction] = Counter()
    print(f"{'person':<20}" + "".join(f"{action.value.lower():>12}" for action in ACTIONS))
    with Client(arguments.target, project=arguments.project) as client:
        for person, outcomes in reconcile_people(client, people):
            counts = Counter(outcome.unwrap().action for outcome in outcomes)
            total += counts
            print(_row(person.name, counts), flush=True)
    print(_row("total", total))


def _row(name: str, counts: Counter[ReconcileAction]) -> str:
    return f"{name:<20}" + "".join(f"{counts[action]:>12}" for action in ACTIONS)


if __name__ == "__main__":
    main()

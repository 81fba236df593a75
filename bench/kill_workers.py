"""Kills workers at random for a while, and compares what is left with an undisturbed run of the same events.

    python -m bench.kill_workers [--seconds 60] [--workers 3] [--lease 1] [--seed 5] [--json FILE]

A fresh embedded PostgreSQL, one serving process and so many ``concord work`` processes. Events of 20 subjects arrive
and are consolidated all the while; some supersede, some contradict, some are of little trust, each is about two
matters. Every worker is ended by SIGKILL in random moments and replaced. Then the same events are consolidated in
another project by workers that nobody disturbs. Facts, intervals, statuses, source counts, conflicts and states of
events must be the same. The exit code is 1 when they are not, or when an event was lost or done twice.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from concord import Client, Run
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.migrate import migrate

from tests.support.workers import (
    EXTRACT,
    Fleet,
    Ledger,
    Told,
    is_open,
    kill_at_random,
    ledger_of,
    mixed_events,
    serving,
    told_of,
)

SUBJECTS = 20
DAYS_AT_ONCE = 5
LONGEST_PAUSE = 0.5


@dataclass(frozen=True)
class Figures:
    """What was seen.

    Attributes:
        taken_up_again: events that were in the hands of a worker that was killed.
        doubled: events done twice.
        lost: events of which nothing was told.
        differences: facts, conflicts and event states that only one of both projects has.
    """

    seconds: float
    kills: int
    events: int
    taken_up_again: int
    doubled: int
    lost: int
    facts: int
    conflicts: int
    differences: int


def disturbed(client: Client, fleet: Fleet, seconds: float, chance: random.Random) -> tuple[int, Told]:
    """Consolidates events while workers are killed; returns how many days of events, and what was told of them."""
    runs: list[Run] = []
    ids: list[str] = []
    days = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not runs or not is_open(client, runs[-1]):
            batch = mixed_events(SUBJECTS, range(days, days + DAYS_AT_ONCE))
            ids += [appended.event_id for appended in client.append_events(batch)]
            runs.append(client.start_run(EXTRACT))
            days += DAYS_AT_ONCE
        kill_at_random(fleet, chance, LONGEST_PAUSE)
        print(f"\r{fleet.kills} kills, {len(ids)} events", end="", file=sys.stderr)
    print(file=sys.stderr)
    return days, told_of(client, runs, ids)


def compared(one: Ledger, other: Ledger) -> int:
    """Returns how much only one of two ledgers has."""

    def apart(a: Counter[object], b: Counter[object]) -> int:
        return (a - b).total() + (b - a).total()

    return sum(apart(getattr(one, name), getattr(other, name)) for name in ("facts", "conflicts", "events"))


def measure(url: str, seconds: float, workers: int, lease: float, seed: int) -> Figures:
    """Runs both projects on a database and compares them."""
    with ExitStack() as stack:
        _, address = stack.enter_context(serving(url))
        fleet = Fleet(url, lease, stack)
        for _ in range(workers):
            fleet.add()
        killed = stack.enter_context(Client(address, project="killed"))
        calm = stack.enter_context(Client(address, project="calm"))
        begun = time.monotonic()
        days, told = disturbed(killed, fleet, seconds, random.Random(seed))
        taken = time.monotonic() - begun
        for first in range(0, days, DAYS_AT_ONCE):
            calm.append_events(mixed_events(SUBJECTS, range(first, first + DAYS_AT_ONCE)))
            list(calm.consolidate(EXTRACT))
        left, undisturbed = ledger_of(killed), ledger_of(calm)
        return Figures(
            seconds=round(taken, 1),
            kills=fleet.kills,
            events=days * SUBJECTS,
            taken_up_again=sum(event.attempts > 1 for event in killed.list_events()),
            doubled=told.doubled,
            lost=told.lost,
            facts=undisturbed.facts.total(),
            conflicts=undisturbed.conflicts.total(),
            differences=compared(left, undisturbed),
        )


def main() -> None:
    """Measures, prints the counts, and writes JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--lease", type=float, default=1, help="seconds until what a dead worker had is taken up")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="concord-bench-") as directory,
        EmbeddedPostgres(Path(directory)) as server,
    ):
        migrate(server.url)
        figures = measure(server.url, given.seconds, given.workers, given.lease, given.seed)
    for name, value in asdict(figures).items():
        print(f"{name.replace('_', ' '):<16}{value:>10}")
    if given.json:
        given.json.write_text(json.dumps(asdict(figures), indent=2) + "\n", encoding="utf-8")
    if figures.doubled or figures.lost or figures.differences:
        sys.exit(1)


if __name__ == "__main__":
    main()

"""Measures consolidation beside the bare inserts of the same rows, and how soon a killed worker is replaced.

    python -m bench.consolidate [--events 500] [--rounds 20] [--lease 15] [--json FILE]

A fresh embedded PostgreSQL, one service with its worker, events of one candidate each: of one subject, then of 1,000.
Each candidate is about something new, so that every event makes one fact. The bare rate is that of inserting the very
rows that one event had left (fact, version, vector, link, source, assertion, evidence, slot, change, outcome, message)
and changing its event, in one transaction per event, over as many connections as the worker has subjects in hand: what
the database alone would do. The recovery time is that from SIGKILL of a worker that has a subject in hand to the next
event of that subject, done by another one. Absolute figures are those of the machine; ratios hold better.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
from concord import (
    CandidateAction,
    Claim,
    Client,
    EntityRef,
    EventCandidate,
    EventInput,
    EventState,
    Run,
    RunMessage,
)
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.migrate import migrate

from bench.reconcile import percentiles
from tests.support.workers import EXTRACT, START, Fleet, serving

CONNECTIONS = 4
BATCH = 500
SUBJECTS = (1, 1000)
WARM_UP = 20

OF_ONE_EVENT = {
    "partitions": "partition_id IN (SELECT partition_id FROM facts WHERE project_id = %(of)s AND fact_id = %(fact)s)",
    "slots": "slot_id IN (SELECT slot_id FROM facts WHERE project_id = %(of)s AND fact_id = %(fact)s)",
    "facts": "fact_id = %(fact)s",
    "fact_versions": "fact_id = %(fact)s",
    "fact_search": "fact_id = %(fact)s",
    "fact_subjects": "fact_id = %(fact)s",
    "sources": "fact_id = %(fact)s",
    "evidence": "fact_id = %(fact)s",
    "slot_assertions": "fact_id = %(fact)s",
    "change_log": "fact_id = %(fact)s",
    "event_candidates": "event_id = %(event)s",
}
"""Where the rows are that one event leaves behind."""


def events(count: int, subjects: int, name: str) -> list[EventInput]:
    """Returns events about ``count`` matters, one candidate each."""
    return [
        EventInput(
            EntityRef("User", f"{name}-{number % subjects}"),
            occur_time=START,
            idempotency_key=f"{name}-{number}",
            candidates=[
                EventCandidate(
                    Claim(f"{name} item {number}", "colour", f"shade {number}"), action=CandidateAction.SUPERSEDE
                )
            ],
        )
        for number in range(count)
    ]


def append(client: Client, given: Sequence[EventInput]) -> float:
    """Appends events; returns the seconds that it took."""
    begun = time.perf_counter()
    for first in range(0, len(given), BATCH):
        client.append_events(given[first : first + BATCH])
    return time.perf_counter() - begun


def consolidated(messages: Sequence[RunMessage]) -> Run:
    """Returns a run as it ended."""
    run = messages[-1].update
    assert isinstance(run, Run)
    return run


def rate(client: Client, count: int, subjects: int) -> dict[str, float]:
    """Measures a run over events of so many subjects."""
    given = events(count, subjects, f"s{subjects}")
    appending = append(client, given)
    begun = time.perf_counter()
    run = consolidated(list(client.consolidate(EXTRACT)))
    taken = time.perf_counter() - begun
    assert run.progress.created == count, run.progress
    return {"appended_per_second": round(count / appending, 1), "per_second": round(count / taken, 1)}


def delays(client: Client, rounds: int) -> list[float]:
    """Measures from before an event is appended until its run has told the fact."""
    taken = []
    for event in events(rounds, rounds, "alone"):
        begun = time.perf_counter()
        client.append_and_wait([event])
        taken.append(time.perf_counter() - begun)
    return taken


class Bare:
    """Inserts again, as rows of another project, what the events of a project had left."""

    def __init__(self, url: str, project: str) -> None:
        self._url, self._of, self._into = url, project, f"bare-{project}"
        self._copies: list[str] = []

    async def rate(self) -> float:
        """Returns events per second."""
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
            await self._prepare(connection)
            found = await connection.execute(
                "SELECT event_id, fact_id FROM event_candidates WHERE project_id = %s AND fact_id IS NOT NULL",
                [self._of],
            )
            waiting = await found.fetchall()
        count = len(waiting)
        begun = time.perf_counter()
        await asyncio.gather(*(self._insert(waiting) for _ in range(CONNECTIONS)))
        return round(count / (time.perf_counter() - begun), 1)

    async def _prepare(self, connection: psycopg.AsyncConnection[Any]) -> None:
        names = {"of": self._of, "into": self._into}
        await connection.execute(
            "INSERT INTO projects SELECT (jsonb_populate_record(p, jsonb_build_object('project_id', %(into)s::text))).*"
            " FROM projects p WHERE project_id = %(of)s",
            names,
        )
        for table in ("predicates", "events"):
            await connection.execute((await self._copy(connection, table, "true")).encode(), names)
        for table, where in OF_ONE_EVENT.items():
            copy = await self._copy(connection, table, where)
            self._copies.append(f"{copy} ON CONFLICT DO NOTHING" if table == "partitions" else copy)

    async def _copy(self, connection: psycopg.AsyncConnection[Any], table: str, where: str) -> str:
        columns = await connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
            " AND attgenerated = ''",
            [table],
        )
        names = [f'"{name}"' for (name,) in await columns.fetchall()]
        values = ["%(into)s" if name == '"project_id"' else name for name in names]
        return (
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM {table}"
            f" WHERE project_id = %(of)s AND {where}"
        )

    async def _insert(self, waiting: list[tuple[Any, ...]]) -> None:
        changed = "UPDATE events SET update_time = now() WHERE project_id = %(into)s AND event_id = %(event)s"
        async with await psycopg.AsyncConnection.connect(self._url) as connection:
            while waiting:
                event_id, fact_id = waiting.pop()
                parameters = {"of": self._of, "into": self._into, "event": event_id, "fact": fact_id}
                for statement in (*self._copies, changed):
                    await connection.execute(statement.encode(), parameters)
                await connection.commit()


def recovery(url: str, client: Client, lease: float) -> float:
    """Returns the seconds from the kill of the worker of a subject until another has done the next of its events."""
    append(client, events(2000, 1, "recovered"))
    with ExitStack() as stack:
        fleet = Fleet(url, lease, stack)
        run = client.start_run(EXTRACT)
        fleet.add()
        while client.get_run(run.run_id).progress.processed < WARM_UP:
            time.sleep(0.05)
        first = fleet.processes[0]
        fleet.add()  # the other one waits, for the subject is taken
        [worked] = client.list_events_page(states=[EventState.RUNNING]).items
        first.kill()
        first.wait()
        begun = time.monotonic()
        before = client.get_run(run.run_id).progress.processed
        while client.get_run(run.run_id).progress.processed == before:
            time.sleep(0.05)
        taken = time.monotonic() - begun
        client.cancel_run(run.run_id)
        assert worked.subject == EntityRef("User", "recovered-0")
    return round(taken, 2)


def measure(url: str, count: int, rounds: int, lease: float) -> dict[str, Any]:
    """Measures everything on one database."""
    results: dict[str, Any] = {}
    with ExitStack() as stack:
        _, address = stack.enter_context(serving(url, workers=1))
        for subjects in SUBJECTS:
            client = stack.enter_context(Client(address, project=f"of-{subjects}"))
            append(client, events(WARM_UP, WARM_UP, "warm"))
            list(client.consolidate(EXTRACT))
            measured = rate(client, count, subjects)
            bare = asyncio.run(Bare(url, f"of-{subjects}").rate())
            ratio = round(measured["per_second"] / bare, 3)
            results[f"{subjects} subjects"] = {**measured, "bare_per_second": bare, "ratio": ratio}
        alone = stack.enter_context(Client(address, project="alone"))
        delays(alone, 3)
        taken = delays(alone, rounds)
        results["append to fact"] = {**percentiles(taken), "mean_ms": round(statistics.mean(taken) * 1000, 2)}
    with serving(url) as (_, address), Client(address, project="recovery") as client:
        results["recovery"] = {"lease_seconds": lease, "seconds": recovery(url, client, lease)}
    return results


def main() -> None:
    """Measures, prints a table, and writes JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--lease", type=float, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="concord-bench-") as directory,
        EmbeddedPostgres(Path(directory)) as server,
    ):
        migrate(server.url)
        results = measure(server.url, given.events, given.rounds, given.lease)
    for name, figures in results.items():
        print(f"{name:<16}" + "  ".join(f"{key.replace('_', ' ')} {value}" for key, value in figures.items()))
    if given.json:
        given.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

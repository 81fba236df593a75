"""Workers in processes of their own, killed at random, and what is left of what they were doing."""

from __future__ import annotations

import os
import random
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from concord import (
    CandidateAction,
    CandidateOutcome,
    Claim,
    Client,
    EntityRef,
    EventCandidate,
    EventInput,
    EventOutcome,
    EventState,
    Fact,
    Observation,
    ObservationState,
    Run,
    RunScope,
    RunStage,
    RunState,
    Trust,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
CLI = [sys.executable, "-m", "concord_server.cli"]
UNFINISHED = frozenset({RunState.QUEUED, RunState.RUNNING})
EXTRACT = RunScope(stages=(RunStage.EXTRACT,))
CITIES = ("Lagos", "Oslo", "Porto", "Quito")


@contextmanager
def launched(*arguments: str, url: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a command until the block ends."""
    environment = {**os.environ, "CONCORD_DATABASE_URL": url, "CONCORD_LOG_LEVEL": "error"}
    process = subprocess.Popen([*CLI, *arguments], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def started(*arguments: str, url: str, line: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Runs a command until the block ends; yields it with what follows ``line`` on its first line."""
    with launched(*arguments, url=url) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith(line), first
        yield process, first.removeprefix(line).strip()


def serving(url: str, workers: int = 0) -> AbstractContextManager[tuple[subprocess.Popen[str], str]]:
    """Runs a service with so many workers of its own; yields it with its address."""
    return started("serve", "--listen", "127.0.0.1:0", "--workers", str(workers), url=url, line="listening on ")


def mixed_events(subjects: int, days: Sequence[int], seed: int = 0) -> list[EventInput]:
    """One event for every subject and day: some supersede, some contradict, some are of little trust, some repeat.

    What becomes of them depends on their times alone, not on who works them when.
    """
    events = []
    for day in days:
        for subject in range(subjects):
            chance = random.Random(f"{seed}:{day}:{subject}")
            claim = Claim(f"u{subject}", "city", chance.choice(CITIES))
            action = chance.choice([CandidateAction.SUPERSEDE, CandidateAction.SUPERSEDE, CandidateAction.CREATE])
            again = EventCandidate(Claim(f"u{subject}", "visits", day // 3), action=CandidateAction.SUPERSEDE)
            events.append(
                EventInput(
                    EntityRef("User", f"u{subject}"),
                    occur_time=START + timedelta(days=day, minutes=subject),
                    trust=chance.choice([Trust.TRUSTED, Trust.TRUSTED, Trust.THIRD_PARTY]),
                    idempotency_key=f"{day}:{subject}",
                    candidates=[EventCandidate(claim, action=action), again],
                )
            )
    return events


@dataclass(frozen=True)
class Ledger:
    """What is left in a project, in terms that are equal for equal histories: no ids, no recorded times."""

    facts: Counter[tuple[object, ...]]
    conflicts: Counter[tuple[tuple[object, ...], ...]]
    events: Counter[tuple[str, EventState]]


def ledger_of(client: Client) -> Ledger:
    """Reads a project."""
    return Ledger(
        Counter(_said(fact) for fact in client.list_facts()),
        Counter(tuple(sorted(map(_said, conflict.facts), key=str)) for conflict in client.list_conflicts()),
        Counter((event.idempotency_key, event.state) for event in client.list_events()),
    )


def _said(fact: Fact) -> tuple[object, ...]:
    assert fact.owner is not None
    assert fact.claim is not None
    said = (fact.owner.entity_id, fact.claim.predicate, str(fact.claim.value))
    counted = (fact.status, fact.source_count, fact.reinforcement_count, fact.trust, fact.conflict_id != "")
    return (*said, fact.valid_from, fact.valid_to, *counted)


def trait_events(subjects: int, traits: int) -> list[EventInput]:
    """Events by which each of so many subjects has so many facts, all of one group."""
    return [
        EventInput(
            EntityRef("User", f"u{subject}"),
            occur_time=START + timedelta(hours=trait),
            idempotency_key=f"{trait}:{subject}",
            candidates=[EventCandidate(Claim(f"u{subject}", f"trait {trait}", f"value {trait}"))],
        )
        for trait in range(traits)
        for subject in range(subjects)
    ]


def beliefs_of(client: Client) -> Counter[tuple[object, ...]]:
    """Reads the observations of a project, in terms that are equal for equal histories."""
    texts = {fact.fact_id: fact.text for fact in client.list_facts()}
    return Counter(
        (each.owner, each.text, each.version, each.first_time, each.last_time, *_texts(each, texts))
        for each in client.list_observations(states=list(ObservationState)[1:])
    )


def _texts(observation: Observation, texts: Mapping[str, str]) -> list[str]:
    return sorted(texts[fact_id] for fact_id in observation.source_fact_ids)


@dataclass
class Fleet:
    """Workers of one database, each killed and replaced when it is told to be."""

    url: str
    lease: float
    stack: ExitStack
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    starting: set[int] = field(default_factory=set)
    kills: int = 0

    def add(self) -> None:
        """Starts a worker, and returns once it works."""
        process, _ = self.stack.enter_context(
            started("work", "--lease", str(self.lease), url=self.url, line="working")
        )
        self.processes.append(process)

    def kill(self, number: int) -> None:
        """Ends a worker with no chance to say so, and starts another in its place."""
        self.processes[number].kill()
        self.processes[number].wait()
        self.kills += 1
        waiting = launched("work", "--lease", str(self.lease), url=self.url)
        self.processes[number] = self.stack.enter_context(waiting)
        self.starting.add(number)

    def at_work(self) -> list[int]:
        """Returns the numbers of the workers that work by now."""
        for number in list(self.starting):
            output = self.processes[number].stdout
            assert output is not None
            if select.select([output], [], [], 0)[0]:
                assert output.readline().startswith("working")
                self.starting.remove(number)
        return [number for number in range(len(self.processes)) if number not in self.starting]


@dataclass(frozen=True)
class Told:
    """What runs told of their events.

    Attributes:
        doubled: events of which more than one outcome was told, or a candidate that was applied twice.
        lost: events of which none was.
    """

    outcomes: int
    doubled: int
    lost: int


def told_of(client: Client, runs: Sequence[Run], event_ids: Sequence[str]) -> Told:
    """Reads what runs told, from their beginning."""
    outcomes = [
        message.update
        for run in runs
        for message in client.watch_run(run.run_id)
        if isinstance(message.update, EventOutcome)
    ]
    times = Counter(outcome.event_id for outcome in outcomes)
    twice = {event_id for event_id, count in times.items() if count > 1}
    twice |= {
        outcome.event_id
        for outcome in outcomes
        if any(one.outcome is CandidateOutcome.DUPLICATE for one in outcome.candidates)
    }
    return Told(len(outcomes), len(twice), len(set(event_ids) - set(times)))


def is_open(client: Client, run: Run) -> bool:
    """Whether a run still has something before it."""
    return client.get_run(run.run_id).state in UNFINISHED


def kill_at_random(fleet: Fleet, chance: random.Random, longest: float) -> None:
    """Waits for up to so many seconds, and kills one of the workers that work by then, if there is one."""
    time.sleep(chance.uniform(0.05, longest))
    working = fleet.at_work()
    if working:
        fleet.kill(chance.choice(working))

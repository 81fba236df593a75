"""For every pair of times, what is read as of one and as known at the other equals a replay of the log until then."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from concord_server.domain.enums import FactStatus
from concord_server.domain.errors import ConcordError
from concord_server.domain.model import Fact
from concord_server.storage.sessions import PostgresLedger
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.integration.evolution.conftest import World, day, scheduling

START = day(15)
"""When the first thing is done: some statements are about the time before, some about the time after."""

DAYS = st.integers(min_value=0, max_value=30)
VALUES = st.sampled_from(["Lagos", "Rome", {"city": "Oslo"}, {"floor": 3}])
SOURCES = st.sampled_from(["https://a.example", "https://b.example", None])
STATUSES = st.sampled_from([s for s in FactStatus if s not in {FactStatus.PENDING, FactStatus.DELETED}])


@dataclass(frozen=True)
class Say:
    """A statement; about the future it is a schedule."""

    value: Any
    since: int
    source: str | None


@dataclass(frozen=True)
class Move:
    """A status given by hand to the fact of that number, counted in the order of creation."""

    number: int
    status: FactStatus


@dataclass(frozen=True)
class Bound:
    """A bound given by hand."""

    number: int
    name: str
    at: int


@dataclass(frozen=True)
class Withdraw:
    """A source taken back."""

    source: str


@dataclass(frozen=True)
class Wait:
    """Days go by, and the scheduler runs."""

    days: int


Step = Say | Move | Bound | Withdraw | Wait
NUMBERS = st.integers(min_value=0, max_value=4)
SAYING = st.builds(Say, VALUES, DAYS, SOURCES)
STEPS = st.lists(
    st.one_of(
        SAYING,
        SAYING,
        st.builds(Move, NUMBERS, STATUSES),
        st.builds(Bound, NUMBERS, st.sampled_from(["valid_from", "valid_to"]), DAYS),
        st.builds(Withdraw, st.sampled_from(["https://a.example", "https://b.example"])),
        st.builds(Wait, st.integers(min_value=1, max_value=9)),
    ),
    min_size=3,
    max_size=6,
)

View = tuple[str, FactStatus, datetime, datetime | None]


async def play(world: World, steps: Sequence[Step]) -> list[datetime]:
    """Does the steps, a minute apart, and returns a moment after each; what is refused changes nothing."""
    world.clock.time = START
    moments = []
    for step in steps:
        world.clock.time += timedelta(minutes=1)
        begun = world.clock.time
        with suppress(ConcordError):
            await take(world, step)
        waited = timedelta(days=step.days) if isinstance(step, Wait) else timedelta()
        world.clock.time = begun + waited + timedelta(seconds=30)
        moments.append(world.clock.time)
    return moments


async def take(world: World, step: Step) -> None:
    match step:
        case Say(value, since, source):
            if day(since) > world.clock.time:
                await world.claim(value, 0, source=source, valid_from=day(since))
            else:
                await world.claim(value, since, source=source)
        case Move(number, status):
            await world.move(await numbered(world, number), status)
        case Bound(number, name, at):
            bound: dict[str, Any] = {name: day(at)}
            await world.update(await numbered(world, number), **bound)
        case Withdraw(source):
            await world.withdraw(source)
        case Wait(days):
            world.clock.time += timedelta(days=days)
            await scheduling(world).execute()


async def numbered(world: World, number: int) -> Fact:
    facts = sorted(await world.facts(), key=lambda fact: (fact.create_time, fact.fact_id))
    return facts[number % len(facts)] if facts else (await world.say("nothing yet")).fact


def seen(facts: Sequence[Fact]) -> list[View]:
    """What facts say, apart from their ids and the time at which they were recorded."""
    views = [(str(f.claim.value) if f.claim else f.text, f.status, f.valid_from, f.valid_to) for f in facts]
    return sorted(views, key=str)


def held(facts: Sequence[Fact], moment: datetime) -> list[Fact]:
    """The facts that held at a moment, by the words of the semantics."""
    return [fact for fact in facts if fact.holds_at(moment) and _is_on_timeline(fact)]


def _is_on_timeline(fact: Fact) -> bool:
    if fact.status is FactStatus.DISPUTED:
        return not fact.off_timeline
    if fact.status is FactStatus.PENDING:
        return fact.conflict_id is None
    return fact.status in {FactStatus.ACTIVE, FactStatus.SUPERSEDED}


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
async def test_every_pair_of_times_reads_as_the_log_replayed_until_then(
    ledger: PostgresLedger, engine: AsyncEngine, steps: list[Step]
):
    def somewhere() -> World:
        return World(ledger, engine, f"replay-{uuid.uuid4()}")

    world = somewhere()
    moments = await play(world, steps)
    days = {step.since for step in steps if isinstance(step, Say)} | {15}
    times = sorted(day(number + half) for number in days for half in (-0.5, 0, 0.5))
    for done, known_at in enumerate(moments, start=1):
        again = somewhere()
        await play(again, steps[:done])
        replayed = await again.facts()
        assert seen(await world.facts(known_at=known_at)) == seen(replayed)
        for as_of in times:
            read = await world.facts(as_of=as_of, known_at=known_at, predicate="city")
            assert seen(read) == seen([f for f in held(replayed, as_of) if f.claim])
            assert len(read) <= 1, "intervals of a slot overlap"
            assert all(f.valid_to is None or f.valid_from < f.valid_to for f in read), "an interval is inverted"
        assert seen(await world.facts(as_of=known_at, known_at=known_at)) == seen(held(replayed, known_at))
    assert seen(await world.facts()) == seen(replayed)

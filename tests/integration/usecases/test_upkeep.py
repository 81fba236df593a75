"""What has been kept for long enough is removed in small steps, and nothing else is."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest
from concord_server.domain.errors import SequenceNotKeptError
from concord_server.domain.watching import WatchFilter
from concord_server.ports.upkeep import Expiry
from concord_server.services import upkeep as upkeep_module
from concord_server.services.context import CallContext
from concord_server.services.signals import ChangeSignals
from concord_server.services.upkeep import REQUESTS_KEPT, Removed, Upkeep
from concord_server.services.watch import WatchFacts
from concord_server.storage.sessions import PostgresLedger

from tests.integration.usecases.conftest import FakeClock
from tests.support.facts import a_fact, save

HOUR = timedelta(hours=1)
MONTH = timedelta(days=30)


class OwnAgenda:
    """The agenda of one project: what other tests have left is nobody's business here."""

    def __init__(self, ledger: PostgresLedger, project: str) -> None:
        self._agenda = ledger.upkeep_agenda
        self._project = project

    async def overdue_project(self, expiry: Expiry, *, after: str) -> str | None:
        found = await self._agenda.overdue_project(expiry, after=max(after, self._project[:-1]))
        return found if found == self._project else None


class House:
    """One project with things to keep, and its upkeep."""

    def __init__(self, ledger: PostgresLedger, project: str) -> None:
        self.ledger, self.project = ledger, project
        self.clock = FakeClock()
        self.agenda = OwnAgenda(ledger, project)

    def upkeep(self, changes_kept: timedelta | None = MONTH) -> Upkeep:
        return Upkeep(self.ledger, self.agenda, self.clock, changes_kept)

    async def answer(self, age: timedelta) -> UUID:
        """Keeps an answer that was given so long ago."""
        request_id = uuid4()
        async with self.ledger.write(self.project) as session:
            await session.requests.claim(request_id, "method", "print", self.clock.time - age)
            await session.requests.complete(request_id, b"answer", [])
        return request_id

    async def change(self, age: timedelta) -> None:
        """Records a change so long ago."""
        async with self.ledger.write(self.project) as session:
            await save(session, a_fact(fact_id=uuid4(), create_time=self.clock.time - age))

    async def knows(self, request_id: UUID) -> bool:
        async with self.ledger.read(self.project) as session:
            return await session.requests.find(request_id) is not None

    async def bounds(self) -> tuple[int, int]:
        """The last sequence that was pruned, and the last one."""
        async with self.ledger.read(self.project) as session:
            bounds = await session.change_log.bounds()
        return bounds.pruned, bounds.last


@pytest.fixture
def house(ledger: PostgresLedger, project: str) -> House:
    return House(ledger, project)


async def test_answers_are_kept_as_long_as_promised_and_then_forgotten(house: House) -> None:
    assert timedelta(hours=24) <= REQUESTS_KEPT
    fresh, old = await house.answer(REQUESTS_KEPT - HOUR), await house.answer(REQUESTS_KEPT + HOUR)
    assert await house.upkeep().execute() == Removed(requests=1)
    assert (await house.knows(fresh), await house.knows(old)) == (True, False)
    async with house.ledger.write(house.project) as session:
        assert await session.requests.claim(old, "method", "another print", house.clock.time) is None


async def test_the_old_end_of_the_change_log_goes_and_who_resumes_from_it_is_told(house: House) -> None:
    for days in (40, 31, 29, 0):
        await house.change(timedelta(days=days))
    assert await house.upkeep().execute() == Removed(changes=2)
    assert await house.bounds() == (2, 4)
    watch, context = WatchFacts(house.ledger, ChangeSignals()), CallContext(house.project)
    for lost in (0, 1):
        with pytest.raises(SequenceNotKeptError):
            await watch.execute(context, WatchFilter(), lost)
    items = await watch.execute(context, WatchFilter(), 2)
    assert (await anext(items)).sequence == 3


async def test_a_log_that_is_kept_for_ever_is_left_alone(house: House) -> None:
    await house.change(timedelta(days=10_000))
    await house.answer(timedelta(days=3))
    assert await house.upkeep(None).execute() == Removed(requests=1)
    assert await house.bounds() == (0, 1)


async def test_it_goes_in_steps_until_nothing_is_left(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep_module, "BATCH", 2)
    for _ in range(5):
        await house.answer(timedelta(days=3))
    for _ in range(3):
        await house.change(timedelta(days=60))
    batches: list[Removed] = []
    upkeep = house.upkeep()
    take = upkeep._batch

    async def counted(project: str, expiry: Expiry) -> Removed:
        batches.append(await take(project, expiry))
        return batches[-1]

    monkeypatch.setattr(upkeep, "_batch", counted)
    assert await upkeep.execute() == Removed(5, 3)
    assert batches == [Removed(2, 2), Removed(2, 1), Removed(1, 0)]
    assert await upkeep.execute() == Removed()


async def test_processes_at_once_remove_everything_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep_module, "BATCH", 3)
    for _ in range(20):
        await house.answer(timedelta(days=3))
        await house.change(timedelta(days=60))
    removed = await asyncio.gather(*(house.upkeep().execute() for _ in range(4)))
    # Whoever finds another at work leaves the project to it.
    assert sum(removed, Removed()) == Removed(20, 20)


async def test_while_another_has_the_upkeep_nothing_is_done(house: House) -> None:
    await house.answer(timedelta(days=3))
    async with house.ledger.write(house.project) as session:
        assert await session.work.take_upkeep()
        assert await house.upkeep().execute() == Removed()
    assert await house.upkeep().execute() == Removed(requests=1)


async def test_a_project_with_nothing_old_is_not_on_the_agenda(house: House) -> None:
    await house.answer(HOUR)
    await house.change(HOUR)
    now: datetime = house.clock.time
    everything_kept = Expiry(now - REQUESTS_KEPT, now - MONTH)
    assert await house.agenda.overdue_project(everything_kept, after="") is None
    assert await house.agenda.overdue_project(Expiry(now, None), after="") == house.project
    assert await house.agenda.overdue_project(Expiry(now - REQUESTS_KEPT, now), after="") == house.project
    assert await house.agenda.overdue_project(Expiry(now, now), after=house.project) is None

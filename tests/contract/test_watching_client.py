"""The client library watches a real server, over its restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from concord import AsyncClient, Client, EntityRef, FactChange, FactEvent, OutOfRangeError, RetryPolicy
from concord_server.api.server import GrpcServer
from concord_server.api.streams import closing
from concord_server.domain.enums import FactChange as Change
from concord_server.domain.enums import FactStatus, SubjectRole
from concord_server.domain.model import EntityRef as Ref
from concord_server.domain.model import Partition

from tests.contract.scripted import Script
from tests.support.watching import a_change, sequences, until

IMPATIENT = RetryPolicy(initial_backoff=0.01, max_backoff=0.05)


class Site:
    """A service that is stopped and started again on one port, over the same log."""

    def __init__(self, script: Script) -> None:
        self.log = script.log
        self.timing = script.timing
        self.address = "127.0.0.1:0"
        self._script = script
        self._server: GrpcServer | None = None

    async def start(self) -> None:
        self._server = GrpcServer(self._script.use_cases())
        self.address = await self._server.start(self.address)
        self._server.set_ready(True)

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(30)
            self._server = None


@asynccontextmanager
async def watching(site: Site, **arguments: Any) -> AsyncIterator[AsyncIterator[FactEvent]]:
    """Watches with a client of its own."""
    async with (
        AsyncClient(site.address, retry=IMPATIENT) as client,
        closing(client.watch_facts(**arguments)) as events,
    ):
        yield events


@pytest.fixture
async def site(script: Script) -> AsyncIterator[Site]:
    started = Site(script)
    await started.start()
    yield started
    await started.stop()


async def test_a_watch_sees_everything_over_restarts_of_the_server(site: Site) -> None:
    async with watching(site, after_sequence=0) as events:
        for round_ in range(4):
            site.log.fill(1)
            assert (await anext(events)).sequence == 2 * round_ + 1
            await site.stop()
            site.log.fill(1)
            await site.start()
            assert (await anext(events)).sequence == 2 * round_ + 2


async def test_a_synchronous_watch_does_so_too(site: Site) -> None:
    with Client(site.address, retry=IMPATIENT) as client:
        events = client.watch_facts(after_sequence=0)
        for round_ in range(3):
            site.log.fill(1)
            assert (await asyncio.to_thread(next, events)).sequence == 2 * round_ + 1
            await site.stop()
            site.log.fill(1)
            await site.start()
            assert (await asyncio.to_thread(next, events)).sequence == 2 * round_ + 2
        await asyncio.to_thread(events.close)  # type: ignore[attr-defined]


async def test_a_watch_goes_on_after_a_heartbeat_and_not_from_a_later_now(site: Site) -> None:
    site.log.fill(5)
    async with watching(site) as events:
        first = asyncio.ensure_future(anext(events))
        await until(lambda: site.log.reads > 0)
        site.timing.advance(15)
        await asyncio.sleep(0.2)
        await site.stop()
        site.log.fill(1)
        await site.start()
        assert (await first).sequence == 6


async def test_a_watch_that_resumes_among_changes_it_does_not_want_misses_none_that_it_does(site: Site) -> None:
    async with watching(site, after_sequence=0, domain="ops") as events:
        for round_ in range(3):
            site.log.fill(150)
            site.log.append(a_change(0, partition=Partition(domain="ops")))
            assert (await anext(events)).sequence == 151 * (round_ + 1)
            await site.stop()
            await site.start()


async def test_every_argument_reaches_the_filter(site: Site) -> None:
    wanted = Partition("private", "ops")
    subjects = (Ref("User", "u1", SubjectRole.OBJECT),)
    site.log.append(
        a_change(0, Change.MERGED, partition=wanted),
        a_change(0, Change.MERGED, partition=Partition("private", ""), subjects=subjects),
        a_change(0, Change.MERGED, partition=Partition("", "ops"), subjects=subjects),
        a_change(0, Change.CREATED, partition=wanted, subjects=subjects),
        a_change(0, Change.MERGED, partition=wanted, subjects=subjects, status=FactStatus.DISPUTED),
    )
    async with AsyncClient(site.address) as client:
        events = client.watch_facts(
            after_sequence=0,
            domain="ops",
            access_scope="private",
            entity=EntityRef("User", "u1"),
            changes=[FactChange.MERGED],
        )
        async with closing(events) as told:
            event = await anext(told)
    assert (event.sequence, event.change, event.fact.domain) == (5, FactChange.MERGED, "ops")
    assert event.fact.text == "statement 0"
    assert event.time is not None


async def test_a_resume_point_that_is_no_longer_kept_ends_the_watch(site: Site) -> None:
    async with watching(site, after_sequence=0) as events:
        site.log.fill(1)
        assert (await anext(events)).sequence == 1
        await site.stop()
        site.log.fill(9)
        site.log.prune(5)
        await site.start()
        with pytest.raises(OutOfRangeError):
            await anext(events)


async def test_many_watches_of_one_client_see_the_same(site: Site) -> None:
    async with AsyncClient(site.address) as client:

        async def follow() -> list[int]:
            async with closing(client.watch_facts(after_sequence=0)) as events:
                return sequences([await anext(events) for _ in range(20)])

        following = [asyncio.create_task(follow()) for _ in range(50)]
        for _ in range(20):
            site.log.fill(1)
            await asyncio.sleep(0)
        assert await asyncio.gather(*following) == [list(range(1, 21))] * 50

"""Settings are read once for many decisions, and a change in this process counts at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from concord_server.domain.errors import UnavailableError
from concord_server.domain.project_settings import OwnSettings, ProjectSettings
from concord_server.services import settings_cache
from concord_server.services.settings_cache import CachedSettings


class Ledger:
    """Keeps settings; a read can be held up, or fail."""

    def __init__(self) -> None:
        self.own: dict[str, OwnSettings] = {}
        self.reads = 0
        self.down = False
        self.held: asyncio.Event | None = None

    @asynccontextmanager
    async def read(self, project: str) -> AsyncIterator[Any]:
        self.reads += 1
        if self.down:
            raise UnavailableError("down")
        self.settings = _Stored(self.own.get(project, OwnSettings()), self.held)
        yield self


class _Stored:
    def __init__(self, own: OwnSettings, held: asyncio.Event | None) -> None:
        self._own = own
        self._held = held

    async def get(self) -> OwnSettings:
        if self._held is not None:
            await self._held.wait()
        return self._own


class Time:
    """Seconds that tests let pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


LIMITED = OwnSettings(max_facts_per_event=3, revision=1)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def cache(ledger: Ledger, time: Time) -> CachedSettings:
    return CachedSettings(ledger, kept_seconds=2.0, monotonic=time)  # type: ignore[arg-type]


async def test_settings_are_read_once_while_they_are_kept(
    ledger: Ledger, time: Time, cache: CachedSettings
) -> None:
    ledger.own["a"] = LIMITED
    for _ in range(1000):
        assert await cache.of("a") == LIMITED.in_force()
    time.now += 1.9
    assert await cache.of("a") == LIMITED.in_force()
    assert ledger.reads == 1


async def test_a_change_elsewhere_is_seen_once_they_were_kept_long_enough(
    ledger: Ledger, time: Time, cache: CachedSettings
) -> None:
    assert await cache.of("a") == ProjectSettings()
    ledger.own["a"] = LIMITED
    time.now += 2.0
    assert await cache.of("a") == LIMITED.in_force()


async def test_projects_do_not_share_settings(ledger: Ledger, cache: CachedSettings) -> None:
    ledger.own["a"] = LIMITED
    assert await cache.of("a") == LIMITED.in_force()
    assert await cache.of("b") == ProjectSettings()


async def test_callers_at_the_same_time_wait_for_one_read(ledger: Ledger, cache: CachedSettings) -> None:
    ledger.held = asyncio.Event()
    callers = [asyncio.create_task(cache.of("a")) for _ in range(20)]
    await asyncio.sleep(0)
    callers[0].cancel()  # which takes nothing from the others
    await asyncio.sleep(0)
    ledger.held.set()
    assert await asyncio.gather(*callers[1:]) == [ProjectSettings()] * 19
    assert ledger.reads == 1


async def test_a_change_in_this_process_counts_at_once_and_is_not_undone_by_a_read_from_before(
    ledger: Ledger, time: Time, cache: CachedSettings
) -> None:
    ledger.held = asyncio.Event()
    before = asyncio.create_task(cache.of("a"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    time.now += 0.1
    cache.changed("a", LIMITED.in_force())
    assert await cache.of("a") == LIMITED.in_force()
    ledger.held.set()
    assert await before == LIMITED.in_force()
    assert await cache.of("a") == LIMITED.in_force()


async def test_a_failure_is_told_and_not_kept(ledger: Ledger, cache: CachedSettings) -> None:
    ledger.down = True
    with pytest.raises(UnavailableError):
        await cache.of("a")
    ledger.down = False
    assert await cache.of("a") == ProjectSettings()


async def test_no_more_projects_are_kept_than_the_limit(
    ledger: Ledger, cache: CachedSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_cache, "MAX_KEPT", 2)
    for project in "abc":
        await cache.of(project)
    await cache.of("c")
    await cache.of("b")
    assert ledger.reads == 3
    await cache.of("a")
    assert ledger.reads == 4

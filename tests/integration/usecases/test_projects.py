"""Projects and their settings over the real database."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta
from typing import Any

import pytest
from concord_server.domain.errors import (
    EtagMismatchError,
    InvalidFieldsError,
    InvalidPageTokenError,
    ProjectExistsError,
    RequestIdReusedError,
)
from concord_server.domain.project_settings import OwnSettings, ProjectSettings
from concord_server.domain.projects import Project
from concord_server.domain.queries import Cursor
from concord_server.domain.settings_update import SettingsUpdate
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.project_settings import GetProjectSettings, UpdateProjectSettings
from concord_server.services.projects import CreateProject, ListProjects
from concord_server.services.settings_cache import CachedSettings
from concord_server.storage.sessions import PostgresLedger

from tests.integration.usecases.conftest import FakeClock


class Admin:
    """What the admin of one project can do, in one process."""

    def __init__(self, ledger: PostgresLedger, project: str) -> None:
        self.ledger = ledger
        self.context = CallContext(project)
        self.clock = FakeClock()
        self.cache = CachedSettings(ledger, kept_seconds=3600)
        self._gets = GetProjectSettings(ledger)
        self._updates = UpdateProjectSettings(ledger, self.clock, self.cache.changed)
        self._creates = CreateProject(ledger, self.clock)

    async def get(self) -> ProjectSettings:
        return await self._gets.execute(self.context)

    async def set(self, etag: str = "", key: Idempotency[ProjectSettings] | None = None, /, **values: Any) -> Any:
        update = SettingsUpdate(frozenset(values), OwnSettings(**values))
        return await self._updates.execute(self.context, update, etag, key)

    async def create(self, project_id: str, name: str = "", key: Idempotency[Project] | None = None) -> Any:
        return await self._creates.execute(self.context, project_id, name, key)


def key(fingerprint: str = "print") -> Idempotency[Any]:
    return Idempotency(uuid.uuid4(), "method", fingerprint, lambda result: repr(result).encode())


@pytest.fixture
def admin(ledger: PostgresLedger, project: str) -> Admin:
    return Admin(ledger, project)


class TestSettings:
    async def test_they_start_as_defaults_and_change_one_by_one(self, admin: Admin) -> None:
        assert await admin.get() == ProjectSettings()
        first = await admin.set(max_facts_per_event=3)
        second = await admin.set(slow_horizon=timedelta(days=1))
        assert second == await admin.get()
        assert (second.max_facts_per_event, second.horizons.slow) == (3, timedelta(days=1))
        assert second.update_time > first.update_time
        assert (await admin.set(max_facts_per_event=None, slow_horizon=None)).update_time is None

    async def test_a_change_counts_at_once_where_it_was_made(self, admin: Admin) -> None:
        assert await admin.cache.of(admin.context.project) == ProjectSettings()
        changed = await admin.set(max_facts_per_event=3)
        assert await admin.cache.of(admin.context.project) == changed

    async def test_a_stale_etag_is_refused_and_a_fresh_one_taken(self, admin: Admin) -> None:
        stale = (await admin.get()).etag
        fresh = (await admin.set(stale, max_facts_per_event=3)).etag
        with pytest.raises(EtagMismatchError):
            await admin.set(stale, max_facts_per_event=4)
        assert (await admin.set(fresh, max_facts_per_event=4)).max_facts_per_event == 4

    async def test_of_changes_with_one_etag_at_once_one_is_made(self, admin: Admin) -> None:
        etag = (await admin.get()).etag
        given = (admin.set(etag, max_facts_per_event=number) for number in range(1, 9))
        answers = await asyncio.gather(*given, return_exceptions=True)
        assert sum(isinstance(answer, ProjectSettings) for answer in answers) == 1
        assert (await admin.get()).revision == 1

    async def test_thresholds_are_checked_against_what_is_set(self, admin: Admin) -> None:
        await admin.set(similarity_threshold=0.7)
        with pytest.raises(InvalidFieldsError):
            await admin.set(conflict_threshold=0.8)
        assert (await admin.get()).thresholds.conflict == 0.6

    async def test_a_repeated_change_is_made_once(self, admin: Admin) -> None:
        once = key()
        first = await admin.set("", once, max_facts_per_event=3)
        await admin.set(max_facts_per_event=4)
        assert await admin.set("", once, max_facts_per_event=3) == Replay(repr(first).encode())
        assert (await admin.get()).max_facts_per_event == 4
        another = Idempotency(once.request_id, "method", "another print", once.encode)
        with pytest.raises(RequestIdReusedError):
            await admin.set("", another, max_facts_per_event=9)

    async def test_projects_have_settings_of_their_own(self, admin: Admin, ledger: PostgresLedger) -> None:
        await admin.set(max_facts_per_event=3)
        assert await Admin(ledger, f"other-{uuid.uuid4()}").get() == ProjectSettings()


class TestProjects:
    async def test_a_project_is_created_once(self, admin: Admin) -> None:
        name = f"p-{uuid.uuid4()}"
        created = await admin.create(name, "A project")
        assert (created.project_id, created.display_name) == (name, "A project")
        with pytest.raises(ProjectExistsError):
            await admin.create(name)

    async def test_of_callers_at_once_one_creates_it(self, admin: Admin) -> None:
        name = f"p-{uuid.uuid4()}"
        answers = await asyncio.gather(*(admin.create(name) for _ in range(8)), return_exceptions=True)
        assert sum(isinstance(answer, Project) for answer in answers) == 1
        assert all(isinstance(answer, Project | ProjectExistsError) for answer in answers)

    async def test_a_project_that_came_by_its_first_use_exists(self, admin: Admin, ledger: PostgresLedger) -> None:
        name = f"p-{uuid.uuid4()}"
        async with ledger.write(name):
            pass
        with pytest.raises(ProjectExistsError):
            await admin.create(name)

    async def test_a_caller_may_create_the_project_that_it_names_as_its_own(self, admin: Admin) -> None:
        created = await admin.create(admin.context.project, "Mine")
        assert created.display_name == "Mine"
        with pytest.raises(ProjectExistsError):
            await admin.create(admin.context.project)

    async def test_a_repeated_creation_gets_its_first_answer(self, admin: Admin) -> None:
        name, once = f"p-{uuid.uuid4()}", key()
        created = await admin.create(name, "", once)
        assert await admin.create(name, "", once) == Replay(repr(created).encode())

    async def test_a_bad_name_is_refused(self, admin: Admin) -> None:
        with pytest.raises(InvalidFieldsError):
            await admin.create("Not a name")

    async def test_projects_are_listed_newest_first_over_pages(self, ledger: PostgresLedger, project: str) -> None:
        admin = Admin(ledger, project)
        admin.clock.time += timedelta(days=40_000)  # so that they come before those of other tests
        names = [f"p{number}-{uuid.uuid4()}" for number in range(5)]
        for name in names:
            await admin.create(name)
        lists = ListProjects(ledger)
        found: list[str] = []
        after: Cursor | None = None
        while set(names) - set(found):
            page = await lists.execute(admin.context, after, 2)
            found += [item.project_id for item in page.items]
            assert page.total >= 5
            after = page.next
        assert [name for name in found if name in names] == names[::-1]

    async def test_a_position_that_is_none_is_refused(self, admin: Admin) -> None:
        with pytest.raises(InvalidPageTokenError):
            await ListProjects(admin.ledger).execute(admin.context, Cursor("nonsense", uuid.UUID(int=0)), 5)

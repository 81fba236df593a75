"""Events are made findable in the background, by any number of processes, and found by meaning and by words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from concord_server.domain.enums import EventState
from concord_server.domain.errors import InvalidFieldsError, OverloadedError
from concord_server.domain.event_search import EventMatch, EventQuery
from concord_server.domain.events import EventFilter, NewEvent
from concord_server.domain.model import EntityRef
from concord_server.ports.embedder import EmbedderOverloadedError, Vector
from concord_server.providers.embedders.onnx import OnnxEmbedder
from concord_server.providers.system import TimeOrderedIds
from concord_server.services import index_events
from concord_server.services.append_events import AppendEvents
from concord_server.services.context import CallContext, Replay
from concord_server.services.index_events import IndexEvents
from concord_server.services.search_events import SearchEvents
from concord_server.storage import hybrid
from concord_server.storage.sessions import PostgresLedger
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.integration.usecases.conftest import FakeClock, SwitchableEmbedder
from tests.support.event_search import OneProject

ADA, BEA = EntityRef("User", "ada"), EntityRef("User", "bea")


@dataclass
class Archive:
    """Events of one project, and what searches them."""

    ledger: PostgresLedger
    engine: AsyncEngine
    embedder: SwitchableEmbedder
    project: str
    clock: FakeClock = field(default_factory=FakeClock)

    @property
    def context(self) -> CallContext:
        return CallContext(self.project, actor="tester")

    async def append(self, *texts: str, subject: EntityRef = ADA, **fields: Any) -> list[UUID]:
        events = [NewEvent(subject, text=text, **fields) for text in texts]
        appended = await AppendEvents(self.ledger, self.clock, TimeOrderedIds()).execute(self.context, events)
        assert not isinstance(appended, Replay)
        return [one.event_id for one in appended]

    async def index(self, embedder: Any = None) -> bool:
        """Does what one process does in the background."""
        agenda = OneProject(self.project, self.ledger)
        return await IndexEvents(self.ledger, agenda, embedder or self.embedder).execute()

    async def search(self, query: str, top_k: int = 10, **where: Any) -> list[EventMatch]:
        asked = EventQuery(query, EventFilter(**{"subject": ADA, **where}), top_k)
        return await SearchEvents(self.ledger, self.embedder).execute(self.context, asked)

    async def found(self, query: str, **asked: Any) -> list[str]:
        return [match.event.text for match in await self.search(query, **asked)]

    async def change(self, statement: str, **values: Any) -> None:
        async with self.engine.begin() as connection:
            await connection.execute(sql(statement), {"project": self.project, **values})

    async def waiting(self) -> int:
        count = "SELECT count(*) FROM event_search WHERE project_id = :project AND step <> 'DONE'"
        async with self.engine.connect() as connection:
            return int((await connection.execute(sql(count), {"project": self.project})).scalar_one())

    async def let_leases_end(self) -> None:
        await self.change(
            "UPDATE event_search SET taken_until = now() - interval '1 s' WHERE project_id = :project"
        )


@pytest.fixture
def archive(ledger: PostgresLedger, engine: AsyncEngine, real_embedder: OnnxEmbedder, project: str) -> Archive:
    return Archive(ledger, engine, SwitchableEmbedder(real_embedder), project)


async def test_meaning_and_words_both_find_what_was_indexed(archive: Archive):
    await archive.append("Sam has a peanut allergy", "The database listens on port 6543", "Deploys happen at two")
    assert await archive.found("peanut") == []
    await archive.index()
    assert await archive.found("what is Sam allergic to", top_k=1) == ["Sam has a peanut allergy"]
    assert await archive.found("6543", top_k=1) == ["The database listens on port 6543"]
    [first, *_] = await archive.search("peanut allergy")
    assert first.similarity > 0.5
    assert first.text_rank > 0
    assert first.score == pytest.approx(2 / 61)


@pytest.mark.parametrize(
    "query",
    [
        "ORD-4411", "4411", "\"ORD-4411\"", "it's", "a & b | !c", "\\a", "x:*", "1 <-> 2", "-5", "C++", "50%",
        "a_b", "日本", "%s", ":*a", "' OR '1'='1", "http://x.y/z?a=1&b=2", "é" * 8000, "NOT", "0",
    ],
)  # fmt: skip
async def test_no_query_breaks(archive: Archive, query: str):
    await archive.append("Order ORD-4411 was paid")
    await archive.index()
    assert await archive.found(query) == ["Order ORD-4411 was paid"]


@pytest.mark.parametrize("query", ["((", "'", "<->", ":*", "_", "?!"])
async def test_a_query_that_says_nothing_is_refused_by_name(archive: Archive, query: str):
    with pytest.raises(InvalidFieldsError) as caught:
        await archive.search(query)
    assert [violation.field for violation in caught.value.violations] == ["query"]


async def test_only_the_subjects_events_that_pass_are_found(archive: Archive):
    await archive.append("Tea in the morning")
    await archive.append("Tea at noon", access_scope="team")
    await archive.append("Tea at night", subject=BEA)
    await archive.index()
    assert sorted(await archive.found("tea")) == ["Tea at noon", "Tea in the morning"]
    assert await archive.found("tea", subject=BEA) == ["Tea at night"]
    assert await archive.found("tea", access_scope="team") == ["Tea at noon"]
    assert await archive.found("tea", access_scope="") == ["Tea in the morning"]
    assert await archive.found("tea", states=(EventState.DONE,)) == []
    assert len(await archive.found("tea", states=(EventState.DONE, EventState.PENDING))) == 2
    assert len(await archive.found("tea", top_k=1)) == 1
    other = Archive(archive.ledger, archive.engine, archive.embedder, f"{archive.project}-other")
    assert await other.found("tea") == []


async def test_while_the_embedder_is_down_words_find_and_meaning_is_made_up_for_later(archive: Archive):
    archive.embedder.down = True
    await archive.append(*(f"Note {number}" for number in range(40)), "Sam has a peanut allergy")
    assert not await archive.index()
    [match] = await archive.search("peanut")
    assert (match.event.text, match.similarity) == ("Sam has a peanut allergy", 0.0)
    assert await archive.waiting() == 41
    archive.embedder.down = False
    await archive.let_leases_end()
    assert await archive.index()
    assert await archive.waiting() == 0
    assert await archive.found("which nuts make Sam ill", top_k=1) == ["Sam has a peanut allergy"]


async def test_a_batch_that_failed_lets_others_go_first(archive: Archive):
    archive.embedder.down = True
    await archive.append("first")
    await archive.index()
    archive.embedder.down = False
    await archive.append("second")
    archive.embedder.asked.clear()
    await archive.index()
    assert archive.embedder.asked == ["second"]


async def test_an_overloaded_embedder_leaves_events_for_later(archive: Archive, monkeypatch: pytest.MonkeyPatch):
    async def overloaded(_texts: Sequence[str]) -> list[Vector]:
        raise EmbedderOverloadedError("too much")

    await archive.append("Tea")
    with monkeypatch.context() as patch:
        patch.setattr(archive.embedder, "embed", overloaded)
        with pytest.raises(OverloadedError):
            await archive.index()
    await archive.let_leases_end()
    assert await archive.index()
    assert await archive.found("tea") == ["Tea"]


async def test_processes_share_the_work_and_embed_no_event_twice(archive: Archive):
    texts = [f"Note number {number}" for number in range(100)]
    await archive.append(*texts)
    assert all(await asyncio.gather(*(archive.index() for _ in range(4))))
    assert sorted(archive.embedder.asked) == sorted(texts)
    assert await archive.waiting() == 0


async def test_what_a_dead_process_had_taken_is_taken_up_when_its_lease_is_over(archive: Archive):
    await archive.append("Tea")
    async with archive.ledger.write(archive.project) as session:
        assert len(await session.event_search.take(10, timedelta(minutes=1))) == 1
    await archive.index()
    assert archive.embedder.asked == []
    assert await archive.waiting() == 1
    await archive.let_leases_end()
    await archive.index()
    assert await archive.found("tea") == ["Tea"]


async def test_no_transaction_is_open_while_texts_are_embedded(archive: Archive, monkeypatch: pytest.MonkeyPatch):
    """Another session can take the row's lock meanwhile, which it could not if the first still held it."""
    [event_id] = await archive.append("Tea")
    seen: list[int] = []
    embed = archive.embedder.embed

    async def looking(texts: Sequence[str]) -> list[Vector]:
        async with archive.engine.begin() as connection:
            lock = "SELECT 1 FROM event_search WHERE event_id = :event FOR UPDATE NOWAIT"
            seen.extend((await connection.execute(sql(lock), {"event": event_id})).scalars())
        return await embed(texts)

    monkeypatch.setattr(archive.embedder, "embed", looking)
    await archive.index()
    assert seen == [1]


async def test_an_event_erased_while_it_is_embedded_stays_unknown(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
):
    [event_id] = await archive.append("Tea")
    embed = archive.embedder.embed

    async def erasing(texts: Sequence[str]) -> list[Vector]:
        await archive.change(
            "UPDATE events SET text = '', delete_time = now() WHERE event_id = :event", event=event_id
        )
        await archive.change("DELETE FROM event_search WHERE event_id = :event", event=event_id)
        return await embed(texts)

    with monkeypatch.context() as patch:
        patch.setattr(archive.embedder, "embed", erasing)
        await archive.index()
    assert await archive.found("tea") == []
    count = "SELECT count(*) FROM event_search WHERE event_id = :event"
    async with archive.engine.connect() as connection:
        assert (await connection.execute(sql(count), {"event": event_id})).scalar_one() == 0


async def test_a_tombstone_is_never_found(archive: Archive):
    [event_id] = await archive.append("Tea")
    await archive.index()
    await archive.change("UPDATE events SET delete_time = now() WHERE event_id = :event", event=event_id)
    assert await archive.found("tea") == []


async def test_an_event_that_says_nothing_waits_for_nothing(archive: Archive):
    await archive.append("", payload={"ok": True})
    assert await archive.index()
    assert (await archive.waiting(), archive.embedder.asked) == (0, [])


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"http://{n:x}.ab.com/{n}/{n + 1}" for n in range(12_000)),
        " ".join(f"{n:x}-{n + 1:x}-{n + 2:x}-{n + 3:x}" for n in range(4096, 16_000)),
        "x" * (250 << 10),
        " ".join(chr(0x4E00 + n % 20_000) + chr(0x4E00 + n // 3) for n in range(30_000)),
    ],
    ids=["addresses", "compounds", "one word", "ideographs"],
)
async def test_the_largest_events_do_not_break_it(archive: Archive, text: str):
    await archive.append(text)
    assert await archive.index()
    assert await archive.waiting() == 0


async def test_many_events_are_searched_by_the_indexes_with_the_same_answer(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
):
    places = ("harbour", "market", "station", "library", "museum", "stadium", "bakery", "hospital")
    await archive.append(*(f"The {place} opens at {hour} in the morning" for hour, place in enumerate(places)))
    monkeypatch.setattr(index_events, "TAKEN_TOGETHER", 3)
    await archive.index()
    exact = await archive.search("when does the library open", top_k=4)
    monkeypatch.setattr(hybrid, "EXACT_SEARCH_LIMIT", 3)
    assert await archive.search("when does the library open", top_k=4) == exact
    monkeypatch.setattr(hybrid, "FREQUENT_WORD", 2)
    assert await archive.found("when does the library open", top_k=1) == [exact[0].event.text]
    archive.embedder.down = True
    assert await archive.found("library", top_k=1) == [exact[0].event.text]

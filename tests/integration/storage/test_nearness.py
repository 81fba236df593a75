"""Facts near a vector, and whether a plan was overtaken."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import pytest
from concord_server.domain.enums import FactChange, FactStatus
from concord_server.domain.model import Fact, Partition
from concord_server.ports.embedder import Vector
from concord_server.ports.ledger import ChangeProbe
from concord_server.storage import nearness
from concord_server.storage.sessions import PostgresLedger
from uuid_utils.compat import uuid7

from tests.support.facts import NOON, a_fact, digest, minutes, next_version, save, vector

QUESTION = vector(1.0)


def at_cosine(cosine: float) -> Vector:
    """Returns a vector of that cosine with the question."""
    return vector(cosine, math.sqrt(1 - cosine * cosine))


@pytest.fixture(params=["exact", "by index"])
def however_large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Searches small partitions as they are, and then as if they were large."""
    if request.param == "by index":
        monkeypatch.setattr(nearness, "EXACT_SCAN_LIMIT", 0)
    yield
    nearness._large.clear()


async def found(
    ledger: PostgresLedger, project: str, partition_id: UUID, *, least: float = 0.0, limit: int = 5
) -> list[tuple[UUID, float]]:
    async with ledger.read(project) as session:
        near = await session.facts.similar(partition_id, QUESTION, min_similarity=least, limit=limit)
    return [(one.fact.fact_id, round(one.similarity, 6)) for one in near]


@pytest.mark.usefixtures("however_large")
class TestSimilar:
    async def test_the_nearest_come_first_down_to_the_least_similarity(
        self, ledger: PostgresLedger, project: str
    ) -> None:
        async with ledger.write(project) as session:
            held = await session.partitions.lock(Partition(), NOON)
            cosines = (0.7, 0.95, 0.2, 1.0)
            ids = {
                cosine: (await save(session, a_fact(text=str(cosine)), embedding=at_cosine(cosine))).fact_id
                for cosine in cosines
            }
            await save(session, a_fact(text="not embedded yet"))
        near = await found(ledger, project, held.partition_id, least=0.6)
        assert near == [(ids[1.0], 1.0), (ids[0.95], 0.95), (ids[0.7], 0.7)]
        assert await found(ledger, project, held.partition_id, least=0.6, limit=2) == near[:2]
        assert await found(ledger, project, held.partition_id, least=-1.0) == [*near, (ids[0.2], 0.2)]

    async def test_ties_go_to_the_newest_and_then_by_id(self, ledger: PostgresLedger, project: str) -> None:
        async with ledger.write(project) as session:
            held = await session.partitions.lock(Partition(), NOON)
            times = (NOON, NOON + minutes(1), NOON)
            made = [
                await save(session, a_fact(text=f"{n}", create_time=time), embedding=at_cosine(0.9))
                for n, time in enumerate(times)
            ]
        near = await found(ledger, project, held.partition_id)
        assert [fact_id for fact_id, _ in near] == [made[1].fact_id, made[0].fact_id, made[2].fact_id]

    async def test_other_partitions_and_projects_are_not_searched(
        self, ledger: PostgresLedger, project: str
    ) -> None:
        async with ledger.write(project) as session:
            held = await session.partitions.lock(Partition(), NOON)
            await save(session, a_fact(partition=Partition(domain="other")), embedding=QUESTION)
        async with ledger.write(f"{project}-other") as session:
            await save(session, a_fact(), embedding=QUESTION)
        assert await found(ledger, project, held.partition_id) == []

    async def test_erased_facts_are_not_found_and_all_others_are(
        self, ledger: PostgresLedger, project: str
    ) -> None:
        async with ledger.write(project) as session:
            held = await session.partitions.lock(Partition(), NOON)
            kept = {
                (await save(session, a_fact(text=status, status=status), embedding=QUESTION)).fact_id
                for status in FactStatus
                if status is not FactStatus.DELETED
            }
            erased = await save(session, a_fact(text="gone"), embedding=QUESTION)
            await save(session, next_version(erased, status=FactStatus.DELETED), FactChange.ERASED)
            await session.facts.erase(erased.fact_id)
        assert {fact_id for fact_id, _ in await found(ledger, project, held.partition_id, limit=10)} == kept

    async def test_a_found_fact_is_whole(self, ledger: PostgresLedger, project: str) -> None:
        async with ledger.write(project) as session:
            fact = await save(session, a_fact(tags=("a", "b")), embedding=QUESTION)
            held = await session.partitions.lock(fact.partition, NOON)
            near = await session.facts.similar(held.partition_id, QUESTION, min_similarity=0.5, limit=1)
        assert [one.fact for one in near] == [fact]

    async def test_a_partition_without_facts_has_none_near(self, ledger: PostgresLedger, project: str) -> None:
        assert await found(ledger, project, uuid7()) == []


async def test_a_partition_found_to_be_large_is_searched_by_index_from_then_on(
    ledger: PostgresLedger, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ledger.write(project) as session:
        held = await session.partitions.lock(Partition(), NOON)
        for n in range(3):
            await save(session, a_fact(text=str(n)), embedding=at_cosine(0.9))
    this = (project, held.partition_id)
    monkeypatch.setattr(nearness, "EXACT_SCAN_LIMIT", 3)
    assert len(await found(ledger, project, held.partition_id)) == 3
    assert this not in nearness._large
    monkeypatch.setattr(nearness, "EXACT_SCAN_LIMIT", 2)
    assert len(await found(ledger, project, held.partition_id)) == 3
    assert this in nearness._large
    nearness._large.clear()


async def test_similarities_are_those_of_the_facts_that_are_embedded(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        one = await save(session, a_fact(), embedding=at_cosine(0.25))
        other = await save(session, a_fact(), embedding=vector(-1.0))
        unembedded = await save(session, a_fact())
        ids = [one.fact_id, other.fact_id, unembedded.fact_id, uuid7()]
        known = await session.facts.similarities(ids, QUESTION)
        assert await session.facts.similarities([], QUESTION) == {}
    assert known == {one.fact_id: pytest.approx(0.25), other.fact_id: pytest.approx(-1.0)}
    assert min(known.values()) >= -1.0


@dataclass(frozen=True)
class Change:
    """What happened to the partition after the plan was made."""

    text: str = "unrelated"
    on_slot: bool = False
    embedding: Vector | None = None
    domain: str = ""


@pytest.mark.parametrize(
    ("change", "vector_known", "overtaken"),
    [
        (None, True, False),
        (Change(), True, False),
        (Change(text="asked"), True, True),
        (Change(text="asked"), False, True),
        (Change(text="asked", domain="other"), True, False),
        (Change(on_slot=True), True, True),
        (Change(on_slot=True, domain="other"), True, False),
        (Change(embedding=at_cosine(0.61)), True, True),
        (Change(embedding=at_cosine(0.59)), True, False),
        (Change(embedding=at_cosine(0.61), domain="other"), True, False),
        (Change(embedding=at_cosine(1.0)), False, False),
    ],
    ids=[
        "nothing",
        "an unrelated fact",
        "an equal text",
        "an equal text, nothing searched",
        "an equal text elsewhere",
        "a fact of the slot",
        "a fact of the slot's id elsewhere",
        "a near fact",
        "a fact not near enough",
        "a near fact elsewhere",
        "a near fact, nothing searched",
    ],
)
async def test_a_plan_is_overtaken_by_what_it_would_have_met(
    ledger: PostgresLedger, project: str, change: Change | None, *, vector_known: bool, overtaken: bool
) -> None:
    slot_id = uuid7()
    async with ledger.write(project) as session:
        planned = await session.partitions.lock(Partition(), NOON)
        # What the plan saw already, of every kind, does not count.
        await save(session, a_fact(text="asked"), locked=planned, embedding=QUESTION)
        await save(session, a_fact(slot_id=slot_id, status=FactStatus.SUPERSEDED), locked=planned)
    if change is not None:
        async with ledger.write(project) as session:
            fact = a_fact(
                text=change.text,
                slot_id=slot_id if change.on_slot else uuid7(),
                partition=Partition(domain=change.domain),
            )
            await save(session, fact, embedding=change.embedding)
    async with ledger.write(project) as session:
        held = await session.partitions.lock(Partition(), NOON)
        probe = ChangeProbe(
            digest("asked"), QUESTION if vector_known else None, 0.6, frozenset({slot_id, uuid7()})
        )
        changed = await session.facts.changed_since(held.partition_id, planned.revision, probe)
    assert changed is overtaken


async def test_a_change_that_nothing_depends_on_overtakes_no_plan(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        planned = await session.partitions.lock(Partition(), NOON)
        fact = await save(session, a_fact(text="asked"), locked=planned)
    async with ledger.write(project) as session:
        held = await session.partitions.lock(Partition(), NOON)
        later: Fact = next_version(fact, reinforcement_count=1)
        await session.facts.save(
            later,  # keeps its partition_revision
            FactChange.MERGED,
            actor="tester",
            reason="",
            partition_id=held.partition_id,
            text_digest=digest("asked"),
        )
        probe = ChangeProbe(digest("asked"), None, 0.6, frozenset())
        assert not await session.facts.changed_since(held.partition_id, planned.revision, probe)

"""What is saved is what is read, and every saved state is a version."""

from __future__ import annotations

import traceback
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from concord_server.domain.enums import (
    ContentRelationship,
    EvolutionType,
    FactChange,
    FactStatus,
    FactType,
    SubjectRole,
    Trust,
    Volatility,
)
from concord_server.domain.errors import ConcurrentUpdateError
from concord_server.domain.model import ContentLink, EntityRef, Fact, Partition
from concord_server.storage.errors import ConstraintViolatedError, LostRaceError
from concord_server.storage.fact_tables import ONE_ACTIVE_FACT
from concord_server.storage.sessions import PostgresLedger
from uuid_utils.compat import uuid7

from tests.integration.storage.conftest import Query
from tests.support.facts import NOON, a_claim, a_fact, digest, minutes, next_version, save, vector

S = FactStatus


def with_everything() -> Fact:
    """Returns a fact of which no field has its default."""
    return a_fact(
        partition=Partition("team", "billing", FactType.OPINION, "person", "ada"),
        status=S.SUPERSEDED,
        text="Ada likes blue",
        text_raw="ada likes BLUE!",
        value_key="k1",
        claim=a_claim({"b": [1, 2.5, True, None, "x"], "a": {}}, qualifiers={"at": "work", "n": 3}),
        evolution_type=EvolutionType.CORRECTION,
        confidence=0.1 + 0.2,
        source_count=3,
        corroboration_score=1 / 3,
        reinforcement_count=7,
        last_reinforce_time=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        trust=Trust.SEMI_TRUSTED,
        volatility=Volatility.EPHEMERAL,
        valid_from=datetime(1, 1, 1, tzinfo=UTC),
        valid_to=datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        delete_time=NOON,
        off_timeline=True,
        metadata={"nested": {"list": [1, "two"]}, "empty": None},
        subjects=(
            EntityRef("person", "zoe", SubjectRole.OBJECT),
            EntityRef("person", "ada"),
            EntityRef("person", "ada", SubjectRole.RELATED),
        ),
        contents=(ContentLink("doc-2", ContentRelationship.SUPPORTS), ContentLink("doc-1")),
        tags=("z", "a"),
    )


async def stored(ledger: PostgresLedger, project: str, fact: Fact) -> Fact | None:
    async with ledger.read(project) as session:
        return await session.facts.get(fact.fact_id)


async def test_every_field_comes_back_as_it_was_saved(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        parents = [await save(session, a_fact(text=f"parent {n}")) for n in range(2)]
        conflict_id = uuid7()
        fact = replace(
            with_everything(),
            conflict_id=conflict_id,
            parent_ids=(parents[1].fact_id, parents[0].fact_id),
        )
        held = await session.partitions.lock(fact.partition, NOON)
        await session.conflicts.open(conflict_id, fact.slot_id, held.partition_id, "", NOON)
        fact = await save(session, fact)
    assert await stored(ledger, project, fact) == fact


async def test_a_later_state_replaces_every_field(ledger: PostgresLedger, project: str) -> None:
    first = a_fact(subjects=(EntityRef("person", "ada"), EntityRef("person", "bob")), tags=("a", "b"))
    async with ledger.write(project) as session:
        first = await save(session, first)
    later = replace(
        with_everything(),
        fact_id=first.fact_id,
        partition=first.partition,
        version=2,
        update_time=NOON + minutes(1),
        text=first.text,
    )
    async with ledger.write(project) as session:
        later = await save(session, later, FactChange.REVISED)
    assert await stored(ledger, project, later) == later


@pytest.mark.parametrize(
    ("before", "after"),
    [(("a", "b", "c"), ("c", "a")), (("a",), ()), ((), ("a",)), (("a", "b"), ("b", "a")), (("a",), ("a",))],
)
async def test_links_become_those_of_the_saved_state(
    ledger: PostgresLedger, project: str, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    def linked(names: tuple[str, ...]) -> dict[str, Any]:
        return {
            "tags": names,
            "subjects": tuple(EntityRef("person", name) for name in names),
            "contents": tuple(ContentLink(name) for name in names),
        }

    async with ledger.write(project) as session:
        fact = await save(session, a_fact(**linked(before)))
    async with ledger.write(project) as session:
        fact = await save(session, next_version(fact, **linked(after)), FactChange.REVISED)
    assert await stored(ledger, project, fact) == fact


async def test_edges_added_beside_a_fact_survive_its_next_state(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        parent, child = await save(session, a_fact()), await save(session, a_fact())
        await session.facts.add_edges(child.fact_id, [parent.fact_id], EvolutionType.EXTENSION, NOON)
    async with ledger.write(project) as session:
        loaded = await session.facts.get(child.fact_id)
        assert loaded is not None
        assert loaded.parent_ids == (parent.fact_id,)
        saved = await save(session, next_version(loaded, confidence=0.9), FactChange.MERGED)
    assert await stored(ledger, project, child) == saved


async def test_each_state_is_a_version_and_closes_the_one_before(
    ledger: PostgresLedger, project: str, query: Query
) -> None:
    async with ledger.write(project) as session:
        first = await save(session, a_fact(tags=("a",)))
    async with ledger.write(project) as session:
        second = await save(
            session, next_version(first, status=S.RETRACTED, tags=()), FactChange.STATUS_CHANGED, reason="wrong"
        )
        third = await save(session, next_version(second, confidence=0.1), FactChange.REVISED)
    rows = await query(
        "SELECT version, status, tags, change, actor, reason, recorded_from, recorded_to FROM fact_versions"
        " WHERE project_id = %s AND fact_id = %s ORDER BY version",
        project,
        first.fact_id,
    )
    assert rows == [
        (1, "ACTIVE", ["a"], "CREATED", "tester", "", NOON, second.update_time),
        (2, "RETRACTED", [], "STATUS_CHANGED", "tester", "wrong", second.update_time, third.update_time),
        (3, "RETRACTED", [], "REVISED", "tester", "", third.update_time, None),
    ]


@pytest.mark.parametrize("version", [2, 4])
async def test_a_state_that_does_not_follow_the_stored_one_is_refused(
    ledger: PostgresLedger, project: str, version: int
) -> None:
    async with ledger.write(project) as session:
        fact = await save(session, a_fact())
        fact = await save(session, next_version(fact), FactChange.REVISED)
    with pytest.raises(ConcurrentUpdateError):
        async with ledger.write(project) as session:
            await save(session, replace(fact, version=version, confidence=0.9), FactChange.REVISED)
    assert await stored(ledger, project, fact) == fact


async def test_a_slot_never_has_two_active_facts(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        fact = await save(session, a_fact())
    with pytest.raises(LostRaceError) as caught:
        async with ledger.write(project) as session:
            await save(session, a_fact(slot_id=fact.slot_id, text="another"))
    assert caught.value.constraint == ONE_ACTIVE_FACT


@pytest.mark.parametrize("status", [status for status in S if status is not S.ACTIVE])
async def test_a_slot_may_have_any_number_of_others(
    ledger: PostgresLedger, project: str, status: FactStatus
) -> None:
    async with ledger.write(project) as session:
        fact = await save(session, a_fact())
        await save(session, a_fact(slot_id=fact.slot_id, status=status, text="second"))
        await save(session, a_fact(slot_id=fact.slot_id, status=status, text="third"))


async def test_projects_share_nothing(ledger: PostgresLedger, project: str) -> None:
    fact = a_fact()
    async with ledger.write(project) as session:
        fact = await save(session, fact)
    async with ledger.write(f"{project}-other") as session:
        assert await session.facts.get(fact.fact_id) is None
        assert await session.partitions.find(fact.partition) is None
        twin = await save(session, replace(fact, text="the same id, another project"))
    assert await stored(ledger, project, fact) == fact
    assert await stored(ledger, f"{project}-other", fact) == twin


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"confidence": 1.01}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"corroboration_score": -0.1}, "corroboration_score"),
        ({"valid_to": NOON - minutes(1)}, "valid_to_after_valid_from"),
        ({"source_count": -1}, "source_count"),
    ],
)
async def test_the_database_refuses_what_cannot_be(
    ledger: PostgresLedger, project: str, fields: dict[str, Any], rule: str
) -> None:
    with pytest.raises(ConstraintViolatedError) as caught:
        async with ledger.write(project) as session:
            await save(session, a_fact(**fields))
    assert caught.value.constraint in {f"ck_facts_{rule}", f"ck_fact_versions_{rule}"}


async def test_a_refusal_does_not_repeat_the_words_of_the_fact(ledger: PostgresLedger, project: str) -> None:
    words = "zyx" + "secret"  # not as such in a line that a traceback shows

    with pytest.raises(ConstraintViolatedError) as caught:
        async with ledger.write(project) as session:
            await save(session, a_fact(text=words, confidence=2.0))
    assert words not in "".join(traceback.format_exception(caught.value))


async def test_an_occurrence_may_take_no_time(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        fact = await save(session, a_fact(valid_from=NOON, valid_to=NOON))
    assert await stored(ledger, project, fact) == fact


async def test_an_embedding_is_kept_until_another_comes(ledger: PostgresLedger, project: str) -> None:
    async def similarity(session: Any) -> dict[Any, float]:
        found: dict[Any, float] = await session.facts.similarities([fact.fact_id], vector(1.0))
        return found

    async with ledger.write(project) as session:
        fact = await save(session, a_fact())
        assert await similarity(session) == {}
        fact = await save(session, next_version(fact), FactChange.REVISED, embedding=vector(1.0))
        assert await similarity(session) == {fact.fact_id: pytest.approx(1.0)}
        fact = await save(session, next_version(fact), FactChange.REVISED)
        assert await similarity(session) == {fact.fact_id: pytest.approx(1.0)}
        fact = await save(session, next_version(fact), FactChange.REVISED, embedding=vector(0.0, 1.0))
        assert await similarity(session) == {fact.fact_id: pytest.approx(0.0)}


async def test_facts_come_in_the_order_asked_for_and_unknown_ones_are_left_out(
    ledger: PostgresLedger, project: str
) -> None:
    async with ledger.write(project) as session:
        facts = [await save(session, a_fact(text=f"fact {n}")) for n in range(3)]
    wanted = [facts[2].fact_id, uuid7(), facts[0].fact_id]
    async with ledger.read(project) as session:
        assert await session.facts.get_many(wanted) == [facts[2], facts[0]]
        assert await session.facts.get_many([]) == []


async def test_equal_texts_are_found_newest_first_without_erased_ones(
    ledger: PostgresLedger, project: str
) -> None:
    async with ledger.write(project) as session:
        older = await save(session, a_fact(text="same"))
        newer = await save(session, a_fact(text="same", create_time=NOON + minutes(1), status=S.RETRACTED))
        await save(session, a_fact(text="same", status=S.DELETED))
        await save(session, a_fact(text="other"))
        await save(session, a_fact(text="same", partition=Partition(domain="elsewhere")))
        held = await session.partitions.lock(older.partition, NOON)
        assert await session.facts.by_text(held.partition_id, digest("same")) == [newer, older]

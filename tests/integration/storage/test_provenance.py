"""Sources, evidence and the family graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from concord_server.domain.enums import EvidenceStance, EvolutionType, Trust
from concord_server.ports.ledger import SourceStatistics
from concord_server.storage.sessions import PostgresLedger
from uuid_utils.compat import uuid7

from tests.support.facts import NOON, a_fact, a_piece_of_evidence, a_source, minutes, save


async def test_a_source_comes_back_as_it_was_stored(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        fact = await save(session, a_fact())
        source = a_source(
            fact.fact_id,
            url="https://e.org/" + "x" * 5000,
            title="T",
            external_id="",
            credibility=0.1 + 0.2,
            extract_time=NOON - minutes(5),
            trust=Trust.UNTRUSTED,
            metadata={"a": [1]},
        )
        assert await session.facts.upsert_source(source) == source
    async with ledger.read(project) as session:
        assert await session.facts.sources(fact.fact_id) == [source]


async def test_a_source_met_again_is_renewed_and_keeps_its_id_and_create_time(
    ledger: PostgresLedger, project: str
) -> None:
    async with ledger.write(project) as session:
        fact = await save(session, a_fact())
        first = await session.facts.upsert_source(a_source(fact.fact_id, external_id="x", title="old"))
    again = a_source(
        fact.fact_id,
        external_id="x",
        title="new",
        credibility=0.9,
        extract_time=NOON + minutes(1),
        create_time=NOON + minutes(1),
        trust=Trust.SEMI_TRUSTED,
        metadata={"seen": 2},
    )
    async with ledger.write(project) as session:
        stored = await session.facts.upsert_source(again)
        assert await session.facts.sources(fact.fact_id) == [stored]
    assert stored == replace(again, source_id=first.source_id, create_time=first.create_time)


async def test_sources_of_other_identities_and_facts_stay_apart_oldest_first(
    ledger: PostgresLedger, project: str
) -> None:
    async with ledger.write(project) as session:
        fact, other = await save(session, a_fact()), await save(session, a_fact())
        late = await session.facts.upsert_source(
            a_source(fact.fact_id, external_id="x", create_time=NOON + minutes(1))
        )
        early = await session.facts.upsert_source(a_source(fact.fact_id, external_id="y"))
        await session.facts.upsert_source(a_source(other.fact_id, external_id="x"))
        assert await session.facts.sources(fact.fact_id) == [early, late]


async def test_statistics_are_of_all_sources(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        fact = await save(session, a_fact())
        assert await session.facts.source_statistics(fact.fact_id) == SourceStatistics((), None)
        for n, credibility in enumerate((0.2, 0.8)):
            await session.facts.upsert_source(
                a_source(fact.fact_id, external_id=f"{n}", credibility=credibility, extract_time=NOON - minutes(n))
            )
        assert await session.facts.source_statistics(fact.fact_id) == SourceStatistics((0.2, 0.8), NOON)


async def test_identical_evidence_is_stored_once(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        fact = await save(session, a_fact())
        source = await session.facts.upsert_source(a_source(fact.fact_id, external_id="x"))
        piece = a_piece_of_evidence(
            fact.fact_id,
            source_id=source.source_id,
            stance=EvidenceStance.CONTRADICTS,
            quote="it is blue",
            locator="p. 1",
            source_kind="book",
            source_ref="isbn",
            confidence=1 / 3,
            extraction_method="by hand",
        )
        other = a_piece_of_evidence(fact.fact_id, quote="it is green", create_time=NOON + minutes(1))
        await session.facts.add_evidence([])
        await session.facts.add_evidence([piece, other])
        await session.facts.add_evidence([replace(piece, evidence_id=uuid7(), create_time=NOON - minutes(1))])
    async with ledger.read(project) as session:
        assert await session.facts.evidence(fact.fact_id) == [piece, other]


async def test_parents_come_in_the_order_in_which_they_were_added(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        a, b, c, child = [await save(session, a_fact(text=text)) for text in ("a", "b", "c", "child")]

        async def add(*parents: Any) -> tuple[Any, ...]:
            ids = [parent.fact_id for parent in parents]
            await session.facts.add_edges(child.fact_id, ids, EvolutionType.MERGE, NOON)
            loaded = await session.facts.get(child.fact_id)
            assert loaded is not None
            return loaded.parent_ids

        assert await add(c, a) == (c.fact_id, a.fact_id)
        assert await add() == (c.fact_id, a.fact_id)
        assert await add(a, b) == (c.fact_id, a.fact_id, b.fact_id)


async def test_ancestors_are_found_at_any_distance_and_also_where_the_graph_has_a_cycle(
    ledger: PostgresLedger, project: str
) -> None:
    async with ledger.write(project) as session:
        names = ("root", "left", "right", "leaf", "stranger")
        ids = {name: (await save(session, a_fact(text=name))).fact_id for name in names}
        edges = [("left", "root"), ("right", "root"), ("leaf", "left"), ("leaf", "right"), ("root", "leaf")]
        for child, parent in edges[:-1]:
            await session.facts.add_edges(ids[child], [ids[parent]], EvolutionType.EXTENSION, NOON)

        async def is_ancestor(ancestor: str, fact: str) -> bool:
            return await session.facts.is_ancestor(ids[ancestor], ids[fact])

        assert await is_ancestor("leaf", "leaf")
        assert await is_ancestor("left", "leaf")
        assert await is_ancestor("root", "leaf")
        assert not await is_ancestor("leaf", "root")
        assert not await is_ancestor("left", "right")
        child, parent = edges[-1]
        await session.facts.add_edges(ids[child], [ids[parent]], EvolutionType.EXTENSION, NOON)
        assert await is_ancestor("leaf", "root")
        assert not await is_ancestor("stranger", "leaf")


async def test_a_fact_that_is_unknown_has_nothing(ledger: PostgresLedger, project: str) -> None:
    async with ledger.read(project) as session:
        assert await session.facts.sources(uuid7()) == []
        assert await session.facts.evidence(uuid7()) == []
        assert not await session.facts.is_ancestor(uuid7(), uuid7())

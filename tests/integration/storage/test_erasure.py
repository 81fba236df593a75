"""After an erasure no word of the fact is anywhere in the database; ids and times are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from concord_server.domain.enums import DecisionBasis, FactChange, FactStatus, ReconcileAction
from concord_server.domain.judgement import Relation
from concord_server.domain.model import Candidate, ContentLink, Decision, EntityRef, Fact, Thresholds
from concord_server.domain.timeline import Assertion
from concord_server.ports.ledger import LockedPartition, StoredRequest, WriteSession
from concord_server.storage.columns import metadata
from concord_server.storage.sessions import PostgresLedger
from uuid_utils.compat import uuid7

from tests.integration.storage.conftest import Query
from tests.support.facts import (
    NOON,
    a_claim,
    a_fact,
    a_piece_of_evidence,
    a_source,
    digest,
    minutes,
    next_version,
    save,
    vector,
)

SECRET = "zyxsecret"
WORDS = f"she has {SECRET}"
NEAR = vector(0.9, 0.3)


async def dump(query: Query, project: str) -> dict[str, str]:
    """Returns every row of a project as text, by table."""
    found = {}
    for name, table in metadata.tables.items():
        if "project_id" in table.c:
            rows = await query(f"SELECT t::text FROM {name} t WHERE project_id = %s", project)
            found[name] = "\n".join(row for (row,) in rows)
    return found


def holding(dumped: dict[str, str], *traces: str) -> set[str]:
    """Returns the tables in which a trace of the words is found."""
    return {name for name, rows in dumped.items() if any(trace in rows for trace in traces)}


def traces_of(fact: Fact) -> tuple[str, ...]:
    """Returns the words, and what would betray them to who guesses them."""
    return (SECRET, digest(fact.text).hex(), fact.value_key, digest(f"id:{SECRET}").hex(), str(NEAR[0]))


async def said(session: WriteSession, held: LockedPartition, slot_id: UUID, **fields: Any) -> Fact:
    """Stores a fact that has the words wherever words can be."""
    fact = a_fact(
        slot_id=slot_id,
        text=WORDS,
        text_raw=f"{WORDS}!",
        value_key="k" * 64,
        claim=a_claim(SECRET, subject=SECRET, qualifiers={SECRET: SECRET}),
        metadata={SECRET: [SECRET]},
        tags=(SECRET, "other"),
        **fields,
    )
    fact = await save(session, fact, locked=held, embedding=NEAR, reason=f"told {WORDS}")
    source = a_source(
        fact.fact_id, source_type=SECRET, url=SECRET, title=SECRET, external_id=SECRET, metadata={"k": SECRET}
    )
    source = await session.facts.upsert_source(source)
    piece = a_piece_of_evidence(
        fact.fact_id,
        source_id=source.source_id,
        quote=WORDS,
        locator=SECRET,
        source_kind=SECRET,
        source_ref=SECRET,
        extraction_method=SECRET,
    )
    await session.facts.add_evidence([piece])
    assertion = Assertion(uuid7(), fact.fact_id, NOON, fact.value_key, SECRET, source_id=source.source_id)
    await session.slots.save_assertions(slot_id, held.partition_id, [assertion], NOON)
    return fact


async def decided(session: WriteSession, about: Fact, candidate: Fact) -> Decision:
    decision = Decision(
        uuid7(),
        DecisionBasis.JUDGED,
        "judge",
        ReconcileAction.CREATED,
        (Candidate(candidate.fact_id, 0.7, Relation.DISTINCT, {Relation.DISTINCT: 1.0}, (), WORDS, chosen=True),),
        Thresholds(),
        f"because {WORDS}",
        NOON,
        about.fact_id,
    )
    await session.decisions.save(decision)
    return decision


async def erase(ledger: PostgresLedger, project: str, fact: Fact) -> None:
    async with ledger.write(project) as session:
        gone = next_version(fact, status=FactStatus.DELETED, delete_time=NOON + minutes(1))
        await save(session, gone, FactChange.ERASED, reason="she asked for it")
        await session.facts.erase(fact.fact_id)


async def test_no_word_of_an_erased_fact_is_left_anywhere(
    ledger: PostgresLedger, project: str, query: Query
) -> None:
    slot_id, conflict_id, request_id = uuid7(), uuid7(), uuid7()
    async with ledger.write(project) as session:
        assert await session.requests.claim(request_id, "m", "f", NOON) is None
        held = await session.partitions.lock(a_fact().partition, NOON)
        slot: dict[str, Any] = {"subject": SECRET, "predicate": "has", "qualifiers": {SECRET: SECRET}}
        await session.slots.create(held.partition_id, "slot key", slot_id, **slot)
        fact = await said(session, held, slot_id)
        other = await save(session, a_fact(text="unrelated"), locked=held)
        await decided(session, about=fact, candidate=other)
        await decided(session, about=other, candidate=fact)
        await session.conflicts.open(conflict_id, slot_id, held.partition_id, f"about {WORDS}", NOON)
        await session.conflicts.set_members(conflict_id, [fact.fact_id], None, NOON)
        await session.conflicts.resolve(conflict_id, kept=None, note=f"seen {WORDS}", now=NOON)
        await session.requests.complete(request_id, WORDS.encode(), [other.fact_id, fact.fact_id])
    async with ledger.write(project) as session:
        reworded = next_version(fact, text_raw=f"{WORDS} they say", tags=(SECRET,))
        fact = await save(session, reworded, FactChange.MERGED)
    before = holding(await dump(query, project), *traces_of(fact), WORDS.encode().hex())
    assert before == {
        "conflicts",
        "decision_candidates",
        "decisions",
        "evidence",
        "fact_search",
        "fact_tags",
        "fact_versions",
        "facts",
        "request_ids",
        "slot_assertions",
        "slots",
        "sources",
    }, "the test must put the words wherever they can be"
    await erase(ledger, project, fact)
    after = await dump(query, project)
    assert holding(after, *traces_of(fact), WORDS.encode().hex()) == set()
    assert "she asked for it" in after["fact_versions"]


async def test_ids_and_times_remain(ledger: PostgresLedger, project: str) -> None:
    slot_id = uuid7()
    subject, content = EntityRef("person", "ada"), ContentLink("doc")
    async with ledger.write(project) as session:
        held = await session.partitions.lock(a_fact().partition, NOON)
        parent = await save(session, a_fact(text="parent"), locked=held)
        links: dict[str, Any] = {
            "subjects": (subject,),
            "contents": (content,),
            "parent_ids": (parent.fact_id,),
        }
        fact = await said(session, held, slot_id, **links)
        decision = await decided(session, about=fact, candidate=parent)
        [source] = await session.facts.sources(fact.fact_id)
        [piece] = await session.facts.evidence(fact.fact_id)
    await erase(ledger, project, fact)
    async with ledger.read(project) as session:
        erased = await session.facts.get(fact.fact_id)
        assert erased is not None
        assert (erased.status, erased.delete_time) == (FactStatus.DELETED, NOON + minutes(1))
        assert (erased.text, erased.text_raw, erased.claim, erased.tags, dict(erased.metadata)) == (
            "",
            "",
            None,
            (),
            {},
        )
        assert (erased.create_time, erased.valid_from) == (fact.create_time, fact.valid_from)
        assert (erased.parent_ids, erased.subjects, erased.contents) == (
            (parent.fact_id,),
            (subject,),
            (content,),
        )
        [bare] = await session.facts.sources(fact.fact_id)
        assert (bare.source_id, bare.create_time, bare.credibility) == (
            source.source_id,
            source.create_time,
            source.credibility,
        )
        [mute] = await session.facts.evidence(fact.fact_id)
        assert mute == replace(piece, quote="", locator="", source_kind="", source_ref="", extraction_method="")
        kept = await session.decisions.get(decision.decision_id)
        assert kept is not None
        assert (kept.fact_id, kept.rationale, kept.candidates[0].rationale) == (fact.fact_id, "", "")
        assert kept.candidates[0].fact_id == parent.fact_id
        assert await session.facts.by_text(held.partition_id, digest(WORDS)) == []


async def test_a_slot_is_forgotten_with_the_last_fact_that_speaks_of_it(
    ledger: PostgresLedger, project: str
) -> None:
    slot_id = uuid7()
    async with ledger.write(project) as session:
        held = await session.partitions.lock(a_fact().partition, NOON)
        await session.slots.create(
            held.partition_id, "key", slot_id, subject=SECRET, predicate="has", qualifiers={}
        )
        one = await said(session, held, slot_id)
        two = await said(session, held, slot_id, status=FactStatus.SUPERSEDED)
    await erase(ledger, project, one)
    async with ledger.read(project) as session:
        assert await session.slots.find(held.partition_id, "key") == slot_id
        timeline = await session.slots.timeline(slot_id)
        assert [fact.fact_id for fact in timeline.facts] == [two.fact_id]
        assert {a.fact_id: (a.value, a.value_key) for a in timeline.assertions} == {
            one.fact_id: (None, ""),
            two.fact_id: (SECRET, two.value_key),
        }
    await erase(ledger, project, two)
    async with ledger.read(project) as session:
        assert await session.slots.find(held.partition_id, "key") is None
        assert (await session.slots.timeline(slot_id)).facts == ()


async def test_other_facts_keep_their_words(ledger: PostgresLedger, project: str) -> None:
    request_id = uuid7()
    async with ledger.write(project) as session:
        await session.requests.claim(request_id, "m", "f", NOON)
        held = await session.partitions.lock(a_fact().partition, NOON)
        gone = await said(session, held, uuid7())
        kept = await said(session, held, uuid7())
        decision = await decided(session, about=kept, candidate=kept)
        await session.requests.complete(request_id, b"answer", [kept.fact_id])
        sources, evidence = await session.facts.sources(kept.fact_id), await session.facts.evidence(kept.fact_id)
    await erase(ledger, project, gone)
    async with ledger.read(project) as session:
        assert await session.facts.get(kept.fact_id) == kept
        assert await session.facts.sources(kept.fact_id) == sources
        assert await session.facts.evidence(kept.fact_id) == evidence
        assert await session.decisions.get(decision.decision_id) == decision
        assert await session.requests.find(request_id) == StoredRequest("f", b"answer")
        [near] = await session.facts.similar(held.partition_id, vector(1.0), min_similarity=0.5, limit=5)
        assert near.fact == kept


async def test_an_erased_answer_is_empty_and_its_request_stays_taken(ledger: PostgresLedger, project: str) -> None:
    request_id = uuid7()
    async with ledger.write(project) as session:
        await session.requests.claim(request_id, "m", "f", NOON)
        fact = await save(session, a_fact())
        await session.requests.complete(request_id, WORDS.encode(), [fact.fact_id])
    await erase(ledger, project, fact)
    async with ledger.write(project) as session:
        assert await session.requests.claim(request_id, "m", "f", NOON) == StoredRequest("f", b"")


async def test_erasing_may_come_before_the_last_state_is_saved(
    ledger: PostgresLedger, project: str, query: Query
) -> None:
    async with ledger.write(project) as session:
        held = await session.partitions.lock(a_fact().partition, NOON)
        fact = await said(session, held, uuid7())
    async with ledger.write(project) as session:
        await session.facts.erase(fact.fact_id)
        erased = await session.facts.get(fact.fact_id)
        assert erased is not None
        gone = next_version(erased, status=FactStatus.DELETED)
        await save(session, gone, FactChange.ERASED)
    assert holding(await dump(query, project), *traces_of(fact)) == set()

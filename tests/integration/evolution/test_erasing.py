"""What is erased is nowhere any more: every table is read, whole, for the words that were in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from concord_server.domain.commands import ClaimInput, KeepOne, ReconcileCommand
from concord_server.domain.enums import EvolutionType, FactStatus
from concord_server.domain.judgement import Relation
from concord_server.domain.model import ContentLink, EvidenceInput, Fact, SourceInput
from concord_server.services.branch import BranchCommand
from concord_server.services.context import Idempotency
from concord_server.storage.tables import metadata
from sqlalchemy import func, literal_column, select

from tests.integration.evolution.conftest import World, day, said_while_down

DELETED = FactStatus.DELETED
WORD = "zanzibar"


async def rows_with(world: World, word: str = WORD) -> dict[str, list[str]]:
    """Every row of the project that has the word in any column, as text or as bytes, by table."""
    found: dict[str, list[str]] = {}
    async with world.engine.connect() as connection:
        for table in metadata.sorted_tables:
            if "project_id" not in table.c:
                continue
            row = func.to_jsonb(literal_column(f'"{table.name}"'))
            query = select(row).select_from(table).where(table.c.project_id == world.project)
            for (document,) in await connection.execute(query):
                text = json.dumps(document, ensure_ascii=False).casefold()
                if word in text or word.encode().hex() in text:
                    found.setdefault(table.name, []).append(text)
    return found


def stored(encode: Callable[[Any], str]) -> Idempotency[Any]:
    """A request whose answer is stored, in words."""
    return Idempotency(uuid4(), "test", "f", lambda result: encode(result).encode())


def everywhere() -> dict[str, Any]:
    """A statement with the word in every field that a caller fills with words."""
    return {
        "claim": ("Priya", "city", {"place": f"{WORD} street", "list": [{WORD: 1}]}),
        "source": SourceInput(
            source_type=f"{WORD} type",
            url=f"https://{WORD}.example",
            title=f"Letters from {WORD}",
            external_id=f"{WORD}-1",
            metadata={WORD: [WORD]},
        ),
        "evidence": (
            EvidenceInput(
                quote=f"“{WORD}”", locator=WORD, source_kind=WORD, source_ref=WORD, extraction_method=WORD
            ),
        ),
        "tags": (WORD, "kept"),
        "contents": (ContentLink("doc-1"),),
        "metadata": {"note": WORD, WORD: {"deep": WORD}},
    }


async def test_the_search_for_words_finds_them_in_every_place_that_they_are_put(world: World):
    """Else the tests below would pass whatever happens."""
    command = ReconcileCommand(text=f"She lives in {WORD}", **_given(everywhere()))
    await world.reconciles.execute(world.context, command, stored(lambda r: r.fact.text))
    assert set(await rows_with(world)) >= {
        "evidence",
        "fact_search",
        "fact_tags",
        "fact_versions",
        "facts",
        "request_ids",
        "slot_assertions",
        "sources",
    }


async def test_an_erased_fact_leaves_no_word_behind(world: World):
    command = ReconcileCommand(text=f"She lives in {WORD}", **_given(everywhere()))
    result = await world.reconciles.execute(world.context, command, stored(lambda r: r.fact.text))
    fact = result.fact  # type: ignore[union-attr]
    await world.move(fact, FactStatus.DISPUTED, f"she never saw {WORD}")
    await world.update(fact, tags=(f"{WORD} again",), metadata={WORD: WORD}, reason=f"{WORD} it is")
    await world.move(fact, DELETED, "asked for")
    assert await rows_with(world) == {}


async def test_a_plain_statement_with_other_wordings_leaves_no_word_behind(world: World):
    first, second = f"The {WORD} port is 5432", f"{WORD} listens on 5432"
    world.embedder.alike(first, second)
    world.judge.rule(second, first, Relation.SAME)
    fact = (await world.say(first)).fact
    merged = await world.reconciles.execute(
        world.context, ReconcileCommand(text=second), stored(lambda r: r.fact.text_raw)
    )
    assert merged.fact.fact_id == fact.fact_id  # type: ignore[union-attr]
    await world.move(fact, DELETED)
    assert await rows_with(world) == {}
    created = (await world.say(second)).fact
    assert created.fact_id != fact.fact_id


async def test_qualifiers_and_the_subject_go_with_the_last_fact_that_speaks_of_them(world: World):
    def claim(value: str) -> ClaimInput:
        return ClaimInput(f"{WORD} tower", "height", value, {"unit of": WORD})

    one = (await world.say("One", claim=claim("1"), observe_time=day(0))).fact
    two = (await world.say("Two", claim=claim("2"), observe_time=day(1))).fact
    await world.move(one, DELETED)
    assert "slots" in await rows_with(world)
    await world.move(two, DELETED)
    assert await rows_with(world) == {}


async def test_why_a_fact_changed_is_erased_with_its_neighbours_too(world: World):
    await world.claim("Lagos", 0)
    fact = (await world.claim("Rome", 10)).fact
    await world.move(fact, FactStatus.RETRACTED, f"it was {WORD} all along")
    assert len((await rows_with(world))["fact_versions"]) == 2
    await world.move(fact, DELETED, "asked for")
    assert await rows_with(world) == {}
    [lagos] = await world.facts()
    assert (lagos.status, lagos.valid_to) == (FactStatus.ACTIVE, None)


async def test_the_note_of_a_conflict_is_erased_with_a_member(world: World):
    kept = (await world.claim("Lagos", 0)).fact
    loser = (await world.claim(WORD, 0)).fact
    assert loser.conflict_id is not None
    await world.resolves.execute(
        world.context,
        loser.conflict_id,
        KeepOne(kept.fact_id),
        f"not {WORD}",
        "",
        stored(lambda conflict: f"{conflict.resolution_note} {[f.text for f in conflict.facts]}"),
    )
    assert {"conflicts", "fact_versions", "request_ids"} <= set(await rows_with(world))
    await world.move(loser, DELETED)
    assert await rows_with(world) == {}


async def test_keys_that_others_carried_forward_are_erased_from_what_they_were(world: World):
    fact = (await world.claim({"place": WORD, "floor": 1}, 0)).fact
    command = ReconcileCommand(
        text="Number five", **_given({"claim": ("Priya", "city", {"number": 5}), "observe_time": day(5)})
    )
    result = await world.reconciles.execute(world.context, command, stored(lambda r: str(r.fact.claim.value)))
    later = result.fact  # type: ignore[union-attr]
    await world.claim({"number": 6, "floor": 1}, 10)
    assert WORD in str(await world.values())
    await world.move(fact, DELETED)
    assert await rows_with(world) == {}
    assert [v.fact.claim.value for v in await world.versions(later) if v.fact.claim] == [
        {"number": 5, "floor": 1},
        {"number": 5, "floor": 1},
        {"number": 5},
    ]


async def test_what_was_derived_from_it_stays_with_its_own_words(world: World):
    parent = (await world.say(f"The {WORD} is tall")).fact
    child = (await world.branch("It is 330 metres tall", parent, how=EvolutionType.REFINEMENT)).fact
    merged = (await world.branch("All of it", parent, child, how=EvolutionType.MERGE)).fact
    await world.move(parent, DELETED)
    assert await rows_with(world) == {}
    assert await world.chain(child) == [parent.fact_id, child.fact_id]
    assert await world.tree(parent) == [parent.fact_id, child.fact_id, merged.fact_id]
    assert await world.read(child) == child


async def test_an_erased_child_takes_its_stored_answer_with_it(world: World):
    parent = (await world.say("The tower is tall")).fact
    command = BranchCommand((parent.fact_id,), EvolutionType.EXTENSION, ReconcileCommand(text=f"It is in {WORD}"))
    branched = await world.branches.execute(world.context, command, stored(lambda b: b.fact.text))
    assert "request_ids" in await rows_with(world)
    await world.move(branched.fact, DELETED)  # type: ignore[union-attr]
    assert await rows_with(world) == {}


async def test_reads_of_what_was_recorded_serve_nothing_that_is_erased(world: World):
    fact = (await world.claim(WORD, 0)).fact
    known_at = world.clock.time
    assert await world.values(known_at=known_at) == [WORD]
    world.clock.time = day(40)
    await world.move(fact, DELETED)
    assert await world.facts(known_at=known_at) == []
    assert await world.facts(known_at=known_at, as_of=day(1)) == []
    assert {version.fact.text for version in await world.versions(fact)} == {""}


async def test_facts_that_a_late_statement_split_off_and_that_came_back_are_erased_too(world: World):
    fact = (await world.claim(WORD, 0)).fact
    await world.claim(WORD, 20)
    late = (await world.claim("Rome", 10)).fact
    [split_off] = [f for f in await world.facts() if f.fact_id not in {fact.fact_id, late.fact_id}]
    await world.move(late, FactStatus.RETRACTED)
    assert (await world.read(split_off)).text != ""
    await world.move(fact, DELETED, "asked for")
    assert await rows_with(world) == {}
    gone = await world.read(split_off)
    assert (gone.status, gone.text) == (DELETED, "")
    assert (await world.versions(split_off))[-1].reason == "asked for"


async def test_a_split_off_fact_that_still_speaks_for_itself_stays(world: World):
    fact = (await world.claim(WORD, 0)).fact
    await world.claim(WORD, 20)
    await world.claim("Rome", 10)
    await world.move(fact, DELETED)
    assert [f.status for f in await world.facts()] == [FactStatus.SUPERSEDED, FactStatus.ACTIVE]


async def test_a_fact_that_moved_into_it_while_catching_up_is_erased_too(world: World, catch_up):
    old, new = f"The {WORD} port is 5432", f"{WORD} listens on 5432"
    world.embedder.alike(old, new)
    world.judge.rule(new, old, Relation.SAME)
    known = (await world.say(old)).fact
    late = await said_while_down(world, new, source=f"https://{WORD}.example")
    await catch_up.execute()
    await world.move(known, DELETED)
    assert await rows_with(world) == {}
    assert (await world.read(late)).status is DELETED


async def test_a_fact_that_is_alone_with_its_words_is_erased_alone(world: World):
    one = (await world.say("The shop is open")).fact
    other = (await world.say("The shop is open", domain="shops")).fact
    await world.move(one, DELETED)
    assert await world.read(other) == other


async def test_erasing_closes_the_conflict_and_reopens_what_the_fact_had_closed(world: World):
    first = (await world.claim("Lagos", 0)).fact
    second = (await world.claim("Rome", 10)).fact
    challenger = (await world.claim("Oslo", 10)).fact
    await world.move(second, DELETED)
    assert (await world.read(first)).status is FactStatus.ACTIVE
    await world.move(challenger, DELETED)
    async with world.ledger.read(world.project) as session:
        conflict = await session.conflicts.get(_id(challenger))
    assert conflict is not None
    assert conflict.state == "RESOLVED"


@pytest.mark.parametrize("status", [s for s in FactStatus if s is not DELETED])
async def test_facts_of_every_status_can_be_erased(world: World, status):
    fact = (await world.say(f"The {WORD} is open", observe_time=day(0))).fact
    if status is FactStatus.PENDING:
        fact = (await world.say(f"The {WORD} opens", valid_from=day(90))).fact
    elif status is not FactStatus.ACTIVE:
        fact = await world.move(fact, status, WORD)
    assert fact.status is status
    for each in await world.facts():
        await world.move(each, DELETED)
    assert await rows_with(world) == {}


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "claim": ClaimInput(*fields["claim"])}


def _id(fact: Fact) -> UUID:
    assert fact.conflict_id is not None
    return fact.conflict_id

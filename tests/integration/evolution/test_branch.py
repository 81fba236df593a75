"""Branch: what descends from a fact, and what becomes of the fact."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.conflicts import review
from concord_server.domain.enums import EvolutionType, FactChange, FactStatus, FactType, SubjectRole, Trust
from concord_server.domain.errors import (
    CycleError,
    FactNotFoundError,
    IllegalStatusTransitionError,
    InvalidFieldsError,
    PartitionMismatchError,
    RequestIdReusedError,
    SlotOccupiedError,
)
from concord_server.domain.lineage import EvolutionEdge
from concord_server.domain.model import EntityRef, EvidenceInput, Fact, SourceInput
from concord_server.domain.settlement import settle
from concord_server.services.branch import BranchCommand, Branched
from concord_server.services.context import Idempotency, Replay
from concord_server.services.timeline_writer import TimelineChange, TimelineWriter

from tests.integration.evolution.conftest import World, day

LEAVING = [EvolutionType.REFINEMENT, EvolutionType.EXTENSION, EvolutionType.MERGE]
REPLACING = [EvolutionType.CORRECTION, EvolutionType.CONTRADICTION]


async def a_fact(world: World, text: str = "The tower is 324 metres tall", **fields) -> Fact:
    return (await world.say(text, **fields)).fact


@pytest.mark.parametrize("how", LEAVING)
async def test_a_refinement_an_extension_and_a_merge_leave_the_parent(world, how):
    parent = await a_fact(world)
    child = (await world.branch("With its antenna it is 330 metres tall", parent, how=how)).fact
    assert (child.status, child.evolution_type, child.parent_ids) == (FactStatus.ACTIVE, how, (parent.fact_id,))
    assert await world.read(parent) == parent


@pytest.mark.parametrize("how", REPLACING)
async def test_a_correction_and_a_contradiction_supersede_the_parent(world, how):
    parent = await a_fact(world)
    child = (await world.branch("The tower is 330 metres tall", parent, how=how)).fact
    assert (child.status, child.evolution_type, child.parent_ids) == (FactStatus.ACTIVE, how, (parent.fact_id,))
    ended = await world.read(parent)
    assert (ended.status, ended.valid_to) == (FactStatus.SUPERSEDED, child.valid_from)
    assert child.slot_id == parent.slot_id


async def test_a_child_has_its_confidence_and_source_at_once(world):
    parent = await a_fact(world)
    evidence = EvidenceInput(quote="330 m")
    branched = await world.branch(
        "It is 330 metres",
        parent,
        source=SourceInput(url="https://t.example", credibility=0.9),
        evidence=(evidence,),
    )
    assert branched.fact.confidence == pytest.approx(0.88, abs=1e-6)
    details = await world.details(branched.fact)
    assert details.sources == (branched.source,)
    assert [e.quote for e in details.evidence] == ["330 m"]
    [version] = await world.versions(branched.fact)
    assert (version.change, version.fact, version.actor) == (FactChange.CREATED, branched.fact, "tester")


async def test_a_child_lives_in_its_parents_partition_with_their_entities(world):
    owner, place = EntityRef("Person", "usr_1"), EntityRef("City", "paris", SubjectRole.LOCATION)
    parent = await a_fact(
        world, domain="towers", access_scope="s1", owner=owner, type=FactType.MEASUREMENT, subjects=(place,)
    )
    other = EntityRef("Person", "usr_2", SubjectRole.RELATED)
    child = (await world.branch("It is 330 metres", parent, subjects=(other,))).fact
    assert child.partition == parent.partition
    assert set(child.subjects) == {owner, place, other}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("domain", "bridges"),
        ("access_scope", "s2"),
        ("owner", EntityRef("Person", "usr_2")),
        ("type", FactType.OPINION),
    ],
)
async def test_another_partition_than_the_parents_is_refused_by_field(world, field, value):
    same: dict[str, Any] = {
        "domain": "towers",
        "access_scope": "s1",
        "owner": EntityRef("Person", "usr_1"),
        "type": FactType.MEASUREMENT,
    }
    parent = await a_fact(world, **same)
    with pytest.raises(PartitionMismatchError) as refused:
        await world.branch("It is 330 metres", parent, **{field: value})
    assert [v.field for v in refused.value.violations] == [field]
    assert (await world.branch("It is 330 metres", parent, **same)).fact.partition == parent.partition


async def test_parents_of_two_partitions_have_no_child(world):
    one, two = await a_fact(world, domain="a"), await a_fact(world, domain="b")
    with pytest.raises(PartitionMismatchError):
        await world.branch("Both", one, two, how=EvolutionType.MERGE)


async def test_a_merge_descends_from_all_its_parents_in_their_order(world):
    one, two = await a_fact(world, "Ada wrote the parser"), await a_fact(world, "Grace wrote the tests")
    merged = (await world.branch("Ada and Grace wrote the compiler", two, one, how=EvolutionType.MERGE)).fact
    assert merged.parent_ids == (two.fact_id, one.fact_id)
    assert (await world.read(merged)).parent_ids == merged.parent_ids
    assert await world.chain(merged) == [two.fact_id, merged.fact_id]
    assert await world.tree(merged) == [one.fact_id, two.fact_id, merged.fact_id]


async def test_several_parents_no_parent_a_parent_twice_and_an_original_are_refused(world):
    one, two = await a_fact(world, "One"), await a_fact(world, "Two")
    for parents, how in (
        ((one, two), EvolutionType.CORRECTION),
        ((), EvolutionType.EXTENSION),
        ((one, one), EvolutionType.MERGE),
    ):
        with pytest.raises(InvalidFieldsError) as refused:
            await world.branch("x", *parents, how=how)
        assert [v.field for v in refused.value.violations] == ["parent_ids"]
    with pytest.raises(InvalidFieldsError) as refused:
        await world.branch("x", one, how=EvolutionType.ORIGINAL)
    assert [v.field for v in refused.value.violations] == ["evolution_type"]


async def test_an_unknown_parent_is_not_found_and_an_erased_one_has_no_children(world):
    known = await a_fact(world)
    with pytest.raises(FactNotFoundError):
        await world.branch("x", known, replace(known, fact_id=uuid4()), how=EvolutionType.MERGE)
    await world.move(known, FactStatus.DELETED)
    with pytest.raises(IllegalStatusTransitionError):
        await world.branch("x", known)


async def test_a_bad_branch_writes_nothing(world):
    parent = (await world.claim("Lagos", 0)).fact
    with pytest.raises(SlotOccupiedError):
        await world.branch("In Rome", parent, claim=("Priya", "city", "Rome"), source="https://a.example")
    assert await world.facts() == [parent]
    assert await world.rows("SELECT 1 FROM sources WHERE project_id = :project") == []


@pytest.mark.parametrize("how", LEAVING)
async def test_a_claim_whose_slot_is_taken_is_refused_unless_it_replaces_what_holds(world, how):
    holding = (await world.claim("Lagos", 0)).fact
    with pytest.raises(SlotOccupiedError):
        await world.branch("In Rome", holding, how=how, claim=("Priya", "city", "Rome"))


@pytest.mark.parametrize("how", REPLACING)
async def test_a_claim_that_replaces_what_holds_takes_over_its_slot(world, how):
    holding = (await world.claim("Lagos", 0)).fact
    child = (await world.branch("In Rome", holding, how=how, claim=("Priya", "city", "Rome"))).fact
    assert (child.status, child.slot_id) == (FactStatus.ACTIVE, holding.slot_id)
    assert (await world.read(holding)).status is FactStatus.SUPERSEDED


async def test_a_claim_that_would_replace_another_fact_than_its_parent_is_refused(world):
    parent = (await world.say("Priya moved")).fact
    await world.claim("Lagos", 0)
    with pytest.raises(SlotOccupiedError):
        await world.branch("In Rome", parent, how=EvolutionType.CONTRADICTION, claim=("Priya", "city", "Rome"))


async def test_a_claim_of_what_holds_already_is_refused(world):
    holding = (await world.claim("Lagos", 0)).fact
    with pytest.raises(SlotOccupiedError):
        await world.branch("Lagos", holding, how=EvolutionType.CORRECTION, claim=("Priya", "city", " lagos "))


async def test_a_claim_with_a_free_slot_is_taken(world):
    parent = await a_fact(world)
    child = (await world.branch("330 m", parent, claim=("tower", "height", 330))).fact
    assert (await world.claim("Lagos", 0)).fact.status is FactStatus.ACTIVE
    assert child.claim is not None
    assert (child.claim.predicate, child.status) == ("height", FactStatus.ACTIVE)


async def test_a_statement_without_a_claim_against_a_fact_with_one_waits_for_review(world):
    holding = (await world.claim("Lagos", 0)).fact
    child = (await world.branch("She never lived in Lagos", holding, how=EvolutionType.CORRECTION)).fact
    assert child.status is FactStatus.PENDING
    assert child.conflict_id is not None
    assert (await world.read(holding)).conflict_id == child.conflict_id


async def test_a_correction_wins_at_the_instant_of_what_it_corrects(world):
    holding = (await world.claim("Lagos", 0)).fact
    child = await world.branch(
        "In Rome", holding, how=EvolutionType.CORRECTION, claim=("Priya", "city", "Rome"), valid_from=day(0)
    )
    assert (child.fact.status, child.fact.valid_from) == (FactStatus.ACTIVE, day(0))
    never = await world.read(holding)
    assert (never.status, never.valid_from, never.valid_to) == (FactStatus.SUPERSEDED, day(0), day(0))


async def test_a_contradiction_of_the_same_instant_and_one_of_lower_trust_wait_for_review(world):
    holding = (await world.claim("Lagos", 0)).fact
    same_instant = await world.branch(
        "In Rome", holding, how=EvolutionType.CONTRADICTION, claim=("Priya", "city", "Rome"), valid_from=day(0)
    )
    assert same_instant.fact.status is FactStatus.PENDING
    rumour = SourceInput(url="https://rumour.example", trust=Trust.UNTRUSTED)
    weaker = await world.branch(
        "In Oslo", holding, how=EvolutionType.CONTRADICTION, claim=("Priya", "city", "Oslo"), source=rumour
    )
    assert weaker.fact.status is FactStatus.PENDING
    assert (await world.read(holding)).status is FactStatus.ACTIVE


async def test_a_contradiction_about_the_past_becomes_history_and_closes_no_cycle(world):
    holding = (await world.claim("Lagos", 10)).fact
    late = (
        await world.branch(
            "In Rome", holding, how=EvolutionType.CONTRADICTION, claim=("Priya", "city", "Rome"), valid_from=day(5)
        )
    ).fact
    assert (late.status, late.valid_to) == (FactStatus.SUPERSEDED, day(10))
    assert late.parent_ids == (holding.fact_id,)
    assert (await world.read(holding)).parent_ids == ()


async def test_late_history_is_joined_into_the_graph_and_existing_edges_stay(world):
    first = (await world.claim("Lagos", 0)).fact
    last = (await world.claim("Oslo", 20)).fact
    late = (await world.claim("Rome", 10)).fact
    assert (await world.read(last)).parent_ids == (first.fact_id, late.fact_id)
    assert (await world.read(late)).parent_ids == (first.fact_id,)
    rows = await world.rows("SELECT child_id, type FROM evolution_edges WHERE project_id = :project")
    assert {row.type for row in rows} == {"CONTRADICTION"}
    assert await world.chain(last) == [first.fact_id, last.fact_id]


async def test_an_edge_that_would_close_a_cycle_is_refused_when_it_is_written(world):
    parent = await a_fact(world)
    child = (await world.branch("With its antenna", parent)).fact
    grandchild = (await world.branch("In summer", child)).fact
    async with world.ledger.write(world.project) as session:
        locked = await session.partitions.lock(parent.partition, world.clock.now())
        before = await session.slots.timeline(parent.slot_id)
        after = settle(before, world.clock.now(), world.ids.new)
        edge = EvolutionEdge(grandchild.fact_id, parent.fact_id, EvolutionType.EXTENSION)
        change = TimelineChange(before, after, review(before, after), "tester", "", edges=[edge])
        with pytest.raises(CycleError):
            await TimelineWriter(world.ids).write(session, locked, change)
    assert await world.tree(grandchild) == [parent.fact_id, child.fact_id, grandchild.fact_id]


async def test_a_repeated_request_gets_its_first_answer_and_another_one_under_its_id_is_refused(world):
    parent = await a_fact(world)

    def encode(branched: Branched) -> bytes:
        return branched.fact.fact_id.bytes

    async def send(text: str, fingerprint: str):
        again = Idempotency(request_id, "Branch", fingerprint, encode)
        command = BranchCommand((parent.fact_id,), EvolutionType.EXTENSION, ReconcileCommand(text=text))
        return await world.branches.execute(world.context, command, again)

    request_id = uuid4()
    first = await send("With its antenna", "1")
    assert await send("With its antenna", "1") == Replay(first.fact.fact_id.bytes)
    with pytest.raises(RequestIdReusedError):
        await send("Something else", "2")
    assert len(await world.facts()) == 2


async def test_without_the_embedder_a_fact_is_derived_and_queued(world):
    parent = await a_fact(world)
    world.embedder.down = True
    branched = await world.branch("With its antenna", parent)
    assert branched.warnings
    assert branched.fact.status is FactStatus.ACTIVE
    [row] = await world.rows(
        "SELECT embedding IS NULL AS pending FROM fact_search WHERE project_id = :project AND fact_id = :fact",
        fact=branched.fact.fact_id,
    )
    assert row.pending


async def test_an_occurrence_may_end_when_it_begins_and_nothing_else_may(world):
    event = (await world.say("The bell rang", type=FactType.EVENT, valid_from=day(0))).fact
    child = (await world.branch("It rang twice", event, valid_from=day(1), valid_to=day(1))).fact
    assert child.valid_to == child.valid_from
    with pytest.raises(InvalidFieldsError) as refused:
        await world.branch("x", await a_fact(world), valid_from=day(1), valid_to=day(1))
    assert [v.field for v in refused.value.violations] == ["valid_to"]


async def test_a_scheduled_contradiction_leaves_the_parent_active_until_then(world):
    parent = await a_fact(world)
    start = world.clock.time + timedelta(days=3)
    child = await world.branch("It is 330 metres", parent, how=EvolutionType.CONTRADICTION, valid_from=start)
    assert (child.fact.status, child.fact.conflict_id) == (FactStatus.PENDING, None)
    still = await world.read(parent)
    assert (still.status, still.valid_to) == (FactStatus.ACTIVE, start)


async def test_many_corrections_of_one_fact_at_once_leave_one_of_them_active(world):
    root = await a_fact(world)
    await asyncio.gather(
        *(world.branch(f"It is {300 + n} metres", root, how=EvolutionType.CORRECTION) for n in range(12))
    )
    facts = await world.facts()
    assert len(facts) == 13
    assert sum(fact.status is FactStatus.ACTIVE for fact in facts) == 1
    timeline = await world.timeline(root)
    ordered = sorted((f for f in timeline.facts if f.valid_from != f.valid_to), key=lambda f: f.valid_from)
    for earlier, later in pairwise(ordered):
        assert earlier.valid_to == later.valid_from
    assert ordered[-1].status is FactStatus.ACTIVE
    assert sorted(await world.tree(root)) == sorted(fact.fact_id for fact in facts)


async def test_claims_that_want_one_free_slot_at_once_leave_one_of_them_in_it(world):
    root = await a_fact(world)
    answers = await asyncio.gather(
        *(world.branch(f"{n} metres", root, claim=("tower", "height", n)) for n in range(8)),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, SlotOccupiedError) for answer in answers) == 7
    assert len(await world.facts(predicate="height")) == 1

"""WithdrawSource: what a source said is as if it had never been said."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from concord_server.domain.commands import KeepOne
from concord_server.domain.confidence import confidence
from concord_server.domain.enums import ConflictState, FactChange, FactStatus
from concord_server.domain.errors import InvalidFieldsError, SourceNotFoundError
from concord_server.domain.model import EntityRef, EvidenceInput, SourceInput
from concord_server.domain.timeline import AssertionState
from concord_server.ports.sources import SourceName
from concord_server.services.context import Idempotency, Replay
from concord_server.services.withdraw_source import Withdrawal

from tests.integration.evolution.conftest import World, day

BAD, GOOD = "https://bad.example", "https://good.example"
ACTIVE, DISPUTED, SUPERSEDED = FactStatus.ACTIVE, FactStatus.DISPUTED, FactStatus.SUPERSEDED


async def test_a_fact_that_others_support_too_loses_the_source_and_its_evidence_and_some_confidence(world: World):
    await world.say("Backups run nightly", source=BAD, evidence=(EvidenceInput(quote="nightly"),))
    fact = (await world.say("Backups run nightly", source=GOOD)).fact
    assert fact.source_count == 2
    assert await world.withdraw(BAD, reason="made up") == Withdrawal(1, ())
    details = await world.details(fact)
    assert [source.url for source in details.sources] == [GOOD]
    assert details.evidence == ()
    assert (details.fact.status, details.fact.source_count) == (ACTIVE, 1)
    newest = details.sources[0].extract_time
    assert details.fact.confidence == confidence([0.9], newest, 0.0, details.fact.update_time)
    last = (await world.versions(fact))[-1]
    assert (last.change, last.reason, last.actor) == (FactChange.REVISED, "made up", "tester")


async def test_a_fact_without_any_support_left_is_disputed_and_off_the_timeline(world: World):
    fact = (await world.say("Backups run nightly", source=BAD)).fact
    assert (await world.withdraw(BAD)).disputed_fact_ids == (fact.fact_id,)
    disputed = await world.read(fact)
    assert (disputed.status, disputed.off_timeline, disputed.source_count) == (DISPUTED, True, 0)
    assert await world.facts(as_of=world.clock.time) == []
    assert (await world.versions(fact))[-1].change is FactChange.STATUS_CHANGED


async def test_what_the_source_had_closed_is_open_again(world: World):
    first = (await world.claim("Lagos", 0, source=GOOD)).fact
    second = (await world.claim("Rome", 10, source=BAD)).fact
    assert (await world.read(first)).status is SUPERSEDED
    await world.withdraw(BAD)
    reopened = await world.read(first)
    assert (reopened.status, reopened.valid_to) == (ACTIVE, None)
    assert (await world.read(second)).off_timeline
    assert await world.values(as_of=day(15)) == ["Lagos"]


async def test_a_fact_begins_when_the_earliest_statement_left_says(world: World):
    await world.claim("Lagos", 0, source=BAD)
    fact = (await world.claim("Lagos", 5, source=GOOD)).fact
    assert fact.valid_from == day(0)
    await world.withdraw(BAD)
    assert (await world.read(fact)).valid_from == day(5)


async def test_keys_that_were_carried_forward_from_it_go_with_it(world: World):
    await world.claim({"street": "Main St"}, 0, source=BAD)
    fact = (await world.claim({"number": 5}, 5, source=GOOD)).fact
    assert fact.claim is not None
    assert fact.claim.value == {"street": "Main St", "number": 5}
    await world.withdraw(BAD)
    left = (await world.read(fact)).claim
    assert left is not None
    assert left.value == {"number": 5}


async def test_halves_of_a_split_fact_both_lose_it(world: World):
    await world.claim("Lagos", 0, source=BAD)
    await world.claim("Lagos", 20, source=BAD)
    await world.claim("Rome", 10, source=GOOD)
    assert await world.values() == ["Lagos", "Rome", "Lagos"]
    withdrawal = await world.withdraw(BAD)
    assert withdrawal.affected_count == 2
    assert await world.values(as_of=day(25)) == ["Rome"]
    assert await world.rows("SELECT 1 FROM sources WHERE project_id = :project AND url = :url", url=BAD) == []


async def test_a_challenger_without_support_leaves_its_conflict_which_resolves(world: World):
    incumbent = (await world.claim("Lagos", 0, source=GOOD)).fact
    challenger = (await world.claim("Rome", 0, source=BAD)).fact
    assert challenger.conflict_id is not None
    assert (await world.withdraw(BAD)).disputed_fact_ids == (challenger.fact_id,)
    async with world.ledger.read(world.project) as session:
        conflict = await session.conflicts.get(challenger.conflict_id)
    assert conflict is not None
    assert conflict.state is ConflictState.RESOLVED
    assert (await world.read(incumbent)).conflict_id is None


async def test_when_the_incumbent_loses_its_support_the_lone_challenger_stays_for_review(world: World):
    incumbent = (await world.claim("Lagos", 0, source=BAD)).fact
    challenger = (await world.claim("Rome", 0, source=GOOD)).fact
    await world.withdraw(BAD)
    assert (await world.read(incumbent)).status is DISPUTED
    waiting = await world.read(challenger)
    assert (waiting.status, waiting.conflict_id) == (FactStatus.PENDING, challenger.conflict_id)


@pytest.mark.parametrize("status", [FactStatus.RETRACTED, FactStatus.ARCHIVED])
async def test_a_fact_that_was_taken_back_stays_so_and_loses_the_source(world: World, status):
    fact = (await world.say("Backups run nightly", source=BAD)).fact
    await world.move(fact, status)
    assert await world.withdraw(BAD) == Withdrawal(1, ())
    left = await world.read(fact)
    assert (left.status, left.source_count) == (status, 0)


async def test_a_statement_that_a_person_decided_against_stays_decided(world: World):
    await world.claim("Lagos", 0, source=GOOD)
    loser = (await world.claim("Rome", 0, source=BAD)).fact
    assert loser.conflict_id is not None
    kept = next(f for f in await world.facts() if f.fact_id != loser.fact_id)
    await world.resolves.execute(world.context, loser.conflict_id, KeepOne(kept.fact_id), "asked her")
    assert (await world.withdraw(BAD)).disputed_fact_ids == ()
    assert (await world.read(loser)).status is SUPERSEDED
    states = {a.fact_id: a.state for a in (await world.timeline(loser)).assertions}
    assert states[loser.fact_id] is AssertionState.OVERRULED


async def test_a_source_goes_from_every_partition_of_the_project_and_from_no_other_project(
    world: World, ledger, engine
):
    facts = [
        (await world.say("Backups run nightly", source=BAD, domain=domain, owner=owner)).fact
        for domain in ("", "ops")
        for owner in (None, EntityRef("Person", "usr_1"))
    ]
    elsewhere = World(ledger, engine, f"{world.project}-other")
    kept = (await elsewhere.say("Backups run nightly", source=BAD)).fact
    withdrawal = await world.withdraw(BAD)
    assert withdrawal.affected_count == 4
    assert withdrawal.disputed_fact_ids == tuple(sorted(fact.fact_id for fact in facts))
    assert (await elsewhere.read(kept)).status is ACTIVE


async def test_a_source_is_withdrawn_by_external_id_or_by_address(world: World):
    source = SourceInput(external_id="doc-1", url=BAD, credibility=0.9)
    one = (await world.say("One", source=source)).fact
    assert (await world.withdraw(external_id="doc-1")).disputed_fact_ids == (one.fact_id,)
    two = (await world.say("Two", source=source)).fact
    assert (await world.withdraw(BAD)).disputed_fact_ids == (two.fact_id,)
    with pytest.raises(SourceNotFoundError):
        await world.withdraw(BAD)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        (SourceName(), "external_id"),
        (SourceName("doc-1", BAD), "url"),
        (SourceName(" "), "external_id"),
        (SourceName(url="a\x00b"), "url"),
        (SourceName(url="x" * 2049), "url"),
    ],
)
async def test_not_exactly_one_proper_name_is_refused(world: World, name, field):
    with pytest.raises(InvalidFieldsError) as refused:
        await world.withdraws.execute(world.context, name, "")
    assert [v.field for v in refused.value.violations] == [field]


async def test_what_the_source_says_afterwards_counts_again(world: World):
    fact = (await world.say("Backups run nightly", source=BAD)).fact
    await world.withdraw(BAD)
    again = (await world.say("Backups run nightly", source=BAD)).fact
    assert again.fact_id == fact.fact_id
    assert (again.status, again.source_count) == (DISPUTED, 1)


async def test_a_disputed_fact_whose_source_was_withdrawn_can_be_restored(world: World):
    fact = (await world.say("Backups run nightly", source=BAD)).fact
    await world.withdraw(BAD)
    restored = await world.move(fact, ACTIVE)
    assert (restored.status, restored.off_timeline) == (ACTIVE, False)
    assert [f.fact_id for f in await world.facts(as_of=world.clock.time)] == [fact.fact_id]


async def test_a_repeated_request_gets_its_first_answer(world: World):
    await world.say("Backups run nightly", source=BAD)

    def encode(done: Withdrawal) -> bytes:
        return done.disputed_fact_ids[0].bytes

    again = Idempotency(uuid4(), "WithdrawSource", "1", encode)
    first = await world.withdraws.execute(world.context, SourceName(url=BAD), "", again)
    assert not isinstance(first, Replay)
    await world.say("Something else", source=BAD)
    second = await world.withdraws.execute(world.context, SourceName(url=BAD), "", again)
    assert second == Replay(first.disputed_fact_ids[0].bytes)
    assert len(await world.facts(statuses=(ACTIVE,))) == 1


async def test_withdrawals_and_statements_at_once_leave_no_half_of_either(world: World):
    for number in range(6):
        await world.say(f"Statement {number}", source=BAD, domain=f"d{number % 3}")
    answers = await asyncio.gather(
        world.withdraw(BAD),
        world.withdraw(BAD),
        *(world.say(f"Statement {number}", source=GOOD, domain=f"d{number % 3}") for number in range(6)),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, SourceNotFoundError) for answer in answers) == 1
    assert all(not isinstance(a, Exception) or isinstance(a, SourceNotFoundError) for a in answers)
    for fact in await world.facts():
        details = await world.details(fact)
        assert [source.url for source in details.sources] == [GOOD]
        assert details.fact.source_count == 1


async def test_an_off_timeline_fact_is_not_counted_as_disputed_again(world: World):
    fact = (await world.say("Backups run nightly", source=BAD)).fact
    await world.withdraw(BAD)
    await world.say("Backups run nightly", source=GOOD)
    withdrawal = await world.withdraw(GOOD)
    assert withdrawal.affected_count == 1
    assert withdrawal.disputed_fact_ids == ()
    assert (await world.read(fact)).status is DISPUTED

"""Entities: links, lists, and what happens when two turn out to be one."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from concord_server.domain.commands import ClaimInput, KeepOne
from concord_server.domain.entities import EntityOrder, EntitySummary
from concord_server.domain.enums import (
    ConflictState,
    ContradictionPolicy,
    FactChange,
    FactStatus,
    ReconcileAction,
    SubjectRole,
)
from concord_server.domain.errors import (
    EtagMismatchError,
    FactNotFoundError,
    IllegalStatusTransitionError,
    InvalidFieldsError,
)
from concord_server.domain.model import Conflict, Fact, SourceInput
from concord_server.domain.queries import Cursor, FactFilter
from concord_server.domain.values import Json

from tests.integration.usecases.conftest import Desk
from tests.support.facts import a_fact
from tests.support.reading import Reader, ref

OLD, NEW = "Person:lena-b", "Person:lena"


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


@pytest.fixture
def reader(desk: Desk, judge: object) -> Reader:
    return Reader(desk.ledger, desk.embedder, judge, desk.clock, desk.context)  # type: ignore[arg-type]


async def works_at(desk: Desk, owner: str, company: Json, number: int, **fields: object) -> Fact:
    claim = ClaimInput("Lena", "employer", company)
    said = await desk.say(
        f"{owner} works at {company}", claim=claim, owner=ref(owner), observe_time=day(number), **fields
    )
    return said.fact


async def versions(desk: Desk, fact: Fact) -> list[tuple[int, FactChange]]:
    async with desk.ledger.read(desk.context.project) as session:
        page = await session.history.versions(fact.fact_id, after=None, size=50)
    return [(version.fact.version, version.change) for version in page.items]


async def test_several_roles_of_one_entity_are_kept_side_by_side(desk: Desk, reader: Reader):
    fact = (await desk.say("Lena manages herself")).fact
    linked = await reader.link(fact, NEW)
    assert linked.subjects == (ref(NEW),)
    both = await reader.link(fact, NEW, SubjectRole.OBJECT)
    assert both.subjects == (ref(NEW), ref(NEW, SubjectRole.OBJECT))
    assert await versions(desk, fact) == [
        (1, FactChange.CREATED),
        (2, FactChange.REVISED),
        (3, FactChange.REVISED),
    ]
    one = await reader.unlink(fact, NEW, SubjectRole.SUBJECT)
    assert one.subjects == (ref(NEW, SubjectRole.OBJECT),)
    await reader.link(fact, NEW)
    assert (await reader.unlink(fact, NEW)).subjects == ()


async def test_a_link_that_is_there_or_is_not_there_changes_nothing(desk: Desk, reader: Reader):
    fact = (await desk.say("Lena reads", subjects=(ref(NEW),))).fact
    assert (await reader.link(fact, NEW)).version == 1
    assert (await reader.unlink(fact, "Person:nobody")).version == 1


async def test_links_are_checked(desk: Desk, reader: Reader):
    fact = (await desk.say("Lena reads")).fact
    with pytest.raises(FactNotFoundError):
        await reader.link(a_fact(), NEW)
    with pytest.raises(EtagMismatchError):
        await reader.link(fact, NEW, etag='"9"')
    assert (await reader.link(fact, NEW, etag=fact.etag)).version == 2
    await desk.move(await desk.read(fact), FactStatus.DELETED)
    with pytest.raises(IllegalStatusTransitionError):
        await reader.link(fact, NEW)


async def test_entities_are_listed_with_their_facts_each_counted_once(desk: Desk, reader: Reader):
    await desk.say("Team of 8", owner=ref("Company:a"))
    await desk.say(
        "Lena leads the team", subjects=(ref(NEW), ref("Company:a"), ref("Company:a", SubjectRole.OBJECT))
    )
    gone = await desk.say("Tom was here", subjects=(ref("Person:tom"),))
    await desk.move(gone.fact, FactStatus.DELETED)
    by_count = await reader.entities(order=EntityOrder.MOST_FACTS)
    assert [(e.entity_type, e.entity_id, e.fact_count) for e in by_count.items] == [
        ("Company", "a", 2),
        ("Person", "lena", 1),
    ]
    assert [e.entity_id for e in (await reader.entities("Person")).items] == ["lena"]


@pytest.mark.parametrize("order", EntityOrder)
async def test_pages_of_entities_cover_everything_once(desk: Desk, reader: Reader, order: EntityOrder):
    for index in range(5):
        await desk.say(f"Somebody counted {index} sheep", owner=ref(f"Person:p{index}"))
    whole = (await reader.entities(order=order)).items
    seen: list[EntitySummary] = []
    after: Cursor | None = None
    while True:
        page = await reader.entities(order=order, after=after, size=2)
        assert page.total == 5
        seen += page.items
        after = page.next
        if after is None:
            break
    assert seen == list(whole)
    assert len({e.entity_id for e in seen}) == 5


async def test_a_merge_moves_links_and_ownership_and_the_old_id_keeps_resolving(desk: Desk, reader: Reader):
    owned = (await desk.say("Plays the violin", owner=ref(OLD))).fact
    linked = (await desk.say("Tom met Lena", subjects=(ref("Person:tom"), ref(OLD, SubjectRole.OBJECT)))).fact
    receipt = await reader.merge(OLD, NEW, "same person")
    assert (receipt.moved_count, receipt.conflicts) == (2, ())
    moved = await desk.read(owned)
    assert (moved.partition.owner_id, moved.subjects, moved.text) == ("lena", (ref(NEW),), owned.text)
    assert (await desk.read(linked)).subjects == (ref("Person:tom"), ref(NEW, SubjectRole.OBJECT))
    assert [change for _, change in await versions(desk, owned)] == [FactChange.CREATED, FactChange.REVISED]
    for name in (OLD, NEW):
        briefing = await reader.brief(name)
        assert (briefing.entity.entity_id, briefing.counts.total) == ("lena", 2)
        assert await reader.found("violin", FactFilter(owner=ref(name)), top_k=1) == [owned.text]
    assert [e.entity_id for e in (await reader.entities("Person", EntityOrder.BY_ID)).items] == ["lena", "tom"]


async def test_later_statements_about_the_old_id_meet_what_is_known_about_the_new_one(desk: Desk, reader: Reader):
    known = (await desk.say("Plays the violin", owner=ref(NEW))).fact
    await desk.say("Drives a bus", owner=ref(OLD))
    await reader.merge(OLD, NEW)
    again = await desk.say("Plays the violin", owner=ref(OLD))
    assert (again.action, again.fact.fact_id) == (ReconcileAction.MERGED, known.fact_id)
    linked = await reader.link(again.fact, OLD, SubjectRole.OBJECT)
    assert linked.subjects == (ref(NEW), ref(NEW, SubjectRole.OBJECT))


async def test_clashing_claims_become_a_conflict_that_can_be_resolved_either_way(desk: Desk, reader: Reader):
    stays = await works_at(desk, NEW, "Acme", 1)
    comes = await works_at(desk, OLD, "Globex", 9)
    receipt = await reader.merge(OLD, NEW)
    [conflict] = receipt.conflicts
    assert [fact.fact_id for fact in conflict.facts] == [stays.fact_id, comes.fact_id]
    assert [fact.status for fact in conflict.facts] == [FactStatus.ACTIVE, FactStatus.PENDING]
    resolved = await desk.resolves.execute(desk.context, conflict.conflict_id, KeepOne(comes.fact_id), "asked her")
    assert isinstance(resolved, Conflict)
    assert resolved.state is ConflictState.RESOLVED
    held, holds = await desk.read(stays), await desk.read(comes)
    assert (held.status, held.valid_to) == (FactStatus.SUPERSEDED, day(9))
    assert (holds.status, holds.valid_from) == (FactStatus.ACTIVE, day(9))


async def test_equal_claims_become_one_fact_with_the_sources_of_both(desk: Desk, reader: Reader):
    stays = await works_at(desk, NEW, "Acme", 1, source=SourceInput(external_id="a"))
    comes = await works_at(desk, OLD, "Acme", 9, source=SourceInput(external_id="b"))
    assert (await reader.merge(OLD, NEW)).conflicts == ()
    kept = await desk.read(stays)
    assert (kept.status, kept.valid_from, kept.source_count) == (FactStatus.ACTIVE, day(1), 2)
    assert (await desk.read(comes)).status is FactStatus.SUPERSEDED


async def test_history_that_does_not_clash_is_kept(desk: Desk, reader: Reader):
    for company, number in (("Initech", 1), ("Hooli", 5)):
        await works_at(desk, OLD, company, number, valid_to=day(number + 4))
    await works_at(desk, NEW, "Acme", 20)
    assert (await reader.merge(OLD, NEW)).conflicts == ()
    held = [
        (f.claim.value, f.valid_from, f.valid_to) for f in await desk.facts(FactFilter(owner=ref(NEW))) if f.claim
    ]
    assert held == [("Initech", day(1), day(5)), ("Hooli", day(5), day(9)), ("Acme", day(20), None)]


async def test_a_value_that_the_other_said_later_does_not_rewrite_what_holds(desk: Desk, reader: Reader):
    await works_at(desk, OLD, "Initech", 5)
    await works_at(desk, OLD, "Hooli", 8)
    stays = await works_at(desk, NEW, "Acme", 1)
    [conflict] = (await reader.merge(OLD, NEW)).conflicts
    assert [f.claim.value for f in conflict.facts if f.claim] == ["Acme", "Hooli"]
    kept = await desk.read(stays)
    assert (kept.status, kept.valid_from, kept.valid_to) == (FactStatus.ACTIVE, day(1), None)


async def test_an_open_conflict_of_the_one_that_goes_is_carried_over(desk: Desk, reader: Reader):
    await works_at(desk, OLD, "Globex", 1)
    await works_at(desk, OLD, "Hooli", 2, contradiction_policy=ContradictionPolicy.CONFLICT)
    await works_at(desk, NEW, "Acme", 3)
    [conflict] = (await reader.merge(OLD, NEW)).conflicts
    assert {f.claim.value for f in conflict.facts if f.claim} == {"Acme", "Globex", "Hooli"}
    assert len((await reader.brief(NEW)).open_conflicts) == 1


async def test_a_conflict_moves_with_a_slot_that_meets_no_other(desk: Desk, reader: Reader):
    await works_at(desk, OLD, "Globex", 1)
    challenger = await works_at(desk, OLD, "Hooli", 2, contradiction_policy=ContradictionPolicy.CONFLICT)
    assert (await reader.merge(OLD, NEW)).conflicts == ()
    [conflict] = (await reader.brief(NEW)).open_conflicts
    resolved = await desk.resolves.execute(desk.context, conflict.conflict_id, KeepOne(challenger.fact_id), "")
    assert isinstance(resolved, Conflict)
    assert (await desk.read(challenger)).status is FactStatus.ACTIVE


async def test_claims_about_the_old_id_become_claims_about_the_new_one(desk: Desk, reader: Reader):
    for owner, value in ((OLD, "en"), (NEW, "fr")):
        name = ref(owner).entity_id
        await desk.say(f"{name}: {value}", claim=ClaimInput(name, "language", value), subjects=(ref(owner),))
    [conflict] = (await reader.merge(OLD, NEW)).conflicts
    assert {(f.claim.subject, f.claim.value) for f in conflict.facts if f.claim} == {
        ("lena", "en"),
        ("lena", "fr"),
    }


async def test_equal_wordings_of_both_become_one_line(desk: Desk, reader: Reader):
    stays = (await desk.say("Plays the violin", owner=ref(NEW), observe_time=day(1))).fact
    comes = (await desk.say("Plays the violin", owner=ref(OLD), observe_time=day(2))).fact
    await reader.merge(OLD, NEW)
    current = await desk.facts(FactFilter(owner=ref(NEW), statuses=(FactStatus.ACTIVE,)))
    assert [fact.fact_id for fact in current] == [stays.fact_id]
    assert (await desk.read(comes)).status is FactStatus.SUPERSEDED


async def test_what_was_taken_back_stays_taken_back(desk: Desk, reader: Reader):
    wrong = await works_at(desk, OLD, "Globex", 1)
    await desk.move(wrong, FactStatus.RETRACTED)
    await works_at(desk, NEW, "Acme", 2)
    assert (await reader.merge(OLD, NEW)).conflicts == ()
    assert (await desk.read(wrong)).status is FactStatus.RETRACTED
    again = await desk.say("x", claim=ClaimInput("Lena", "employer", "Globex"), owner=ref(NEW))
    assert again.action is ReconcileAction.SUPPRESSED


async def test_merges_chain_and_repeat(desk: Desk, reader: Reader):
    await desk.say("Plays the violin", owner=ref("Person:a"))
    await desk.say("Drives a bus", owner=ref("Person:b"))
    assert (await reader.merge("Person:a", "Person:b")).moved_count == 1
    assert (await reader.merge("Person:b", "Person:c")).moved_count == 2
    assert (await reader.merge("Person:a", "Person:c")).moved_count == 0
    assert (await reader.merge("Person:c", "Person:a")).moved_count == 0
    for name in ("Person:a", "Person:b", "Person:c"):
        briefing = await reader.brief(name)
        assert (briefing.entity.entity_id, briefing.counts.total) == ("c", 2)
    with pytest.raises(InvalidFieldsError):
        await reader.merge(NEW, NEW)


async def test_the_past_is_known_under_both_ids(desk: Desk, reader: Reader):
    await desk.say("Plays the violin", owner=ref(OLD))
    before = desk.clock.now()
    desk.clock.time += timedelta(hours=1)
    await reader.merge(OLD, NEW)
    for name in (OLD, NEW):
        briefing = await reader.brief(name, FactFilter(known_at=before))
        assert [fact.partition.owner_id for fact in briefing.facts.items] == ["lena-b"]


async def test_statements_beside_a_merge_all_end_with_the_entity_that_stays(desk: Desk, reader: Reader):
    async def say(index: int) -> None:
        await desk.say(f"Owns bicycle number {index}", owner=ref(OLD), domain=f"d{index % 3}")

    await desk.say("Plays the violin", owner=ref(OLD))
    await asyncio.gather(
        *(say(index) for index in range(6)), reader.merge(OLD, NEW), *(say(i) for i in range(6, 12))
    )
    facts = await desk.facts(FactFilter(entity=ref(NEW)))
    assert {fact.partition.owner_id for fact in facts} == {"lena"}
    assert len(facts) >= 5

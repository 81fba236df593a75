"""Briefings, rankings and checks over what was said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from concord_server.domain.commands import ClaimInput
from concord_server.domain.confidence import confidence
from concord_server.domain.enums import (
    Cardinality,
    ClaimSupport,
    ContradictionPolicy,
    FactStatus,
    FactType,
    SubjectRole,
)
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.model import SourceInput
from concord_server.domain.queries import FactFilter

from tests.integration.usecases.conftest import NOON, Desk
from tests.support.reading import Reader, ref

GLOBEX = "Company:globex"


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


@pytest.fixture
def reader(desk: Desk, judge: object) -> Reader:
    return Reader(desk.ledger, desk.embedder, judge, desk.clock, desk.context)  # type: ignore[arg-type]


async def globex(desk: Desk) -> None:
    about = {"subjects": (ref(GLOBEX),)}
    await desk.say("Globex makes turbines", **about)
    other = ref("Company:hooli", SubjectRole.OBJECT)
    await desk.say("Globex will merge with Hooli", type=FactType.PREDICTION, subjects=(ref(GLOBEX), other))
    for value, number in ((900, 1), (950, 32)):
        claim = ClaimInput("globex", "employees", value)
        await desk.say(f"Globex employs {value} people", claim=claim, observe_time=day(number), **about)


async def test_every_fact_is_counted_once_by_type_and_by_status(desk: Desk, reader: Reader):
    await globex(desk)
    briefing = await reader.brief(GLOBEX)
    assert briefing.counts.total == len(briefing.facts.items) == 4
    assert briefing.counts.by_type == {FactType.ASSERTION: 3, FactType.PREDICTION: 1}
    assert briefing.counts.by_status == {FactStatus.ACTIVE: 3, FactStatus.SUPERSEDED: 1}
    assert briefing.facts.items[-1].status is FactStatus.SUPERSEDED


async def test_owned_facts_belong_to_a_briefing_even_when_the_link_is_removed(desk: Desk, reader: Reader):
    said = await desk.say("Team of 8", owner=ref("Company:a"))
    await reader.unlink(said.fact, "Company:a")
    assert (await reader.brief("Company:a")).counts.total == 1
    assert (await reader.brief("Company:a", FactFilter(roles=(SubjectRole.SUBJECT,)))).counts.total == 0


async def test_an_unknown_entity_has_an_empty_briefing(desk: Desk, reader: Reader):
    await globex(desk)
    briefing = await reader.brief("Person:globex")
    assert (briefing.counts.total, list(briefing.facts.items), briefing.counts.by_type) == (0, [], {})
    assert briefing.markdown == "# globex (Person)\n\nNothing is known.\n"


async def test_pages_cover_everything_once_and_counts_cover_all_pages(desk: Desk, reader: Reader):
    await globex(desk)
    seen, after = [], None
    while True:
        briefing = await reader.brief(GLOBEX, after=after, size=1)
        assert briefing.counts.total == 4
        seen += [fact.fact_id for fact in briefing.facts.items]
        after = briefing.facts.next
        desk.clock.time += timedelta(days=10)
        if after is None:
            break
    assert seen == [fact.fact_id for fact in (await reader.brief(GLOBEX)).facts.items]


async def test_filters_apply_to_facts_and_counts(desk: Desk, reader: Reader):
    await globex(desk)
    active = await reader.brief(GLOBEX, FactFilter(statuses=(FactStatus.ACTIVE,)))
    assert (active.counts.total, active.counts.by_status) == (3, {FactStatus.ACTIVE: 3})
    assert (await reader.brief("Company:hooli", FactFilter(roles=(SubjectRole.SUBJECT,)))).counts.total == 0
    assert (await reader.brief(GLOBEX, FactFilter(types=(FactType.PREDICTION,)))).counts.total == 1
    assert (await reader.brief(GLOBEX, FactFilter(domain="x"))).counts.total == 0


async def test_a_briefing_as_of_a_time_tells_what_held_then(desk: Desk, reader: Reader):
    await globex(desk)
    briefing = await reader.brief(GLOBEX, FactFilter(as_of=day(2)))
    assert [fact.text for fact in briefing.facts.items] == ["Globex employs 900 people"]
    assert "Globex employs 900 people" in briefing.markdown
    before = desk.clock.now() - timedelta(days=1)
    assert (await reader.brief(GLOBEX, FactFilter(known_at=before))).counts.total == 0


async def test_a_briefing_as_known_at_a_time_shows_facts_as_they_were(desk: Desk, reader: Reader):
    await desk.say("Globex makes turbines", subjects=(ref(GLOBEX),))
    before = desk.clock.now()
    desk.clock.time += timedelta(hours=1)
    [fact] = (await reader.brief(GLOBEX)).facts.items
    await desk.move(fact, FactStatus.RETRACTED)
    known = await reader.brief(GLOBEX, FactFilter(known_at=before))
    assert known.counts.by_status == {FactStatus.ACTIVE: 1}
    assert (await reader.brief(GLOBEX)).counts.by_status == {FactStatus.RETRACTED: 1}


async def test_open_conflicts_come_apart_and_leave_the_current_part_unless_asked_for(desk: Desk, reader: Reader):
    for value, number in (("fr", 1), ("en", 2)):
        await desk.say(
            f"Invoices are in {value}",
            claim=ClaimInput("u1", "invoice_language", value),
            observe_time=day(number),
            owner=ref("User:u1"),
            contradiction_policy=ContradictionPolicy.CONFLICT,
        )
    briefing = await reader.brief("User:u1")
    assert (briefing.counts.total, len(briefing.open_conflicts)) == (2, 1)
    assert "## Current facts" not in briefing.markdown
    assert "## Open conflicts" in briefing.markdown
    shown = await reader.brief("User:u1", include_conflicted=True)
    assert "## Current facts" in shown.markdown


async def test_confidence_is_as_of_now_on_request(desk: Desk, reader: Reader):
    source = SourceInput(external_id="s", credibility=1.0)
    said = await desk.say("Globex makes turbines", subjects=(ref(GLOBEX),), source=source)
    desk.clock.time += timedelta(days=5)
    [stored] = (await reader.brief(GLOBEX)).facts.items
    assert stored.confidence == said.fact.confidence
    [now] = (await reader.brief(GLOBEX, recompute_confidence=True)).facts.items
    assert now.confidence == pytest.approx(confidence([1.0], NOON, 0.0, NOON + timedelta(days=5)), abs=1e-6)
    assert [fact.confidence for fact in await reader.recomputed([stored])] == pytest.approx(
        [now.confidence], abs=1e-6
    )


async def test_facts_are_ranked_by_the_sum_of_their_parts(desk: Desk, reader: Reader):
    await globex(desk)
    for index in range(3):
        await desk.say("Globex makes turbines", source=SourceInput(external_id=f"s{index}"))
    page = await reader.noteworthy()
    assert page.total == 3
    scores = [ranked.noteworthiness.score for ranked in page.items]
    assert scores == sorted(scores, reverse=True)
    first = page.items[0]
    assert first.fact.text == "Globex makes turbines"
    assert first.noteworthiness.sources == pytest.approx(0.3 * 3 / 5)
    assert all(ranked.fact.status is FactStatus.ACTIVE for ranked in page.items)
    rest = await reader.noteworthy(after=(await reader.noteworthy(size=1)).next, size=2)
    assert [r.fact.fact_id for r in rest.items] == [r.fact.fact_id for r in page.items[1:]]
    assert (await reader.noteworthy(FactFilter(types=(FactType.PREDICTION,)))).total == 1


async def test_what_was_last_said_long_ago_is_ranked_last(desk: Desk, reader: Reader):
    about = {"subjects": (ref(GLOBEX),)}
    said = {
        1: "A mill stands by the river",
        1804: "The first engineer is born",
        1962: "Shares are sold to the public",
    }
    for year, text in said.items():
        await desk.say(text, observe_time=datetime(year, 1, 1, tzinfo=UTC), **about)
    await desk.say("Globex makes turbines", **about)
    for page in (await reader.noteworthy(), (await reader.brief(GLOBEX)).facts):
        assert page.total == 4
    assert (await reader.noteworthy()).items[0].fact.text == "Globex makes turbines"
    first = await reader.noteworthy(size=2)
    rest = await reader.noteworthy(after=first.next, size=2)
    assert len({ranked.fact.fact_id for ranked in (*first.items, *rest.items)}) == 4


LENA = ClaimInput("Lena", "employer", "Acme")


async def test_a_claim_is_checked_by_its_slot(desk: Desk, reader: Reader):
    said = await desk.say("Lena works at Acme", claim=LENA)
    same = await reader.check(claim=ClaimInput(" lena ", "Employer", " ACME "))
    assert (same.support, [f.fact_id for f in same.supporting]) == (ClaimSupport.SUPPORTED, [said.fact.fact_id])
    other = await reader.check(claim=ClaimInput("Lena", "employer", "Globex"))
    assert (other.support, len(other.contradicting)) == (ClaimSupport.CONTRADICTED, 1)
    assert (await reader.check(claim=ClaimInput("Lena", "shoe_size", 39))).support is ClaimSupport.UNSUPPORTED


async def test_a_claim_that_held_once_is_not_supported_by_its_slot(desk: Desk, reader: Reader):
    for value, number in (("Acme", 1), ("Globex", 40)):
        await desk.say(f"Lena: {value}", claim=ClaimInput("Lena", "employer", value), observe_time=day(number))
    check = await reader.check(claim=LENA)
    assert check.support is ClaimSupport.CONTRADICTED


async def test_a_claim_in_dispute_needs_review(desk: Desk, reader: Reader):
    for value, number in (("Acme", 1), ("Globex", 2)):
        claim = ClaimInput("Lena", "employer", value)
        policy = ContradictionPolicy.CONFLICT
        await desk.say(f"Lena: {value}", claim=claim, observe_time=day(number), contradiction_policy=policy)
    check = await reader.check(claim=LENA)
    assert (check.support, len(check.supporting), len(check.contradicting)) == (ClaimSupport.NEEDS_REVIEW, 1, 1)


async def test_one_of_several_values_contradicts_no_other(desk: Desk, reader: Reader):
    await desk.say(
        "Lena speaks Polish", claim=ClaimInput("Lena", "language", "Polish", cardinality=Cardinality.MULTI)
    )
    assert (await reader.check(claim=ClaimInput("Lena", "language", "Polish"))).support is ClaimSupport.SUPPORTED
    check = await reader.check(claim=ClaimInput("Lena", "language", "Norwegian"))
    assert check.support is not ClaimSupport.CONTRADICTED


async def test_what_others_own_or_another_domain_says_does_not_count(desk: Desk, reader: Reader):
    await desk.say("Lena works at Acme", claim=LENA, owner=ref("User:u1"), domain="hr")
    for where in (FactFilter(owner=ref("User:u2")), FactFilter(domain="it"), FactFilter(access_scope="s")):
        assert (await reader.check(claim=LENA, where=where)).support is ClaimSupport.UNSUPPORTED
    where = FactFilter(owner=ref("User:u1"), domain="hr", access_scope="")
    assert (await reader.check(claim=LENA, where=where)).support is ClaimSupport.SUPPORTED


async def test_words_are_checked_by_search_and_the_judge(desk: Desk, reader: Reader):
    known = await desk.say("The metrics database listens on port 6543")
    same = await reader.check("The metrics database listens on port 6543.")
    assert (same.support, [f.fact_id for f in same.supporting]) == (ClaimSupport.SUPPORTED, [known.fact.fact_id])
    other = await reader.check("The metrics database listens on port 5432")
    assert other.support in {ClaimSupport.CONTRADICTED, ClaimSupport.NEEDS_REVIEW}
    assert other.supporting == ()
    assert (await reader.check("Whales are mammals")).support is ClaimSupport.UNSUPPORTED


async def test_close_vectors_alone_support_nothing(desk: Desk, reader: Reader):
    await desk.say("Sam is allergic to peanuts")
    check = await reader.check("Sam is not allergic to peanuts")
    assert check.support is not ClaimSupport.SUPPORTED


async def test_without_the_embedder_only_equal_words_support(desk: Desk, reader: Reader):
    await desk.say("Sam has a peanut allergy")
    desk.embedder.down = True
    assert (await reader.check("sam has a peanut allergy!")).support is ClaimSupport.SUPPORTED
    assert (await reader.check("Sam cannot eat peanuts")).support is ClaimSupport.NEEDS_REVIEW


async def test_nothing_to_check_is_refused(reader: Reader):
    with pytest.raises(InvalidFieldsError):
        await reader.check()
    with pytest.raises(InvalidFieldsError):
        await reader.check("?!")

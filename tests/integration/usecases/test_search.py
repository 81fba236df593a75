"""Search by meaning and by words, inside filters, now and at other times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import ContradictionPolicy, FactStatus, SubjectRole, Volatility
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.model import Claim
from concord_server.domain.queries import FactFilter
from concord_server.storage import hybrid

from tests.integration.usecases.conftest import NOON, Desk
from tests.support.reading import Reader, ref

MADRID, LISBON = "Ada lives in Madrid", "Ada lives in Lisbon"


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


@pytest.fixture
def reader(desk: Desk, judge: object) -> Reader:
    return Reader(desk.ledger, desk.embedder, judge, desk.clock, desk.context)  # type: ignore[arg-type]


async def moves_house(desk: Desk) -> None:
    for city, number in (("Madrid", 1), ("Lisbon", 31)):
        claim = ClaimInput("Ada", "city", city)
        await desk.say(f"Ada lives in {city}", claim=claim, observe_time=day(number))


async def test_meaning_and_words_both_find(desk: Desk, reader: Reader):
    for text in ("Sam has a peanut allergy", "The metrics database listens on port 6543", "Deploys happen at two"):
        await desk.say(text)
    assert await reader.found("what is Sam allergic to", top_k=1) == ["Sam has a peanut allergy"]
    assert await reader.found("6543", top_k=1) == ["The metrics database listens on port 6543"]


@pytest.mark.parametrize(
    "query",
    [
        "ORD-4411", "4411", "\"ORD-4411\"", "it's", "a & b | !c", "(((", "'", "\\", "x:*", "<->", "-5", "C++",
        "50%", "_", "a_b", "日本", "%s", ":*a", "' OR '1'='1", "http://x.y/z?a=1&b=2", "é" * 8000,
    ],
)  # fmt: skip
async def test_no_query_breaks(desk: Desk, reader: Reader, query: str):
    await desk.say("Order ORD-4411 was paid")
    if any(character.isalnum() for character in query):
        await reader.search(query)
    else:
        with pytest.raises(InvalidFieldsError):
            await reader.search(query)


@pytest.mark.parametrize("query", ["ORD-4411", "4411", "ord 4411", "order 'ORD-4411'!"])
async def test_identifiers_are_found_whole_and_by_their_parts(desk: Desk, reader: Reader, query: str):
    await desk.say("Order ORD-4411 was paid")
    await desk.say("Order ORD-5522 was paid", domain="another")
    [first, *_] = await reader.search(query)
    assert first.fact.text == "Order ORD-4411 was paid"
    assert first.text_rank > 0


async def test_what_is_filtered_out_is_not_ranked(desk: Desk, reader: Reader):
    await desk.say("Sam has a peanut allergy", domain="health")
    await desk.say("Deploys happen at two in the morning", domain="ops", tags=["night"], access_scope="team")
    query = "what is Sam allergic to"
    assert await reader.found(query, FactFilter(domain="ops")) == ["Deploys happen at two in the morning"]
    assert await reader.found(query, FactFilter(access_scope="")) == ["Sam has a peanut allergy"]
    assert await reader.found(query, FactFilter(tag="night")) == ["Deploys happen at two in the morning"]
    assert await reader.found(query, FactFilter(domain="none")) == []


async def test_a_role_narrows_an_entity_to_facts_in_which_it_plays_that_part(desk: Desk, reader: Reader):
    await desk.say(
        "Globex will merge with Hooli", subjects=(ref("Company:globex"), ref("Company:hooli", SubjectRole.OBJECT))
    )
    for role, count in ((SubjectRole.OBJECT, 1), (SubjectRole.SUBJECT, 0)):
        where = FactFilter(entity=ref("Company:hooli"), roles=(role,))
        assert len(await reader.found("merger", where)) == count
    assert len(await reader.found("merger", FactFilter(entity=ref("Company:hooli")))) == 1


async def test_only_what_holds_is_found_unless_more_is_asked_for(desk: Desk, reader: Reader):
    await moves_house(desk)
    assert await reader.found("Where does Ada live?") == [LISBON]
    assert set(await reader.found("Where does Ada live?", include_superseded=True)) == {MADRID, LISBON}
    where = FactFilter(statuses=(FactStatus.SUPERSEDED,))
    assert await reader.found("Where does Ada live?", where) == [MADRID]


async def test_what_held_at_a_time_is_found(desk: Desk, reader: Reader):
    await moves_house(desk)
    assert await reader.found("Ada lives", FactFilter(as_of=day(2))) == [MADRID]
    assert await reader.found("Ada lives", FactFilter(as_of=day(40))) == [LISBON]
    assert await reader.found("Ada lives", FactFilter(as_of=day(0))) == []


async def test_what_was_known_at_a_time_is_found_as_it_was_then(desk: Desk, reader: Reader):
    await desk.say(MADRID, claim=ClaimInput("Ada", "city", "Madrid"), observe_time=day(1))
    before = desk.clock.now()
    desk.clock.time += timedelta(hours=1)
    await desk.say(LISBON, claim=ClaimInput("Ada", "city", "Lisbon"), observe_time=day(31))
    assert await reader.found("Ada lives", FactFilter(known_at=before)) == [MADRID]
    [result] = await reader.search("Ada lives", FactFilter(known_at=before))
    assert (result.fact.status, result.fact.valid_to) == (FactStatus.ACTIVE, None)
    both = FactFilter(known_at=before, as_of=day(40))
    assert await reader.found("Ada lives", both) == [MADRID]
    assert await reader.found("Ada lives", FactFilter(known_at=NOON - timedelta(days=1))) == []


async def test_members_of_open_conflicts_are_found_on_request_alone(desk: Desk, reader: Reader):
    for value, number in (("fr", 1), ("en", 2)):
        await desk.say(
            f"Invoice language is {value}",
            claim=ClaimInput("u1", "invoice_language", value),
            observe_time=day(number),
            contradiction_policy=ContradictionPolicy.CONFLICT,
        )
    assert await reader.found("invoice language") == []
    assert await reader.found("invoice language", FactFilter(statuses=(FactStatus.ACTIVE,))) == []
    assert len(await reader.found("invoice language", include_conflicted=True)) == 2


async def test_stale_facts_are_left_out(desk: Desk, reader: Reader):
    at = NOON - timedelta(days=8)
    await desk.say("Rain is forecast for the harbour", volatility=Volatility.EPHEMERAL, observe_time=at)
    await desk.say("The harbour has two cranes", volatility=Volatility.VOLATILE, observe_time=at)
    assert await reader.found("harbour") == ["The harbour has two cranes"]


async def test_retracted_and_erased_facts_are_not_found(desk: Desk, reader: Reader):
    kept = await desk.say("The lighthouse was built in 1901")
    gone = await desk.say("The lighthouse keeper is called Jonas")
    erased = await desk.say("The lighthouse garden grows roses")
    await desk.move(gone.fact, FactStatus.RETRACTED)
    await desk.move(erased.fact, FactStatus.DELETED)
    assert await reader.found("lighthouse") == [kept.fact.text]
    everything = FactFilter(statuses=tuple(FactStatus))
    assert set(await reader.found("lighthouse", everything)) == {kept.fact.text, gone.fact.text}


async def test_without_the_embedder_words_alone_find(desk: Desk, reader: Reader):
    await desk.say("Sam has a peanut allergy")
    await desk.say("Deploys happen at two")
    desk.embedder.down = True
    [result] = await reader.search("peanut")
    assert (result.fact.text, result.similarity) == ("Sam has a peanut allergy", 0.0)


async def test_what_is_neither_similar_nor_worded_alike_is_left_out_on_request(desk: Desk, reader: Reader):
    await desk.say("Sam has a peanut allergy")
    await desk.say("Deploys happen at two")
    assert await reader.found("nuts make Sam ill", min_similarity=0.3) == ["Sam has a peanut allergy"]
    with pytest.raises(InvalidFieldsError):
        await reader.found("x", min_similarity=1.5)


async def test_large_filters_are_searched_by_the_indexes_with_the_same_answer(
    desk: Desk, reader: Reader, monkeypatch: pytest.MonkeyPatch
):
    places = ("harbour", "market", "station", "library", "museum", "stadium", "bakery", "hospital")
    for index, place in enumerate(places):
        text = f"The {place} number {index} opens at {index + 5} in the morning"
        await desk.say(text, domain="town", owner=ref(f"Place:{place}"))
    query = ("when does the library open", FactFilter(domain="town"))
    exact = await reader.search(*query, top_k=4)
    monkeypatch.setattr(hybrid, "EXACT_SEARCH_LIMIT", 3)
    assert await reader.search(*query, top_k=4) == exact
    monkeypatch.setattr(hybrid, "FREQUENT_WORD", 2)
    assert (await reader.found(*query, top_k=1)) == [exact[0].fact.text]
    desk.embedder.down = True
    assert await reader.found("library", top_k=1) == [exact[0].fact.text]


async def test_the_claim_of_a_found_fact_comes_with_it(desk: Desk, reader: Reader):
    await moves_house(desk)
    [result] = await reader.search("Ada city")
    assert result.fact.claim == Claim("Ada", "city", "Lisbon")

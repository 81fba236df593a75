"""Events: appending, reading, listing, searching them, and another chance for failed ones."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import grpc
import pytest
from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import consolidation_pb2, enums_pb2, resources_pb2
from concord_server.domain.events import MAX_EVENT_BYTES
from google.protobuf.timestamp_pb2 import Timestamp

from tests.contract.consolidation.conftest import OTHER, USER, Caller, Service, at, moved, note
from tests.contract.scripted import failure

Code = grpc.StatusCode
PENDING, FAILED, DEAD, DONE = (
    enums_pb2.EVENT_STATE_PENDING,
    enums_pb2.EVENT_STATE_FAILED,
    enums_pb2.EVENT_STATE_DEAD,
    enums_pb2.EVENT_STATE_DONE,
)
_UNKNOWN: Any = 99


async def test_an_event_comes_back_as_it_was_given(caller: Caller):
    given = moved(
        "Lagos",
        2,
        kind="chat.message",
        messages=[consolidation_pb2.EventMessage(role="user", name="Ada", text="I moved", time=at(2))],
        trust=enums_pb2.TRUST_SEMI_TRUSTED,
        access_scope="team",
        domain="home",
        source=resources_pb2.SourceInput(title="chat", credibility=0.7),
        tags=["chat"],
        idempotency_key="k1",
    )
    given.payload.update({"channel": "web", "n": 3, "list": [1, "two", None]})
    [event_id] = await caller.append(given)
    event = (await caller.GetEvent(pb.GetEventRequest(event_id=event_id))).event
    for field in ("subject", "kind", "text", "payload", "messages", "occur_time", "trust", "access_scope"):
        read = getattr(event, field)
        if field == "subject":
            read = resources_pb2.EntityRef(entity_type=read.entity_type, entity_id=read.entity_id)
        assert read == getattr(given, field), field
    for field in ("domain", "tags", "idempotency_key"):
        assert getattr(event, field) == getattr(given, field), field
    assert (event.source.title, event.source.credibility) == ("chat", 0.7)
    assert event.candidates[0].claim.value == given.candidates[0].claim.value
    assert (event.event_id, event.state, event.attempts) == (event_id, PENDING, 0)
    assert event.create_time == event.update_time
    assert not event.HasField("last_error")


async def test_the_same_event_is_kept_once_within_a_batch_and_between_batches(caller: Caller):
    event = note("Tea", idempotency_key="k1")
    first = await caller.AppendEvents(pb.AppendEventsRequest(events=[event, note("Tea"), event, note("Tea")]))
    assert [result.duplicate for result in first.results] == [False, False, True, False]
    ids = [result.event_id for result in first.results]
    assert ids[0] == ids[2]
    assert len(set(ids)) == 3
    again = await caller.AppendEvents(pb.AppendEventsRequest(events=[event]))
    assert [(result.event_id, result.duplicate) for result in again.results] == [(ids[0], True)]
    assert len(await caller.events()) == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"text": "Coffee"},
        {"subject": OTHER},
        {"tags": ["x"]},
        {"occur_time": at(2)},
        {"candidates": [consolidation_pb2.EventCandidate(text="x")]},
    ],
    ids=lambda changed: next(iter(changed)),
)
async def test_a_key_stands_for_one_content_and_nothing_of_such_a_batch_is_kept(
    caller: Caller, changed: dict[str, Any]
):
    same = {"text": "Tea", "idempotency_key": "k1"}
    await caller.append(note(**same))
    other = note(**{**same, **changed})
    failed = await failure(caller.AppendEvents(pb.AppendEventsRequest(events=[note("new"), other])))
    assert (failed.code, failed.reasons) == (Code.ALREADY_EXISTS, ("IDEMPOTENCY_KEY_REUSED",))
    assert [event.text for event in await caller.events()] == ["Tea"]


async def test_one_key_for_two_contents_in_one_batch_is_refused(caller: Caller):
    events = [note("Tea", idempotency_key="k1"), note("Coffee", idempotency_key="k1")]
    failed = await failure(caller.AppendEvents(pb.AppendEventsRequest(events=events)))
    assert (failed.code, failed.reasons) == (Code.ALREADY_EXISTS, ("IDEMPOTENCY_KEY_REUSED",))
    assert await caller.events() == []


async def test_a_repeated_append_gives_its_first_answer(caller: Caller):
    request_id = str(uuid4())
    first = await caller.append(note("Tea"), note("Coffee"), request_id=request_id)
    assert await caller.append(note("Tea"), note("Coffee"), request_id=request_id) == first
    assert len(await caller.events()) == 2
    failed = await failure(
        caller.AppendEvents(pb.AppendEventsRequest(events=[note("Milk")], request_id=request_id))
    )
    assert (failed.code, failed.reasons) == (Code.ALREADY_EXISTS, ("REQUEST_ID_REUSED",))
    assert len(await caller.events()) == 2


async def test_five_hundred_events_are_taken_and_not_one_more(caller: Caller):
    many = [note(f"Note {number}") for number in range(501)]
    failed = await failure(caller.AppendEvents(pb.AppendEventsRequest(events=many)))
    assert (failed.code, failed.fields) == (Code.INVALID_ARGUMENT, ("events",))
    assert len(set(await caller.append(*many[:500]))) == 500
    page = await caller.ListEvents(pb.ListEventsRequest(page_size=501))
    assert (len(page.events), page.total_size, page.next_page_token) == (500, 500, "")


async def test_an_event_may_have_256_kib_and_no_byte_more(caller: Caller):
    largest = note("")
    largest.text = "x" * (MAX_EVENT_BYTES - note("x" * (MAX_EVENT_BYTES - 100)).ByteSize() + MAX_EVENT_BYTES - 100)
    assert largest.ByteSize() == MAX_EVENT_BYTES == 256 * 1024
    [event_id] = await caller.append(largest)
    read = (await caller.GetEvent(pb.GetEventRequest(event_id=event_id))).event
    assert read.text == largest.text
    largest.text += "x"
    failed = await failure(caller.AppendEvents(pb.AppendEventsRequest(events=[note("Tea"), largest])))
    assert (failed.code, failed.fields) == (Code.INVALID_ARGUMENT, ("events[1]",))
    assert len(await caller.events()) == 1


def _events(**fields: Any) -> pb.AppendEventsRequest:
    return pb.AppendEventsRequest(events=[note(**{"text": "Tea", **fields})])


NOBODY = resources_pb2.EntityRef(entity_type="User")
CREDIBILITY = "events[0].source.credibility"
BAD: list[tuple[str, Any, set[str]]] = [
    ("AppendEvents", pb.AppendEventsRequest(), {"events"}),
    ("AppendEvents", pb.AppendEventsRequest(events=[note("x")], request_id="x"), {"request_id"}),
    ("AppendEvents", _events(text=""), {"events[0]"}),
    ("AppendEvents", _events(text="a\x00b"), {"events[0].text"}),
    ("AppendEvents", _events(subject=NOBODY), {"events[0].subject.entity_id"}),
    (
        "AppendEvents",
        _events(subject=resources_pb2.EntityRef()),
        {"events[0].subject.entity_type", "events[0].subject.entity_id"},
    ),
    ("AppendEvents", _events(kind="k" * 129), {"events[0].kind"}),
    ("AppendEvents", _events(trust=_UNKNOWN), {"events[0].trust"}),
    ("AppendEvents", _events(occur_time=Timestamp(nanos=-1)), {"events[0].occur_time"}),
    ("AppendEvents", _events(occur_time=Timestamp(seconds=253402300799)), {"events[0].occur_time"}),
    ("AppendEvents", _events(access_scope=" "), {"events[0].access_scope"}),
    ("AppendEvents", _events(domain="\t"), {"events[0].domain"}),
    ("AppendEvents", _events(idempotency_key="k" * 257), {"events[0].idempotency_key"}),
    ("AppendEvents", _events(tags=[""]), {"events[0].tags[0]"}),
    ("AppendEvents", _events(source=resources_pb2.SourceInput(title="t", credibility=2)), {CREDIBILITY}),
    ("AppendEvents", _events(messages=[consolidation_pb2.EventMessage(role="\x00")]), {"events[0].messages[0].role"}),
    ("GetEvent", pb.GetEventRequest(), {"event_id"}),
    ("GetEvent", pb.GetEventRequest(event_id="x"), {"event_id"}),
    ("ListEvents", pb.ListEventsRequest(page_size=-1), {"page_size"}),
    ("ListEvents", pb.ListEventsRequest(page_token="x"), {"page_token"}),
    ("ListEvents", pb.ListEventsRequest(order_by="kind", states=[_UNKNOWN]), {"order_by", "states[0]"}),
    ("ListEvents", pb.ListEventsRequest(subject=NOBODY, domain=" "), {"subject.entity_id", "domain"}),
    ("SearchEvents", pb.SearchEventsRequest(), {"subject", "query"}),
    (
        "SearchEvents",
        pb.SearchEventsRequest(subject=NOBODY, query="?!", top_k=-1),
        {"subject.entity_id", "query", "top_k"},
    ),
    (
        "SearchEvents",
        pb.SearchEventsRequest(subject=USER, query="x" * 8193, states=[_UNKNOWN]),
        {"query", "states[0]"},
    ),
    ("SearchEvents", pb.SearchEventsRequest(subject=USER, query="x", access_scope=" "), {"access_scope"}),
    ("RetryEvents", pb.RetryEventsRequest(states=[DONE]), {"states"}),
    ("RetryEvents", pb.RetryEventsRequest(states=[FAILED, _UNKNOWN], request_id="x"), {"states[1]", "request_id"}),
    ("RetryEvents", pb.RetryEventsRequest(subject=NOBODY), {"subject.entity_id"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "request_", "fields"), BAD)
async def test_every_bad_field_is_named(caller: Caller, method: str, request_: Any, fields: set[str]):
    failed = await failure(getattr(caller, method)(request_))
    assert failed.code is Code.INVALID_ARGUMENT
    assert set(failed.fields) == fields


async def test_what_is_wrong_with_several_events_is_told_at_once_and_nothing_is_kept(caller: Caller):
    events = [note("Tea"), note(""), note("Tea", kind="k" * 129)]
    failed = await failure(caller.AppendEvents(pb.AppendEventsRequest(events=events)))
    assert set(failed.fields) == {"events[1]", "events[2].kind"}
    assert await caller.events() == []


async def test_events_are_paged_newest_first_or_as_asked(caller: Caller):
    await caller.append(*(note(f"Note {number}", occur_time=at(10 - number)) for number in range(1, 6)))
    orders = {"": "54321", "create_time": "12345", "occur_time": "54321", "occur_time desc": "12345"}
    for order_by, expected in orders.items():
        listed, token = [], ""
        while True:
            request = pb.ListEventsRequest(order_by=order_by, page_size=2, page_token=token)
            page = await caller.ListEvents(request)
            assert page.total_size == 5
            listed += [event.text for event in page.events]
            token = page.next_page_token
            if not token:
                break
        assert listed == [f"Note {number}" for number in expected], order_by


async def test_a_page_token_belongs_to_its_request(service: Service, caller: Caller):
    await caller.append(note("Tea"), note("Coffee"))
    token = (await caller.ListEvents(pb.ListEventsRequest(page_size=1))).next_page_token
    assert len(await caller.events(page_size=100, page_token=token)) == 1
    for request in (
        pb.ListEventsRequest(page_token=token, states=[PENDING]),
        pb.ListEventsRequest(page_token=token, order_by="occur_time"),
        pb.ListEventsRequest(page_token=token, subject=USER),
    ):
        failed = await failure(caller.ListEvents(request))
        assert (failed.code, failed.reasons) == (Code.INVALID_ARGUMENT, ("INVALID_PAGE_TOKEN",))
    failed = await failure(service.caller().ListEvents(pb.ListEventsRequest(page_token=token)))
    assert failed.fields == ("page_token",)


async def test_lists_are_filtered(service: Service, caller: Caller):
    ids = await caller.append(
        note("a"), note("b", subject=OTHER), note("c", domain="home"), note("d", access_scope="team")
    )
    await service.mark(ids[0], "DEAD")

    async def listed(**fields: Any) -> str:
        return "".join(sorted(event.text for event in await caller.events(**fields)))

    assert await listed() == "abcd"
    assert await listed(states=[DEAD]) == "a"
    assert await listed(states=[PENDING, FAILED]) == "bcd"
    assert await listed(subject=OTHER) == "b"
    assert await listed(domain="home") == "c"
    assert await listed(access_scope="team") == "d"
    assert await listed(access_scope="") == "abc"


async def test_projects_are_never_mixed(service: Service):
    here, there = service.caller(), service.caller()
    event = note("Tea", idempotency_key="k1")
    [mine], [theirs] = await here.append(event), await there.append(event)
    assert mine != theirs
    await service.index(here, there)
    await service.mark(mine, "DEAD")
    assert [event.event_id for event in await here.events()] == [mine]
    assert [event.event_id for event in await there.events()] == [theirs]
    found = await there.SearchEvents(pb.SearchEventsRequest(subject=USER, query="tea"))
    assert [event.event_id for event in found.events] == [theirs]
    assert (await there.RetryEvents(pb.RetryEventsRequest())).requeued_count == 0
    unknown = [
        await failure(there.GetEvent(pb.GetEventRequest(event_id=mine))),
        await failure(there.GetEvent(pb.GetEventRequest(event_id=str(uuid4())))),
    ]
    for failed in unknown:
        assert (failed.code, failed.reasons) == (Code.NOT_FOUND, ("EVENT_NOT_FOUND",))
    told = [f.message.replace(mine, "ID") for f in unknown]
    assert len(told[0]) <= len(told[1])


async def test_a_search_finds_by_meaning_and_by_words_with_its_scores(service: Service, caller: Caller):
    [allergy, *_] = await caller.append(
        note("Sam has a peanut allergy", access_scope="team"),
        note("Invoice ORD-4411 was paid"),
        note("Tea at five"),
    )
    await service.index(caller)
    by_meaning = await caller.SearchEvents(
        pb.SearchEventsRequest(subject=USER, query="what is Sam allergic to", top_k=1)
    )
    assert [event.event_id for event in by_meaning.events] == [allergy]
    [match] = by_meaning.matches
    assert match.event_id == allergy
    assert 0.3 < match.similarity <= 1
    assert match.score > 0
    by_words = await caller.SearchEvents(pb.SearchEventsRequest(subject=USER, query="4411"))
    assert by_words.events[0].text == "Invoice ORD-4411 was paid"
    assert by_words.matches[0].text_rank > 0
    assert [match.score for match in by_words.matches] == sorted((m.score for m in by_words.matches), reverse=True)
    assert [match.event_id for match in by_words.matches] == [event.event_id for event in by_words.events]
    scoped = pb.SearchEventsRequest(subject=USER, query="Sam", access_scope="")
    assert allergy not in [event.event_id for event in (await caller.SearchEvents(scoped)).events]
    elsewhere = pb.SearchEventsRequest(subject=OTHER, query="Sam")
    assert list((await caller.SearchEvents(elsewhere)).events) == []
    done = pb.SearchEventsRequest(subject=USER, query="Sam", states=[DONE])
    assert list((await caller.SearchEvents(done)).events) == []


@pytest.mark.parametrize("query", ["4411", "ORD-4411", '"it\'s" & (x | !y) <-> z:*', "-1.5e3", "%s\\", "日本"])
async def test_no_query_breaks_a_search(caller: Caller, query: str):
    await caller.SearchEvents(pb.SearchEventsRequest(subject=USER, query=query))


async def test_a_search_returns_ten_unless_asked_otherwise_and_a_hundred_at_most(service: Service, caller: Caller):
    await caller.append(*(note(f"Tea number {number}") for number in range(101)))
    await service.index(caller)
    for asked, given in ((0, 10), (3, 3), (1000, 100)):
        found = await caller.SearchEvents(pb.SearchEventsRequest(subject=USER, query="tea", top_k=asked))
        assert len(found.events) == given


async def test_failed_and_dead_events_get_another_chance(service: Service, caller: Caller):
    ids = await caller.append(note("a"), note("b"), note("c", subject=OTHER), note("d"))
    for event_id, state in zip(ids, ("FAILED", "DEAD", "DEAD"), strict=False):
        await service.mark(event_id, state)
    assert len(await caller.events(states=[FAILED, DEAD])) == 3
    assert (await caller.RetryEvents(pb.RetryEventsRequest(subject=OTHER))).requeued_count == 1
    assert (await caller.RetryEvents(pb.RetryEventsRequest(states=[FAILED]))).requeued_count == 1
    assert [event.text for event in await caller.events(states=[DEAD])] == ["b"]
    assert (await caller.RetryEvents(pb.RetryEventsRequest())).requeued_count == 1
    waiting = await caller.events(states=[PENDING])
    assert [(event.attempts, event.HasField("retry_time")) for event in waiting] == [(0, False)] * 4


async def test_a_repeated_retry_gives_its_first_answer(service: Service, caller: Caller):
    [event_id] = await caller.append(note("a"))
    request = pb.RetryEventsRequest(request_id=str(uuid4()))
    await service.mark(event_id, "DEAD")
    assert (await caller.RetryEvents(request)).requeued_count == 1
    await service.mark(event_id, "DEAD")
    assert (await caller.RetryEvents(request)).requeued_count == 1
    assert len(await caller.events(states=[DEAD])) == 1

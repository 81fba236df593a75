"""What an event is found by."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from concord_server.domain.commands import ClaimInput, Violations
from concord_server.domain.enums import Trust
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.event_search import MAX_SEARCHED_BYTES, EventQuery, searchable_text
from concord_server.domain.events import Event, EventCandidate, EventFilter, EventMessage
from concord_server.domain.model import EntityRef

TIME = datetime(2026, 6, 1, tzinfo=UTC)
ADA = EntityRef("User", "ada")


def event(**fields: Any) -> Event:
    defaults: dict[str, Any] = {
        "event_id": UUID(int=1),
        "subject": ADA,
        "kind": "note",
        "text": "",
        "payload": {},
        "messages": (),
        "occur_time": TIME,
        "trust": Trust.TRUSTED,
        "access_scope": "",
        "domain": "",
        "source": None,
        "tags": (),
        "idempotency_key": "",
        "candidates": (),
        "create_time": TIME,
        "update_time": TIME,
    }
    return Event(**{**defaults, **fields})


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"text": "I moved to Lagos"}, "I moved to Lagos"),
        (
            {"messages": (EventMessage("user", "Hello", "Ada"), EventMessage("assistant", "Hi!"))},
            "Ada: Hello\nHi!",
        ),
        ({"payload": {"plan": "pro", "seats": 12, "price": 9.5}}, "plan: pro\nseats: 12\nprice: 9.5"),
        ({"payload": {"order": {"lines": [{"sku": "A-1"}, {"sku": "A-2"}]}}}, "sku: A-1\nsku: A-2"),
        ({"payload": {"tags": ["red", ["blue"]]}}, "tags: red\ntags: blue"),
        ({"payload": {"paid": True, "note": None, "blank": " "}}, "blank:  "),
        ({"text": "?!", "messages": (EventMessage("user", "🙂"),)}, ""),
        ({"text": "Invoice", "payload": {"id": "ORD-4411"}}, "Invoice\nid: ORD-4411"),
        ({}, ""),
    ],
)  # fmt: skip
def test_an_event_is_found_by_its_text_messages_and_payload(fields: dict[str, Any], text: str):
    assert searchable_text(event(**fields)) == text


def test_candidates_count_where_there_is_nothing_else():
    candidates = (
        EventCandidate(ClaimInput("ada", "home_city", "Lagos")),
        EventCandidate(text="Ada likes tea"),
        EventCandidate(problem="invalid_type"),
    )
    assert searchable_text(event(candidates=candidates)) == "ada home city Lagos\nAda likes tea"
    assert searchable_text(event(text="A note", candidates=candidates)) == "A note"


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "é" * MAX_SEARCHED_BYTES},
        {"payload": {"k" * 100_000: ["v"] * 100_000}},
        {"messages": (EventMessage("user", "word " * 10_000),) * 5},
        {"candidates": (EventCandidate(text="word " * 10_000),) * 5},
    ],
)
def test_what_is_too_long_ends_between_two_characters(fields: dict[str, Any]):
    text = searchable_text(event(**fields))
    assert MAX_SEARCHED_BYTES - 4 < len(text.encode()) <= MAX_SEARCHED_BYTES


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        (EventQuery("Lagos", EventFilter(subject=ADA)), []),
        (EventQuery("?!", EventFilter(subject=ADA)), ["query"]),
        (EventQuery("", EventFilter()), ["query", "subject"]),
        (EventQuery("a" * 8193, EventFilter(subject=ADA)), ["query"]),
    ],
)
def test_a_query_says_something_about_a_subject(query: EventQuery, fields: list[str]):
    found = Violations()
    query.validate(found)
    named = []
    try:
        found.raise_if_any()
    except InvalidFieldsError as error:
        named = [violation.field for violation in error.violations]
    assert named == fields
